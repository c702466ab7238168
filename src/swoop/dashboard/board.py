"""The state of the live page in numbered versions, and the differences between them."""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from swoop.dashboard.change_log import ChangeLog, LoggedChanges
from swoop.dashboard.differences import State, difference, merged
from swoop.dashboard.downloads import result_of
from swoop.dashboard.families import FamilySource, members_of
from swoop.dashboard.lives import Lives
from swoop.dashboard.reading import Reader
from swoop.dashboard.timeline import Timeline
from swoop.dashboard.wire import facts_of, key_of, shown_id, shown_texts, shown_tokens
from swoop.errors import NotInWindow
from swoop.results import Change, Explanation, FamilyChange, FamilyChanges, Pair, SkybandStep

if TYPE_CHECKING:
    import pyarrow as pa

PENDING = 20_000  # changes that may wait for the next refresh; older ones are dropped
DIFFERENCES = 240  # a minute of them
TOKENS, TEXT = 2_000, 20_000  # limits of an explanation


class Source(Protocol):
    """What the page reads: a running stream's handle, or a :class:`swoop.TopKJoin`.

    Optional: ``texts(pair)`` with the texts of the newer and the older set, ``is_active`` (otherwise the stream counts as
    running) and ``failure``, the error that ended it; ``spec``, what it was asked for (``k``, ``window``, ``similarity``,
    ``min_similarity``, which may also be attributes of its own); ``reasons``, why rows were rejected, and ``late_rows``, as
    handles have them. Metrics are attributes of ``stats``, as far as it has them.
    """

    def topk(self) -> Sequence[Pair]: ...

    def explain(self, pair: Pair, /) -> Explanation: ...

    def skyband(self) -> Sequence[SkybandStep]: ...

    @property
    def stats(self) -> Any: ...


class Inbox:
    """Changes that wait for the next refresh. ``complete`` is whether none is missing since there are any."""

    def __init__(self) -> None:
        self._parts: deque[Sequence[Any]] = deque()
        self.waiting = 0
        self._has_feed = self._gap = False

    def put(self, changes: Sequence[Any]) -> None:
        """Let changes wait; if there are too many, the oldest are dropped."""
        self._has_feed = True
        self._parts.append(changes)
        self.waiting += len(changes)
        while self.waiting > PENDING:
            self.waiting -= len(self._parts.popleft())
            self._gap = True

    def miss(self) -> None:
        """Note that changes were missed."""
        self._gap = True

    def take(self) -> tuple[deque[Sequence[Any]], bool]:
        """What waits, and whether it is complete."""
        parts, complete = self._parts, self._has_feed and not self._gap
        self._parts, self.waiting, self._gap = deque(), 0, False
        return parts, complete


class Event(NamedTuple):
    """What a client is sent: the whole state, or the difference from the one it has, as JSON; ``id`` names the new state."""

    id: str
    kind: str
    data: str


