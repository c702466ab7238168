"""Reading families into the state of the page."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from swoop.dashboard.lives import Lives
from swoop.dashboard.pace import Pace
from swoop.dashboard.wire import family_key, in_json, shown_id, shown_time
from swoop.errors import NotInWindow
from swoop.marking import contents, marked_together
from swoop.results import Family, FamilyChange, Id
from swoop.times import Time
from swoop.unseen import printable_lines

if TYPE_CHECKING:
    from swoop.results import FamilyList

ORDERS = ("size", "newest", "growing")
SHOWN = 40  # families of each order
ENDED = 60  # families that are over, of those that were shown; the largest of twice as many
TEXTS, TEXT = 3, 240  # different texts of a family on its card, and characters of each
LOOKED = 100  # members whose texts are compared, on the card and in the list of members
MEMBER_TEXT = 2_000  # characters of a text in that list
Example = tuple[Any, Time | None, str | None]
"""The id, the time and the text of a member."""

POINTS = 32  # of the growth of a family
SPAN = 10.0  # seconds over which growth is measured


class FamilySource(Protocol):
    """What the page reads: a running stream's handle, or a :class:`swoop.Families`.

    Optional: ``examples(family, n)`` with the id, time and text of at most n members, ``texts(change)`` with those of the first
    and the newest member at a change, ``is_active`` and ``failure``.
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
        self._follow(None)

    def _follow(self, source: FamilySource | None) -> None:
        """Begin with another source."""
        self._source = source
        self.families: dict[str, Family] = {}
        self.rows: dict[str, dict[str, Any]] = {}
        self.orders: dict[str, list[str]] = {order: [] for order in ORDERS}
        self.ended: dict[str, dict[str, Any]] = {}
        self._growth: dict[str, Growth] = {}
        self._ended_by_changes: set[str] = set()  # families of the last look that are over, as changes told
        self._pace = Pace(self._clock)  # the cost grows with the window

    def read(self, source: FamilySource, lives: Lives, now: Time | None) -> None:
        """Read all orders, unless the last time took too long to do it again already."""
        if source is not self._source:
            self._follow(source)
        if self._pace.is_due():
            with self._pace.measured():
                self._read(source, lives, now)

    def _read(self, source: FamilySource, lives: Lives, now: Time | None) -> None:
        clock = self._clock()
        found: dict[str, Family] = {}
        for order in ORDERS:
            shown = {family_key(family): family for family in source.families(SHOWN, order)}
            self.orders[order] = list(shown)
            found.update(shown)
        gone = {key: family for key, family in self.families.items() if key not in found and _is_gone(source, family)}
        lives.compare(found.values(), gone.values(), now)
        for key, family in gone.items():
            if key not in self.ended and key not in self._ended_by_changes:  # no change told of it
                life = lives.last(family)
                over = {"to": shown_time(now), "into": None} if life is None else life.row()
                texts = _shown(self._growth[key].examples)
                self.ended[key] = {**self.rows[key], **texts, "end": over["to"], "into": over["into"]}
        self._drop_small()
        self.rows = {key: self._row(source, key, family, clock, now) for key, family in found.items()}
        self._growth = {key: self._growth[key] for key in found}
        self.families, self._ended_by_changes = found, set()

    def take(self, changes: Sequence[FamilyChange], source: FamilySource) -> None:
        """Remember families that are over as the changes tell of them, whether they were ever shown or not."""
        if source is not self._source:
            self._follow(source)
        over = [change for change in changes if change.kind in ("ended", "merged")]
        self._ended_by_changes |= self.families.keys() & {family_key(change) for change in over}
        over = sorted(over, key=lambda change: -(change.total or 0))[:ENDED]
        joined: dict[str, list[FamilyChange]] = {family_key(change): [] for change in over}
        for change in changes:
            if change.kind in ("born", "grew") and (key := family_key(change)) in joined:
                joined[key].append(change)
        for change in over:
            key = family_key(change)
            self.ended.pop(key, None)  # if it was noticed before it was told
            self.ended[key] = self._over(change, joined[key], source)
        self._drop_small()

    def _over(self, change: FamilyChange, joined: list[FamilyChange], source: FamilySource) -> dict[str, Any]:
        """A family that is over, of which the sets are told that joined it lately."""
        key = family_key(change)
        known, growth = self.rows.get(key), self._growth.get(key, Growth())
        points = [*growth.sizes, *((one.time, one.size or 0) for one in joined)]
        while len(points) > 2 * POINTS:
            points = _thinned(points)
        last = joined[-1].time if joined else None
        examples = {example[:2]: example for example in (*growth.examples, *_texts_of(source, change, joined))}
        return {
            "id": shown_id(change.family),
            "size": change.size,
            "total": change.total,
            "first_seen": shown_time(change.first_seen),
            "last_seen": known["last_seen"] if last is None and known is not None else shown_time(last),
            "newest": None if change.representative is None else shown_id(change.representative),
            "grown": 0,
            "trend": [[shown_time(time), size] for time, size in points],
            **_shown(list(examples.values())),
            "end": shown_time(change.time),
            "into": None if change.into is None else shown_id(change.into),
        }

    def _drop_small(self) -> None:
        if len(self.ended) > 2 * ENDED:
            largest = set(sorted(self.ended, key=lambda key: -(self.ended[key]["total"] or 0))[:ENDED])
            self.ended = {key: row for key, row in self.ended.items() if key in largest}

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
        examples = _examples(source, family)
        if len(examples) >= len(growth.examples):
            growth.examples = examples
        return {**facts, **_shown(examples)}


