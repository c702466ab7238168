"""The caller's ids of the sets in the window, by arrival number."""

from __future__ import annotations

from collections.abc import Sequence

from swoop.errors import InvalidType
from swoop.results import Id


def read_id(given: object) -> Id | None:
    """An id as it was given, if it can be one; numpy's numbers become Python's."""
    if given is None or type(given) in (int, str, bytes):
        return given  # type: ignore[return-value]
    if isinstance(given, str | bytes) or (isinstance(given, int) and not isinstance(given, bool)):
        return given
    if hasattr(given, "dtype") and getattr(given, "ndim", 1) == 0 and given.dtype.kind in "iu":
        return int(given)  # type: ignore[call-overload, no-any-return]
    raise InvalidType(f"an id is an int, a str or bytes, not {given!r:.60} of type {type(given).__name__}")


class Ids:
    """Ids from some arrival number on. Nothing is kept while no id was ever given."""

    def __init__(self) -> None:
        self._kept: tuple[int, list[Id | None]] | None = None  # the arrival number of the first, and the ids

    def add(self, arrivals: int, oldest: int, ids: Sequence[Id | None] | None, count: int) -> None:
        """Take the ids of the next ``count`` sets after so many arrivals; ``oldest`` is the oldest in the window."""
        if self._kept is None:
            if ids is None:
                return
            self._kept = oldest, [None] * (arrivals - oldest)
        self._kept[1].extend([None] * count if ids is None else ids)

    def cut(self, arrivals: int) -> None:
        """Forget the ids of sets that did not arrive."""
        if self._kept is not None:
            first, ids = self._kept
            del ids[arrivals - first :]

    def forget(self, oldest: int) -> None:
        """Ids of sets before ``oldest`` are no longer needed."""
        if self._kept is not None:
            first, ids = self._kept
            if oldest - first > max(len(ids) // 2, 1024):
                self._kept = oldest, ids[oldest - first :]

    def get(self, arrival: int) -> Id:
        if self._kept is not None:
            first, ids = self._kept
            given = ids[arrival - first] if arrival >= first else None
            if given is not None:
                return given
        return arrival

    def given(self, first: int, stop: int) -> list[Id | None]:
        """What was given for some arrivals, None where nothing was."""
        if self._kept is None:
            return [None] * (stop - first)
        start, ids = self._kept
        return ids[first - start : stop - start]
