"""The stays of pairs in the top-k: the open ones and the last of those that are over."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from swoop.dashboard.wire import facts_of, key_of, shown_time
from swoop.results import Change, Pair
from swoop.times import Time


@dataclass(slots=True)
class Stay:
    """A stay of a pair in the top-k. One that was guessed began at some time before a pair was first seen there."""

    number: int
    pair: Pair
    row: dict[str, Any]
    guessed: bool


class Timeline:
    """Stays, made from changes; where none come, from what the top-k is from time to time.

    Parameters
    ----------
    most
        How many stays are kept that are over, and how many that are open.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: dict[str, Stay] = {}
        self._over: deque[Stay] = deque(maxlen=most)
        self._count = 0

    def take(self, change: Change) -> None:
        """Note that a pair entered or left. A change that is told twice counts once."""
        key = key_of(change.pair)
        if change.kind != "enter":
            self._close(key, change.time, change.kind)
        elif key not in self._open or self._open[key].guessed:
            known = self._open.pop(key, None)
            self._begin(key, change.pair, change.time, number=known.number if known else None)

    def compare(self, pairs: Iterable[Pair], now: Time | None, *, complete: bool) -> None:
        """Fill in what changes did not tell, from the top-k as it is.

        With ``complete``, all changes are told. They may be a moment ahead of the top-k, so that a pair is taken for new only
        if nothing is known of it, and none for gone.
        """
        there = {key_of(pair): pair for pair in pairs}
        known = {stay.row["pair"] for stay in self._over} if complete else set()
        for key, pair in there.items():
            if key not in self._open and key not in known:
                self._begin(key, pair, pair.start, guessed=True)
        if not complete:
            for key in [key for key in self._open if key not in there]:
                end = self._open[key].pair.end
                over = end is not None and now is not None and _reached(end, now)
                self._close(key, end if over else now, "expired" if over else "outranked")

    def _begin(self, key: str, pair: Pair, time: Time, *, guessed: bool = False, number: int | None = None) -> None:
        if number is None:
            self._count += 1
            number = self._count
        row = {"pair": key, **facts_of(pair), "from": shown_time(time), "to": None, "how": None}
        self._open[key] = Stay(number, pair, row, guessed)
        if len(self._open) > self._most:
            del self._open[next(iter(self._open))]

    def _close(self, key: str, time: Time | None, how: str) -> None:
        stay = self._open.pop(key, None)
        if stay is not None:
            stay.row = {**stay.row, "to": shown_time(time), "how": how}
            self._over.append(stay)

    def stays(self) -> Iterable[Stay]:
        """The stays that are over, and then the open ones."""
        return [*self._over, *self._open.values()]

    def rows(self) -> dict[str, dict[str, Any]]:
        """The stays as JSON, by their numbers. A row is never changed, only replaced."""
        return {str(stay.number): stay.row for stay in self.stays()}


def _reached(end: Time, now: Time) -> bool:
    try:
        return end <= now  # type: ignore[operator]
    except TypeError:  # the times of another stream
        return False