class Board:
    """The state of the page. Threads may share it.

    Parameters
    ----------
    title
        The title of the page.
    origin
        Where the stream comes from, such as the name of a file; the page says it.
    limit
        The maximum number of pairs shown.
    stays
        How many ended stays in the top-k are remembered.
    clock
        A clock in seconds, for rates.

    Notes
    -----
    Changes may arrive at any rate: :meth:`take_changes` only queues them. Call :meth:`refresh` as often as people can follow.

    Examples
    --------
    >>> import swoop
    >>> join = swoop.TopKJoin(k=2, window=10)
    >>> for moment, text in enumerate(["abc", "abd"]):
    ...     join.insert(list(text), moment)
    >>> board = Board()
    >>> board.show(join)
    >>> board.refresh()
    True
    >>> [pair["similarity"] for pair in board.state["pairs"].values()]
    [0.5]
    """

    def __init__(
        self,
        title: str = "Swoop",
        *,
        origin: str | None = None,
        limit: int = 100,
        stays: int = 200,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._life = secrets.token_hex(4)
        self._lock = threading.Lock()
        self._refreshing = threading.Lock()
        self._listeners: list[Callable[[], None]] = []
        self._changes, self._family_changes = Inbox(), Inbox()
        self._source: Source | None = None
        self._families: FamilySource | None = None
        self._timeline, self._lives = Timeline(stays), Lives(stays)
        self._reader = Reader(title, limit, clock, origin)
        self._logs = {"changes": ChangeLog(), "family-changes": ChangeLog()}
        self._version = 0
        self._state: State = self._reader.read(None, None, self._timeline, self._lives, complete=False)
        self._differences: deque[State] = deque(maxlen=DIFFERENCES)
        self._encoded: dict[int, str] = {}

    def show(self, source: Source | FamilySource) -> None:
        """Show this source from now on: beside one of the other kind, pairs or families, in place of one of its own."""
        with self._lock:
            if hasattr(source, "families"):
                self._families = cast("FamilySource", source)
                return
            if self._source is not None:
                self._changes.miss()
            self._source = source

    def take_changes(self, changes: Sequence[Change] | Sequence[FamilyChange], batch: int = -1) -> None:
        """Receive changes of the top-k or of families, for the timelines. Pass this to ``start(changes=...)`` of a stream.

        Without it, the timelines are derived from what is there from time to time, and miss what is short.
        """
        of_families = isinstance(changes, FamilyChanges) or (len(changes) and isinstance(changes[0], FamilyChange))
        self._logs["family-changes" if of_families else "changes"].put(changes)
        with self._lock:
            (self._family_changes if of_families else self._changes).put(changes)

    def refresh(self) -> bool:
        """Read what is shown. Returns whether there is anything new; if so, listeners are notified."""
        with self._refreshing:
            with self._lock:
                source, families = self._source, self._families
                changes, complete = self._changes.take()
                family_changes = self._family_changes.take()[0] if families is not None else ()
            for change in chain.from_iterable(changes):
                self._timeline.take(change)
                self._reader.note_time(change.time)
            told = list(chain.from_iterable(family_changes))
            for change in told:
                self._lives.take(change)
                self._reader.note_time(change.time)
            if families is not None:
                self._reader.families.take(told, families)
            state = self._reader.read(source, families, self._timeline, self._lives, complete=complete)
            with self._lock:
                changed = difference(self._state, state)
                if not changed:
                    return False
                self._state = state
                self._version += 1
                self._differences.append(changed)
                self._encoded.clear()
                listeners = list(self._listeners)
        for listener in listeners:
            listener()
        return True

    @property
    def state(self) -> State:
        """The state after the last refresh."""
        return self._state

    def since(self, last: str | None) -> Event | None:
        """What a client needs after the event with this id: nothing, a difference, or the whole state."""
        with self._lock:
            name = f"{self._life}-{self._version}"
            if last == name:
                return None
            missed = self._missed(last)
            if missed not in self._encoded:
                content = merged(list(self._differences)[-missed:]) if missed else self._state
                self._encoded[missed] = json.dumps(content, allow_nan=False, separators=(",", ":"))
            return Event(name, "difference" if missed else "snapshot", self._encoded[missed])

    def _missed(self, last: str | None) -> int:
        """How many differences a client has missed; 0 if it needs the whole state."""
        life, _, version = (last or "").partition("-")
        if life != self._life or not (version.isascii() and version.isdigit() and len(version) < 18):
            return 0
        missed = self._version - int(version)
        return missed if 0 < missed <= len(self._differences) else 0

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call ``listener`` after each refresh with something new. Returns a function that unsubscribes it."""
        with self._lock:
            self._listeners.append(listener)

        def end() -> None:
            with self._lock:
                self._listeners.remove(listener)

        return end

    @property
    def watched(self) -> bool:
        """Whether there is a listener."""
        return bool(self._listeners)

    def explain(self, newer: str, older: str, pair: str | None = None) -> dict[str, Any]:
        """Why two sets are similar, as JSON. Ids are as shown on the page; ``pair`` is its key, since ids may repeat.

        Raises
        ------
        NotInWindow
            If the pair is not, or no longer, known, or its sets have left the window.
        """
        with self._refreshing:
            known = [*self._reader.pairs.values(), *(stay.pair for stay in reversed([*self._timeline.stays()]))]
            source = self._source
        for known_pair in known:
            if (shown_id(known_pair.newer), shown_id(known_pair.older)) == (newer, older) and pair in (
                None,
                key_of(known_pair),
            ):
                break
        else:
            raise NotInWindow("this pair is not in the top-k, and has not been there recently")
        assert source is not None
        newer_text, older_text = source.texts(known_pair) if hasattr(source, "texts") else (None, None)
        return {
            "pair": key_of(known_pair),
            **facts_of(known_pair),
            **shown_texts(newer_text, older_text, TEXT),
            **shown_tokens(source.explain(known_pair), TOKENS),
        }

    def download(self, what: str) -> LoggedChanges | pa.Table:
        """What people take away: the ``result`` or ``families`` of now, or all ``changes`` or ``family-changes``.

        Raises
        ------
        NotInWindow
            If there is no such thing.
        """
        if what in self._logs:
            if (kept := self._logs[what].read()) is None:
                raise NotInWindow(
                    "there are no changes here: either none have happened, or the page was not told of them; "
                    "pass page.board.take_changes to start(changes=...)"
                )
            return kept
        with self._refreshing:
            source, families = self._source, self._families
            if what == "result" and source is not None:
                return result_of(source.topk(), source)
            if what == "families" and families is not None:
                return result_of(families.families(), families)
        raise NotInWindow(f"the page shows no {what}")

    def moment(self) -> dict[str, Any]:
        """The state, and all that the page would ask for about it, as JSON: what a kept page has in it."""
        self.refresh()
        state = self._state
        pairs, families = {}, {}
        for key, pair in state["pairs"].items():
            with suppress(NotInWindow):  # it has just left
                pairs[key] = self.explain(pair["newer"], pair["older"], key)
        for key in state["families"]:
            with suppress(NotInWindow):
                families[key] = self.family(key)
        return {"state": state, "pairs": pairs, "families": families}

    def family(self, key: str) -> dict[str, Any]:
        """A family that is shown, with its members and their texts, as JSON.

        Raises
        ------
        NotInWindow
            If there is no such family, or it has ended.
        """
        with self._refreshing:
            family, source = self._reader.families.families.get(key), self._families
        if family is None or source is None:
            raise NotInWindow("this family is not shown, or has ended")
        return members_of(source, family)
