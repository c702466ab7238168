"""From changes of the top-k to stays in it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from swoop.times import Time

if TYPE_CHECKING:
    from swoop.results import Change, Kind, Pair


class Stay(NamedTuple):
    """A stay of a pair in the top-k.

    Attributes
    ----------
    enter
        When it began; None if that was before the first known change.
    leave, how
        When and why the pair left; None while it is there. A history leaves out stays without a duration.
    is_guess
        Whether the entry was not observed, only that the pair was there.
    by
        With one result per key: the values of the key's columns.
    """

    pair: Pair
    enter: Time | None
    leave: Time | None = None
    how: Kind | None = None
    is_guess: bool = False
    by: tuple[Any, ...] = ()

    @property
    def key(self) -> Hashable:
        """Identifies the pair, even if ids repeat."""
        return (self.by, *stay_key(self.pair)) if self.by else stay_key(self.pair)


def stay_key(pair: Pair) -> tuple[Any, ...]:
    """Identifies a pair, even if ids repeat."""
    return pair.arrivals, pair.newer, pair.older, pair.start


class Stays:
    """Which pairs are in the top-k, and since when, from one change after the other."""

    def __init__(self) -> None:
        self._open: dict[Hashable, Stay] = {}

    def take(self, change: Change) -> Stay | None:
        """The stay that a change begins or ends; None if that was already known."""
        if change.kind != "enter":
            return self.end(change.pair, change.time, change.kind)
        key = stay_key(change.pair)
        known = self._open.get(key)
        if known is not None and not known.is_guess:
            return None
        self._open[key] = stay = Stay(change.pair, change.time)
        return stay

    def guess(self, pair: Pair) -> Stay | None:
        """The stay of a pair that is there, although no change told of its entry; None if that was already known."""
        key = stay_key(pair)
        if key in self._open:
            return None
        self._open[key] = stay = Stay(pair, pair.start, is_guess=True)
        return stay

    def end(self, pair: Pair, time: Time | None, how: Kind) -> Stay:
        """The stay of a pair that has left."""
        known = self._open.pop(stay_key(pair), None)
        return Stay(pair, None, time, how) if known is None else Stay(pair, known.enter, time, how, known.is_guess)

    def forget(self, pair: Pair) -> None:
        """Forget a pair, as if nothing were known of it."""
        self._open.pop(stay_key(pair), None)

    @property
    def open(self) -> list[Stay]:
        """The stays of pairs that are in the top-k now, in the order of their entries."""
        return list(self._open.values())


def stays_of(changes: Iterable[Change]) -> list[Stay]:
    """All stays in a sequence of changes, in the order in which they first appear.

    >>> import swoop
    >>> join = swoop.TopKJoin(k=1, window=10, track_changes=True)
    >>> for time, text in enumerate(["ab", "ac", "ab"]):
    ...     join.insert(list(text), time)
    >>> [(stay.pair.newer, stay.enter, stay.leave, stay.how) for stay in stays_of(join.changes())]
    [(1, 1, 2, 'outranked'), (2, 2, None, None)]
    """
    stays, found, places = Stays(), list[Stay](), dict[Hashable, int]()
    for change in changes:
        stay = stays.take(change)
        if stay is None:
            continue
        if stay.how is not None and stay.enter is not None:
            found[places.pop(stay.key)] = stay
        else:
            places[stay.key] = len(found)
            found.append(stay)
    return found
