"""What people would use instead, in the same run on the same stream."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from swoop.paper.figures import finished
from swoop.paper.kept import Kept
from swoop.paper.streams import Stream

SETS, WINDOW, K = 20_000, 1000, 10


@dataclass(frozen=True)
class Alternative:
    """A tool on a stream: sets per second, share of the exact top-k found, bytes per set in the window. None: not measured."""

    stream: str
    source: str
    sets: int
    name: str
    rate: float | None
    recall: float | None
    memory: float | None
    note: str

    @property
    def case(self) -> Hashable:
        return self.stream, self.source, self.sets, self.name


def part_of(real: Stream | None) -> Stream:
    """The beginning of a real stream; of a generated one the end, since at its beginning most copies are of the first set."""
    from swoop.paper.competitors import settled

    return real.first(SETS) if real else settled("tweet", SETS)


def measure(
    stream: Stream, source: str, sets: int, kept: Kept[Alternative], limit: float, say: Callable[[str], None]
) -> list[Alternative]:
    """All tools; those that are kept already are not measured again."""
    from swoop.paper.competitors import COMPETITORS, compare

    there = {name: kept.get((stream.name, source, sets, name)) for name in COMPETITORS}
    missing = [name for name, row in there.items() if row is None]
    if missing and len(stream) > 2 * WINDOW:
        for found in compare(stream, stream.window_for(WINDOW), K, say, limit, missing):
            row = Alternative(stream.name, source, sets, **asdict(found))
            there[row.name] = row
            if not row.note.startswith("pip install"):  # it may be there the next time
                kept.add(row)
    return [row for row in there.values() if row is not None]


def figure(found: Sequence[Alternative]) -> Any | None:
    """Rate against the share of the exact top-k found."""
    import altair as alt

    rows = [
        {"name": one.name, "rate": one.rate, "recall": 100 * one.recall} for one in found if one.rate and one.recall is not None
    ]
    if not rows:
        return None
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X(
            "recall:Q", title="% of the exact top-k found", scale=alt.Scale(domain=[0, 100]), axis=alt.Axis(grid=False)
        ),
        y=alt.Y(
            "rate:Q", title="sets per second", scale=alt.Scale(type="log"),
            axis=alt.Axis(format="~s", values=[10.0**power for power in range(8)], gridOpacity=0.4),
        ),
        color=alt.condition("datum.name == 'Swoop'", alt.value("#d1495b"), alt.value("#30638e")),
    )  # fmt: skip
    names = base.mark_text(align="right", dx=-9, fontSize=12).encode(text="name:N")
    return finished([(base.mark_point(size=80, filled=True, opacity=1) + names).properties(width=420, height=230)])
