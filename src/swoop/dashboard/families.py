"""Reading families into the state of the page."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from swoop.dashboard.lives import Lives
from swoop.dashboard.wire import family_key, in_json, shown_id, shown_time
from swoop.errors import NotInWindow
from swoop.marking import contents, marked_together
from swoop.results import Family, Id
from swoop.times import Time

if TYPE_CHECKING:
    from swoop.results import FamilyList

ORDERS = ("size", "newest", "growing")
SHOWN = 40  # families of each order
ENDED = 60  # families that are over, of those that were shown; the largest of twice as many
TEXTS, TEXT = 3, 240  # different texts of a family on its card, and characters of each
LOOKED = 100  # members whose texts are compared
MEMBERS, MEMBER_TEXT = 300, 2_000  # in the list of all members
POINTS = 32  # of the growth of a family
SPAN = 10.0  # seconds over which growth is measured
SHARE = 0.05  # of the time that may be spent on reading families, whose cost grows with the window


class FamilySource(Protocol):
    """What the page reads: a running stream's handle, or a :class:`swoop.Families`.

    Optional: ``examples(family, n)`` with the id, time and text of at most n members, ``is_active`` and ``failure``.
    """

    def families(self, n: int | None = None, order: Any = "size", /) -> FamilyList: ...

    def members(self, family: Any, /) -> Sequence[Id]: ...

    @property
    def stats(self) -> Any: ...


class FamilyReader:
    """Reads families repeatedly.

    Attributes
    ----------
    families
        Those that are shown, by key.
    rows, orders, ended
        As JSON: the families, their keys in each order, and those that are over.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.restart()

    def restart(self) -> None:
        """Begin with another source."""
        self.families: dict[str, Family] = {}
        self.rows: dict[str, dict[str, Any]] = {}
        self.orders: dict[str, list[str]] = {order: [] for order in ORDERS}
        self.ended: dict[str, dict[str, Any]] = {}
        self._growth: dict[str, Growth] = {}
        self._due = -math.inf

    def read(self, source: FamilySource, lives: Lives, now: Time | None) -> None:
        """Read all orders, unless the last time took too long to do it again already."""
        if (began := self._clock()) < self._due:
            return
        found: dict[str, Family] = {}
        for order in ORDERS:
            shown = {family_key(family): family for family in source.families(SHOWN, order)}
            self.orders[order] = list(shown)
            found.update(shown)
        gone = {key: family for key, family in self.families.items() if key not in found and _is_gone(source, family)}
        lives.compare(found.values(), [family.id for family in gone.values()], now)
        for key, family in gone.items():
            life = lives.last(family.id)
            over = {"to": shown_time(now), "into": None} if life is None else life.row()
            self.ended[key] = {**self.rows[key], **self._growth[key].texts, "end": over["to"], "into": over["into"]}
        if len(self.ended) > 2 * ENDED:
            largest = sorted(self.ended, key=lambda key: -self.ended[key]["total"])[:ENDED]
            self.ended = {key: row for key, row in self.ended.items() if key in set(largest)}
        self.rows = {key: self._row(source, key, family, began, now) for key, family in found.items()}
        self._growth = {key: self._growth[key] for key in found}
        self.families = found
        self._due = began + (self._clock() - began) / SHARE

    def _row(self, source: FamilySource, key: str, family: Family, clock: float, now: Time | None) -> dict[str, Any]:
        growth = self._growth.setdefault(key, Growth())
        growth.note(clock, family, now)
        facts = {
            "id": shown_id(family.id),
            "size": family.size,
            "total": family.total,
            "first_seen": shown_time(family.first_seen),
            "last_seen": shown_time(family.last_seen),
            "newest": shown_id(family.representative),
            "grown": growth.recent(),
            "trend": growth.points(),
        }
        known = self.rows.get(key)
        if known is not None and (known["size"], known["total"]) == (family.size, family.total):
            return {**known, **facts} if any(known[name] != value for name, value in facts.items()) else known
        texts = _texts(source, family)
        if texts["looked"] >= growth.texts.get("looked", 0):
            growth.texts = texts
        return {**facts, **texts}


class Growth:
    """How a family grows: its sizes as time goes on, and how many records came in the last seconds.

    Attributes
    ----------
    texts
        Its texts when it was largest, which is what it is remembered for.
    """

    def __init__(self) -> None:
        self.texts: dict[str, Any] = {}
        self._sizes: list[tuple[Time, int]] = []
        self._totals: deque[tuple[float, int]] = deque()

    def note(self, clock: float, family: Family, now: Time | None) -> None:
        """Note how large a family is now."""
        if not self._sizes or self._sizes[-1][1] != family.size:
            self._sizes.append((family.last_seen if now is None else now, family.size))
            if len(self._sizes) > 2 * POINTS:
                del self._sizes[1:-1:2]
        self._totals.append((clock, family.total))
        while len(self._totals) > 1 and clock - self._totals[1][0] > SPAN:
            self._totals.popleft()

    def recent(self) -> int:
        """How many records came lately."""
        return self._totals[-1][1] - self._totals[0][1]

    def points(self) -> list[list[Any]]:
        """Sizes with their times, as JSON."""
        return [[shown_time(time), size] for time, size in self._sizes]


def _is_gone(source: FamilySource, family: Family) -> bool:
    """Whether a family that is not among those shown any more is over, and not only outranked."""
    try:
        source.members(family)
    except NotInWindow:
        return True
    return False


def _texts(source: FamilySource, family: Family) -> dict[str, Any]:
    """The different texts of a family, each marked against the most frequent one; none, if there are no texts."""
    examples = getattr(source, "examples", None)
    try:
        looked = examples(family, LOOKED) if examples else []
    except NotInWindow:  # it has just ended
        looked = []
    found = [content for content in contents(looked) if content.text is not None]
    parts = marked_together([content.text or "" for content in found[:TEXTS]], TEXT)
    texts = [{"count": content.count, "parts": in_json(of)} for content, of in zip(found, parts, strict=False)]
    return {"texts": texts, "kinds": len(found), "looked": len(looked)}


def members_of(source: FamilySource, family: Family) -> dict[str, Any]:
    """A family with its members, put together by their texts, as JSON."""
    examples = getattr(source, "examples", None)
    if examples is not None:
        looked = examples(family, MEMBERS)
    else:
        looked = [(name, None, None) for name in source.members(family)[-MEMBERS:]]
    found = contents(looked)
    parts = marked_together([content.text or "" for content in found], MEMBER_TEXT)
    groups = [
        {
            "count": content.count,
            "parts": None if content.text is None else in_json(of),
            "members": [[shown_id(name), shown_time(time)] for name, time, text in looked if text == content.text],
        }
        for content, of in zip(found, parts, strict=True)
    ]
    return {"id": shown_id(family.id), "size": family.size, "total": family.total, "looked": len(looked), "groups": groups}
