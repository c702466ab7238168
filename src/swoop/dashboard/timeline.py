"""The stays of pairs in the top-k, as the page shows them: the open ones and the last of those that are over."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any

from swoop.dashboard.wire import facts_of, key_of, shown_time
from swoop.results import Change, Pair
from swoop.stays import Stay, Stays, stay_key
from swoop.times import Time
from swoop.unseen import clipped, printable

BEGINNING = 60  # characters of the text of a pair, by which people recognise it


@dataclass(frozen=True, slots=True)
class ShownStay:
    """A stay in JSON, under a number that it keeps."""

    number: int
    pair: Pair
    row: dict[str, Any]


class Timeline:
    """Stays, made from changes; where none come, from what the top-k is from time to time.

    Parameters
    ----------
    most
        How many stays are kept that are over, and how many that are open.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._stays = Stays()
        self._open: dict[Hashable, ShownStay] = {}
        self._over: deque[ShownStay] = deque(maxlen=most)
        self._count = 0
        self._texts: dict[str, str | None] = {}  # how texts begin, by the keys of their pairs

    def take(self, change: Change) -> None:
        """Note that a pair entered or left. A change that is told twice counts once."""
        self._show(self._stays.take(change))

    def compare(self, pairs: Iterable[Pair], now: Time | None, *, complete: bool) -> None:
        """Fill in what changes did not tell, from the top-k as it is.

        With ``complete``, all changes are told. They may be a moment ahead of the top-k, so that a pair is taken for new only
        if nothing is known of it, and none for gone.
        """
        there = {stay_key(pair): pair for pair in pairs}
        known = {stay_key(stay.pair) for stay in self._over} if complete else set()
        for key, pair in there.items():
            if key not in known:
                self._show(self._stays.guess(pair))
        if not complete:
            for pair in [stay.pair for key, stay in self._open.items() if key not in there]:
                over = pair.end is not None and now is not None and _reached(pair.end, now)
                self._show(self._stays.end(pair, pair.end if over else now, "expired" if over else "outranked"))

    def _show(self, stay: Stay | None) -> None:
        """Show a stay that has begun, or has ended; of one that was not shown, the end is not either."""
        if stay is None:
            return
        shown = self._open.pop(stay.key, None)
        if stay.how is not None:
            if shown is not None:
                self._over.append(ShownStay(shown.number, stay.pair, _row(stay)))
            return
        self._count += shown is None
        self._open[stay.key] = ShownStay(shown.number if shown else self._count, stay.pair, _row(stay))
        if len(self._open) > self._most:
            oldest = self._open.pop(next(iter(self._open)))
            self._stays.forget(oldest.pair)

    def stays(self) -> Iterable[ShownStay]:
        """The stays that are over, and then the open ones."""
        return [*self._over, *self._open.values()]

    def rows(self, text_of: Callable[[Pair], str | None] | None = None) -> dict[str, dict[str, Any]]:
        """The stays as JSON, by their numbers, with the beginnings of texts. A row is never changed, only replaced.

        The text of a pair is asked for once, when its first stay is shown: it may be gone when the stay is over.
        """
        known = self._texts
        if text_of is not None:
            for stay in self.stays():
                if stay.row["pair"] not in known:
                    known[stay.row["pair"]] = _beginning(text_of(stay.pair))
        rows = {str(stay.number): {**stay.row, "text": known.get(stay.row["pair"])} for stay in self.stays()}
        shown = {row["pair"] for row in rows.values()}
        self._texts = {key: text for key, text in known.items() if key in shown}
        return rows


def _row(stay: Stay) -> dict[str, Any]:
    times = {"from": shown_time(stay.enter), "to": shown_time(stay.leave), "how": stay.how}
    return {"pair": key_of(stay.pair), **facts_of(stay.pair), **times}


def _beginning(text: str | None) -> str | None:
    return None if text is None else clipped(printable(" ".join(text[: 4 * BEGINNING].split())), BEGINNING)


def _reached(end: Time, now: Time) -> bool:
    try:
        return end <= now  # type: ignore[operator]
    except TypeError:  # the times of another stream
        return False
