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
        None if it began before the first change that is known.
    leave, how
        When and why the pair left; None while it is there. In a history, only a stay of positive length counts.
    is_guess
        Nobody told of the entry: the pair was seen there.
    by
        The key of its history, if there is a history for each key: the values of these columns.
    """

    pair: Pair
    enter: Time | None
    leave: Time | None = None
    how: Kind | None = None
    is_guess: bool = False
    by: tuple[Any, ...] = ()

    @property
    def key(self) -> Hashable:
        """What tells the pair from all others. Ids alone may repeat."""
        return (self.by, *stay_key(self.pair)) if self.by else stay_key(self.pair)


def stay_key(pair: Pair) -> tuple[Any, ...]:
    """What tells a pair from all others."""
    return pair.arrivals, pair.newer, pair.older, pair.start


class Stays:
    """Who is in the top-k since when, from changes that come one after the other."""

    def __init__(self) -> None:
        self._open: dict[Hashable, Stay] = {}

    def take(self, change: Change) -> Stay | None:
        """The stay that a change begins or ends; None if that is known already."""
        if change.kind != "enter":
            return self.end(change.pair, change.time, change.kind)
        key = stay_key(change.pair)
        known = self._open.get(key)
        if known is not None and not known.is_guess:
            return None
        self._open[key] = stay = Stay(change.pair, change.time)
        return stay

    def guess(self, pair: Pair) -> Stay | None:
        """The stay of a pair that is there, though nobody told of its entry; None if that is known already."""
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
        """Be as if nothing were known of a pair."""
        self._open.pop(stay_key(pair), None)

    @property
    def open(self) -> list[Stay]:
        """The stays of those who are in the top-k, in the order of their entries."""
        return list(self._open.values())


def stays_of(changes: Iterable[Change]) -> list[Stay]:
    """All stays that changes tell of, in the order in which these begin to speak of them.

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
