"""How time is cut into slices: where rows say, every so often, or not at all.

A slice is called by the time at which it begins.
"""

from __future__ import annotations

import datetime as dt
from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812

from swoop.errors import InvalidArgument, InvalidType
from swoop.times import LATEST, WindowSpec, find_window

MOST_COPIES = 100
"""In more slices than this no set is replayed."""


class Cutting(Protocol):
    """Where slices begin and end. Times are ticks."""

    def slices_of(self, time: Column, duration: int) -> Column:
        """The slices that a set belongs to: its own, and those after it in which it is still valid."""

    def end_of(self, start: int) -> int | None:
        """When a slice ends; None if it has all sets there are."""


@dataclass(frozen=True)
class NoCuts:
    """All time is one slice."""

    def slices_of(self, time: Column, duration: int) -> Column:
        return F.array(F.lit(-LATEST).cast("long"))

    def end_of(self, start: int) -> int | None:
        return None


@dataclass(frozen=True)
class Cuts:
    """The times at which slices begin, and the end of the last. No set is outside."""

    times: tuple[int, ...]

    def slices_of(self, time: Column, duration: int) -> Column:
        slices = F.array(
            *(
                F.struct(F.lit(start).cast("long").alias("start"), F.lit(stop).cast("long").alias("stop"))
                for start, stop in pairwise(self.times)
            )
        )
        own = F.filter(slices, lambda s: (time > s["start"] - F.lit(duration)) & (time < s["stop"]))
        return F.transform(own, lambda s: s["start"])

    def end_of(self, start: int) -> int | None:
        return self.times[bisect_right(self.times, start)]

    def place_of(self, slice: Column) -> Column:
        """The place of a slice among all: 1, 2, 3, ...; and 0 for none."""
        return F.coalesce(F.array_position(F.array(*(F.lit(time).cast("long") for time in self.times)), slice), F.lit(0))


@dataclass(frozen=True)
class Every:
    """Slices of equal length, at multiples of it: arithmetic alone says which they are, so nothing has to be measured."""

    spec: WindowSpec

    def slices_of(self, time: Column, duration: int) -> Column:
        length = F.lit(self.spec.duration).cast("long")
        until = time + F.lit(duration - 1)  # the last moment at which the set is valid
        return F.sequence(time - F.pmod(time, length), until - F.pmod(until, length), length)

    def end_of(self, start: int) -> int | None:
        return start + self.spec.duration

    def __str__(self) -> str:
        return f"every({self.spec})" if self.spec.kind == "integer" else str(self.spec)


def every(length: int | str | dt.timedelta) -> Every:
    """Slices of a length: ``slices=every(1000)``, where times are integers; ``slices="1 day"`` is short for ``every("1 day")``.

    >>> print(every(1000), every("1 day"))
    every(1000) 1 day, 0:00:00
    """
    if not isinstance(length, int | str | dt.timedelta) or isinstance(length, bool):
        raise InvalidType(f"every(length) takes a duration such as '1 day', or an integer for integer times, not {length!r}")
    return Every(find_window(length, "slice"))


def find_slices(slices: Any, window: WindowSpec) -> int | Every | None:
    """What the caller means: a number of slices, their length, or nothing."""
    if slices is None:
        return None
    if isinstance(slices, int) and not isinstance(slices, bool):
        if slices < 1:
            raise InvalidArgument(f"slices must be at least 1, not {slices}")
        return slices
    if isinstance(slices, str | dt.timedelta):
        slices = every(slices)
    if not isinstance(slices, Every):
        raise InvalidType(
            f"slices is a number, a duration such as '1 day', every(1000) for integer times, or None, not {slices!r}"
        )
    if slices.spec.kind != window.kind:
        wanted = "every(1000)" if window.kind == "integer" else "'1 day'"
        raise InvalidArgument(f"the window is {window}, so the length of slices must be one such as {wanted}, not {slices}")
    if window.duration > MOST_COPIES * slices.spec.duration:
        raise InvalidArgument(
            f"slices of {slices.spec} are too short for a window of {window}: each set would be replayed in more than "
            f"{MOST_COPIES} of them; the best are longer than the window"
        )
    return slices