class Growth:
    """How a family grows: its sizes as time goes on, and how many records came in the last seconds.

    Attributes
    ----------
    sizes
        Its sizes, with their times.
    examples
        Its members with their texts when it was largest, which is what it is remembered for.
    """

    def __init__(self) -> None:
        self.sizes: list[tuple[Time, int]] = []
        self.examples: list[Example] = []
        self._totals: deque[tuple[float, int]] = deque()

    def note(self, clock: float, family: Family, now: Time | None) -> None:
        """Note how large a family is now."""
        if not self.sizes or self.sizes[-1][1] != family.size:
            self.sizes.append((family.last_seen if now is None else now, family.size))
            if len(self.sizes) > 2 * POINTS:
                self.sizes = _thinned(self.sizes)
        self._totals.append((clock, family.total))
        while len(self._totals) > 1 and clock - self._totals[1][0] > SPAN:
            self._totals.popleft()

    def recent(self) -> int:
        """How many records came lately."""
        return self._totals[-1][1] - self._totals[0][1]

    def points(self) -> list[list[Any]]:
        """Sizes with their times, as JSON."""
        return [[shown_time(time), size] for time, size in self.sizes]


def _thinned(sizes: list[tuple[Time, int]]) -> list[tuple[Time, int]]:
    """Every other size, with the last and the largest."""
    peak = max(range(len(sizes)), key=lambda place: sizes[place][1])
    return [one for place, one in enumerate(sizes) if place % 2 == 0 or place in (peak, len(sizes) - 1)]


def _is_gone(source: FamilySource, family: Family) -> bool:
    """Whether a family that is not among those shown any more is over, and not only outranked."""
    try:
        source.members(family)
    except NotInWindow:
        return True
    return False


def _examples(source: FamilySource, family: Family) -> list[Example]:
    """Members of a family that is there, with their texts."""
    examples = getattr(source, "examples", None)
    try:
        return list(examples(family, LOOKED)) if examples else []
    except NotInWindow:  # it has just ended
        return []


def _texts_of(source: FamilySource, over: FamilyChange, joined: list[FamilyChange]) -> list[Example]:
    """Members of a family that is over, with their texts as far as they are known: the first, and those that joined it."""
    texts = getattr(source, "texts", None)
    if texts is None or over.first_seen is None:
        return []
    first: Example = (over.family, over.first_seen, texts(over)[0])
    members = [first, *((change.representative, change.time, texts(change)[1]) for change in joined[-LOOKED:])]
    return [example for example in members if example[2] is not None]


def _shown(looked: Sequence[Example]) -> dict[str, Any]:
    """The different texts of members, each marked against the most frequent one; none, if there are no texts."""
    found = [content for content in contents(looked) if content.text is not None]
    parts = marked_together([printable_lines(content.text or "") for content in found[:TEXTS]], TEXT)
    texts = [{"count": content.count, "parts": in_json(of)} for content, of in zip(found, parts, strict=False)]
    return {"texts": texts, "kinds": len(found), "looked": len(looked)}


def members_of(source: FamilySource, family: Family) -> dict[str, Any]:
    """A family with its members, put together by their texts, as JSON."""
    examples = getattr(source, "examples", None)
    if examples is not None:
        looked = examples(family, LOOKED)
    else:
        looked = [(name, None, None) for name in source.members(family)[-LOOKED:]]
    found = contents(looked)
    parts = marked_together([printable_lines(content.text or "") for content in found], MEMBER_TEXT)
    groups = [
        {
            "count": content.count,
            "parts": None if content.text is None else in_json(of),
            "members": [[shown_id(name), shown_time(time)] for name, time, text in looked if text == content.text],
        }
        for content, of in zip(found, parts, strict=True)
    ]
    kinds = sum(content.text is not None for content in found)
    facts = {"id": shown_id(family.id), "size": family.size, "total": family.total}
    return {**facts, "looked": len(looked), "kinds": kinds, "groups": groups}
