"""The caller's ids of the sets in the window, by arrival number."""

from __future__ import annotations

from collections.abc import Sequence

from swoop.errors import InvalidType
from swoop.pairs import Id


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
        self._given: list[Id | None] | None = None
        self._first = 0

    def add(self, arrivals: int, oldest: int, ids: Sequence[Id | None] | None, count: int) -> None:
        """Take the ids of the last ``count`` of all ``arrivals``; ``oldest`` was the oldest in the window before them."""
        if self._given is None:
            if ids is None:
                return
            self._given = [None] * (arrivals - count - oldest)
            self._first = oldest
        self._given.extend([None] * count if ids is None else ids[:count])

    def forget(self, oldest: int) -> None:
        """Ids of sets before ``oldest`` are no longer needed."""
        if self._given is not None and oldest - self._first > max(len(self._given) // 2, 1024):
            del self._given[: oldest - self._first]
            self._first = oldest

    def get(self, arrival: int) -> Id:
        if self._given is not None and arrival >= self._first:
            given = self._given[arrival - self._first]
            if given is not None:
                return given
        return arrival

    def given(self, first: int, stop: int) -> list[Id | None]:
        """What was given for some arrivals, None where nothing was."""
        if self._given is None:
            return [None] * (stop - first)
        return self._given[first - self._first : stop - self._first]
