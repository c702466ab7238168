"""The experiment with other tools, as part of the evaluation."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from swoop.look import ACCENT, BLUE
from swoop.paper.charts import finished
from swoop.paper.data_sets import DataSet, generate_warm
from swoop.paper.result_store import ResultStore

if TYPE_CHECKING:
    from swoop.paper.other_tools.comparison import ToolResult

SETS, WINDOW, K = 20_000, 1000, 10
CHART = "Sets per second of each tool, and the share of the exact top-k that it finds"


@dataclass(frozen=True)
class ToolMeasurement:
    """A tool on a data set: sets per second, recall of the exact top-k, bytes per set in the window. None: not measured."""

    data_set: str
    source: str
    sets: int
    name: str
    rate: float | None
    recall: float | None
    memory: float | None
    note: str

    @property
    def case(self) -> Hashable:
        return self.data_set, self.source, self.sets, self.name


def part_of(real: DataSet | None) -> DataSet:
    """The beginning of a real data set; of a generated one, a warm part."""
    return real.first(SETS) if real else generate_warm("tweet", SETS)


def measure(
    data_set: DataSet, source: str, sets: int, store: ResultStore[ToolMeasurement], limit: float, info: Callable[[str], None]
) -> list[ToolMeasurement]:
    """Measure all tools, except those whose results are stored."""
    from swoop.paper.other_tools.comparison import NAMES, compare

    known = {name: store.get((data_set.name, source, sets, name)) for name in NAMES}
    missing = [name for name, row in known.items() if row is None]
    if missing and len(data_set) > 2 * WINDOW:
        for found in compare(data_set, data_set.window_for(WINDOW), K, info, limit, missing):
            row = ToolMeasurement(data_set.name, source, sets, **asdict(found))
            known[row.name] = row
            if not row.note.startswith("pip install"):  # it may be installed next time
                store.add(row)
    return [row for row in known.values() if row is not None]


def chart(measurements: Sequence[ToolMeasurement | ToolResult]) -> Any | None:
    """A line for each tool: its rate, and the share of the exact top-k that it finds."""
    import altair as alt

    rows = [
        {"name": one.name, "rate": one.rate, "found": f"finds {100 * one.recall:.1f} %"}
        for one in measurements
        if one.rate and one.recall is not None
    ]
    if not rows:
        return None
    last = 10 ** math.ceil(math.log10(8 * max(one.rate or 1 for one in measurements)))  # with room for the words
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X(
            "rate:Q", title="sets per second of CPU time",
            scale=alt.Scale(type="log", domain=[10, last]),
            axis=alt.Axis(format="~s", values=[10.0**power for power in range(8)], gridOpacity=0.4),
        ),
        y=alt.Y("name:N", title=None, sort=None, axis=alt.Axis(grid=False, labelLimit=200)),
        color=alt.condition("datum.name == 'Swoop'", alt.value(ACCENT), alt.value(BLUE)),
    )  # fmt: skip
    found = base.mark_text(align="left", dx=9, fontSize=12).encode(text="found:N")
    points = base.mark_point(size=80, filled=True, opacity=1)
    return finished([(points + found).properties(width=420, height=28 * len(rows))])
