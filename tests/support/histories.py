"""Random streams, and the ways to run them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

import swoop
from swoop.engine.thresholds import Thresholds, use
from swoop.errors import UnusableRows
from swoop.oracle import Record
from swoop.results import Change, Pair
from tests.support.rare import tiny

SIMILARITIES = ("jaccard", "cosine", "dice", "overlap", "hamming")


@dataclass(frozen=True)
class History:
    """A stream and the parameters of a join. ``steps`` are the sizes of the batches; 1 is a single insertion.

    ``limits`` are the thresholds of the engine, mostly tiny, so that what is rare happens all the time.
    """

    records: list[Record]
    steps: list[int]
    options: dict[str, Any]
    algorithm: str = "swoop"
    limits: Thresholds = field(default_factory=Thresholds)

    def join(self, **more: Any) -> swoop.TopKJoin:
        with use(self.limits):
            return swoop.TopKJoin(**{**self.options, "algorithm": self.algorithm, **more})


def limits(most_valid: int) -> st.SearchStrategy[Thresholds]:
    """Tiny thresholds, and now and then the usual ones."""
    return st.randoms(use_true_random=False).map(lambda rng: tiny(rng, most_valid)) | st.just(Thresholds())


def thresholds(similarity: str) -> st.SearchStrategy[float | None]:
    if similarity == "hamming":
        return st.none() | st.integers(-8, 0)
    if similarity == "overlap":
        return st.none() | st.integers(0, 4)
    return st.none() | st.sampled_from([0.0, 0.1, 0.2, 0.25, 1 / 3, 0.5, 0.6, 0.7, 1.0])


def reachable(similarity: str) -> st.SearchStrategy[float]:
    """The same, and never None: where all pairs are asked for."""
    return thresholds(similarity).filter(lambda found: found is not None)  # type: ignore[return-value]


def windows() -> st.SearchStrategy[Any]:
    return st.integers(1, 40) | st.integers(1, 15).map(swoop.last) | st.none() | st.integers(1, 12)


TOKEN_TYPES = st.sampled_from(
    [
        lambda number: number,
        str,
        lambda number: str(number).encode(),
        lambda number: (number, str(number), str(number).encode())[number % 3],
    ]
)


@st.composite
def records(draw: st.DrawFn, two_streams: bool, size: int = 25) -> list[Record]:
    """Sets over a small universe, many of them copies of earlier ones, with equal times and gaps."""
    token_type = draw(TOKEN_TYPES)
    universe = draw(st.integers(1, 20))
    fresh = st.lists(st.integers(0, universe).map(token_type), max_size=draw(st.integers(1, 8)))
    gap = st.sampled_from(draw(st.sampled_from([[0], [0, 1], [0, 0, 1, 2, 3], [0, 1, 30]])))
    time = draw(st.integers(-5, 5))
    found: list[Record] = []
    for _ in range(draw(st.integers(0, size))):
        if found and draw(st.integers(0, 9)) < 4:
            tokens = list(draw(st.sampled_from(found)).tokens) + draw(st.lists(st.integers(0, 3).map(token_type), max_size=1))
        else:
            tokens = draw(fresh)
        time += draw(gap)
        stream = draw(st.sampled_from(["left", "right"])) if two_streams else None
        found.append(Record(tokens, time, None, stream))
    return found


@st.composite
def histories(draw: st.DrawFn, size: int = 25, all_pairs: bool = False, copies: Sequence[str] = ("each", "once")) -> History:
    """With ``all_pairs``, all above a threshold are asked for."""
    similarity = draw(st.sampled_from(SIMILARITIES))
    two_streams = draw(st.booleans())
    options = {
        "k": None if all_pairs else draw(st.sampled_from([1, 2, 3, 5, 10, 10_000])),
        "window": draw(windows()),
        "similarity": similarity,
        "two_streams": two_streams,
        "min_similarity": draw(reachable(similarity) if all_pairs else thresholds(similarity)),
        "copies": draw(st.sampled_from(copies)),
    }
    stream = draw(records(two_streams, size))
    steps = draw(st.lists(st.sampled_from([1, 1, 1, 2, 5]), min_size=len(stream), max_size=len(stream)))
    algorithm = "swoop" if all_pairs else draw(st.sampled_from(["swoop", "swoop", "swoop-minimal"]))
    return History(stream, steps, options, algorithm, draw(limits(size)))


def insert(join: swoop.TopKJoin, part: list[Record]) -> None:
    """One record by ``insert``, several by ``insert_many``."""
    if len(part) == 1:
        join.insert(part[0].tokens, part[0].time, part[0].id, part[0].stream)
        return
    columns = {"tokens": [list(r.tokens) for r in part], "time": [r.time for r in part], "id": [r.id for r in part]}
    if join.two_streams:
        columns["stream"] = [r.stream for r in part]
    join.insert_many(columns, id="id", stream="stream" if join.two_streams else None)


def replay(changes: list[Change]) -> set[Any]:
    """The pairs that are in the top-k after the changes, by arrival numbers: a renewed one ends later than when it entered."""
    current: set[Any] = set()
    for change in changes:
        if change.kind == "enter":
            assert change.pair.arrivals not in current
            current.add(change.pair.arrivals)
        else:
            current.remove(change.pair.arrivals)
    return current


def arrivals(pairs: Iterable[Pair]) -> set[Any]:
    """Pairs by arrival numbers."""
    return {pair.arrivals for pair in pairs}


def unusable_rows(warned: Sequence[warnings.WarningMessage]) -> int:
    """What the one warning of unusable rows counts. There may be others: some Pythons tell that py4j has left a socket open."""
    (found,) = (warning.message for warning in warned if isinstance(warning.message, UnusableRows))
    return found.count
