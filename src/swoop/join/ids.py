"""The caller's ids of the sets in the window, by arrival number."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from swoop.errors import InvalidType
from swoop.join.payloads import ListPayloads
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
    """Ids of the sets of the window. Nothing is kept while no id was ever given."""

    def __init__(self) -> None:
        self._given: ListPayloads | None = None
        self._kept: dict[int, Id] = {}  # of records that are valid, while their first sets are not

    def add(self, arrivals: int, oldest: int, ids: Sequence[Id | None] | None, count: int) -> None:
        """Take the ids of the next ``count`` sets after so many arrivals; ``oldest`` is the oldest in the window."""
        if self._given is None:
            if ids is None:
                return
            given = ListPayloads()
            given.add(oldest, [None] * (arrivals - oldest))
            self._given = given
        self._given.add(arrivals, [None] * count if ids is None else ids)

    def cut(self, arrivals: int) -> None:
        """Forget the ids of sets that did not arrive."""
        if self._given is not None:
            self._given.cut(arrivals)

    def forget(self, oldest: int, identities: Callable[[], np.ndarray] | None) -> None:
        """Ids of sets before ``oldest`` are no longer needed, but for those that name valid records, if there are any.

        To ask for these takes its time, so it is done when there is as much to forget as was kept.
        """
        if self._given is None:
            return
        if identities is not None:
            old = self._given.to_forget(oldest)
            if len(old) <= len(self._kept):
                return
            named = identities()
            first = named[named < old.stop].tolist()
            self.keep(first, self.kept(first))
        self._given.forget(oldest)

    def frozen(self) -> Ids:
        """The same as it is now, for other threads to read while more sets arrive."""
        found = Ids()
        found._given, found._kept = None if self._given is None else self._given.frozen(), self._kept
        return found

    def get(self, arrival: int) -> Id:
        """How results call a set: by its arrival number, if no id was given."""
        given: Id | None = None if self._given is None else self._given.get(arrival)
        if given is None:
            given = self._kept.get(arrival)
        return arrival if given is None else given

    def kept(self, identities: list[int]) -> list[Id | None]:
        """What was given for the first sets of records."""
        return [None if (name := self.get(identity)) is identity else name for identity in identities]

    def keep(self, identities: list[int], ids: list[Id | None]) -> None:
        """Keep these ids, of records whose first sets are not there, and no others."""
        self._kept = {identity: name for identity, name in zip(identities, ids, strict=True) if name is not None}

    def get_all(self, arrivals: list[int]) -> list[Id]:
        """The same of many."""
        is_known = self._given is not None or self._kept
        return [self.get(arrival) for arrival in arrivals] if is_known else list(arrivals)

    def given(self, first: int, stop: int) -> list[Id | None]:
        """What was given for some arrivals, None where nothing was."""
        return [None] * (stop - first) if self._given is None else self._given.between(first, stop)
