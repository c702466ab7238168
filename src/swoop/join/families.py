"""Families: groups of near copies as people use them. Everything is checked first, so that a refused call changes nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from swoop.errors import InvalidArgument, InvalidType
from swoop.join.algorithms import make_family_engine
from swoop.join.arrivals import NO_SIDES, Arrivals, names_to_keep
from swoop.join.family_feed import FamilyFeed
from swoop.join.family_snapshot import FamilySnapshot, Order
from swoop.notebook import Metrics
from swoop.results import Family, FamilyChanges, FamilyList, Id
from swoop.similarity import Similarity
from swoop.spec import FamilySpec
from swoop.text.functions import TokenFunction
from swoop.times import Time


@dataclass(frozen=True, slots=True)
class FamilyStats(Metrics):
    """Metrics of families.

    Attributes
    ----------
    sets
        Sets that have arrived.
    window_size
        Sets in the window.
    families
        Families of at least two sets that have one in the window.
    vocabulary_size
        Different tokens that the engine knows; those that left the window are forgotten from time to time.
    pre_candidates
        List entries visited, in total.
    verified
        Pairs of sets that were compared token by token, in total.
    memory_bytes
        Memory of the engine. Ids and kept columns are not included.
    """

    sets: int
    window_size: int
    families: int
    vocabulary_size: int
    pre_candidates: int
    verified: int
    memory_bytes: int


class Families(Arrivals):
    """Groups of near copies in a stream, exactly, at any moment: waves of spam, double entries, versions of one story.

    Two sets are *linked* if they are in the window at the same time and their similarity is at least ``min_similarity``; equal
    sets always are. A *family* is what is connected by links, as long as one of its sets is in the window. It has the id of its
    first set and keeps it when that set has left the window; it never splits. When a new set links families, they become one,
    and the one whose first set came first keeps its id.

    Parameters
    ----------
    min_similarity
        From which similarity on two sets are linked.
    window
        A duration (``"1 hour"``, a ``timedelta``) for sets with datetimes, an integer for sets with integer times,
        :func:`swoop.last` for the last n sets, or None: all sets.
    similarity
        ``"jaccard"``, ``"cosine"``, ``"dice"``, ``"overlap"``, ``"hamming"`` or a :class:`swoop.Similarity`.
    track_changes
        Keep a feed of all that happens to families for :meth:`changes`. Changes that nobody asks for stay there.

    Notes
    -----
    Threads may share it: each call is done as a whole. For another process, use :meth:`save` and :meth:`load`.

    Examples
    --------
    >>> import swoop
    >>> waves = swoop.Families(min_similarity=0.5, window=10)
    >>> waves.insert(["win", "a", "free", "phone"], time=1, id="first")
    >>> waves.insert(["good", "morning"], time=2)
    >>> waves.insert(["win", "a", "free", "car"], time=3, id="second")
    >>> waves.families()
    FamilyList([Family(id='first', size=2, total=2, first_seen=1, last_seen=3, representative='second')])
    >>> waves.insert(["win", "a", "free", "house"], time=12, id="third")
    >>> waves.families()
    FamilyList([Family(id='first', size=2, total=3, first_seen=1, last_seen=12, representative='third')])
    >>> waves.members("first")
    ['second', 'third']
    >>> [(change.time, change.kind) for change in waves.changes()]
    [(3, 'born'), (12, 'grew')]
    """

    def __init__(
        self, min_similarity: float, window: Any, similarity: str | Similarity = "jaccard", *, track_changes: bool = True
    ) -> None:
        self._spec = FamilySpec(min_similarity, window, similarity)
        self._track_changes = bool(track_changes)
        super().__init__(self._spec.window, make_family_engine(self._spec, tracking=self._track_changes))
        self._feed = FamilyFeed()

    @property
    def min_similarity(self) -> float:
        """From which similarity on two sets are linked."""
        return self._spec.min_similarity

    @property
    def similarity(self) -> Similarity:
        """How similar sets are."""
        return self._spec.similarity

    @property
    def track_changes(self) -> bool:
        """Whether there is a feed of changes."""
        return self._track_changes

    def __reduce__(self) -> Any:
        raise InvalidType("families cannot be copied or pickled; use save and load")

    def __repr__(self) -> str:
        return (
            f"<Families min_similarity={self.min_similarity} window={self.window} similarity={self.similarity.name} "
            f"sets={self._engine.arrivals} in window={self._engine.arrivals - self._engine.oldest}>"
        )

    def _take_changes(self) -> None:
        if self.track_changes:
            self._feed.take(self._engine, self._ids, self._kept)

    def _named(self) -> Callable[[], np.ndarray]:
        firsts: Callable[[], np.ndarray] = self._engine.firsts
        return firsts

    def _shown_when_left(self) -> None:
        """Nothing: of a family, the newest set is shown."""

    # arrivals

    def insert(
        self,
        tokens: Iterable[Any],
        time: Time | None = None,
        id: Id | None = None,
        *,
        record: Mapping[str, Any] | None = None,
    ) -> None:
        """Let one set arrive.

        Parameters
        ----------
        tokens
            A collection of ``str``, ``bytes`` or ``int`` tokens. Repeated tokens count once; the string ``"1"`` and the integer
            1 are different tokens. An empty set is legal and is linked with nothing.
        time
            A datetime or an integer, as the window requires, not before that of the last set. With :func:`swoop.last` and in an
            unbounded window it may be left out.
        id
            The name of the set, and of the family of which it is the first set; by default its arrival number.
        record
            What results are to show of the set besides its id, by name, as for :meth:`swoop.TopKJoin.insert`.
        """
        self._insert(tokens, time, id, 0, NO_SIDES, record)

    def insert_many(
        self,
        data: Any,
        tokens: str | TokenFunction = "tokens",
        time: str | None = "time",
        id: str | None = None,
        *,
        keep: str | Sequence[str] = (),
    ) -> None:
        """Let many sets arrive, in the order of the rows. Much faster than one at a time.

        Parameters
        ----------
        data
            An Arrow table or record batch, a pandas or Polars data frame, or a dict of columns. If one row cannot be used, the
            error names it, and nothing is inserted.
        tokens, time, id
            The names of the columns. Tokens may also be made from columns of text, by :func:`swoop.words`,
            :func:`swoop.word_ngrams` or :func:`swoop.char_ngrams`. ``time=None`` where sets have no times (:func:`swoop.last`
            and unbounded windows). Without ``id``, sets have their arrival numbers for ids, also where there is a column
            of that name, which :func:`swoop.families_history` would take: name it with ``id="id"``.
        keep
            Columns to come along, such as ``["text", "author"]``: of the representative of a family, results have them as
            ``representative_text`` and so on, and families in ``record``. They are kept until the sets leave the window.

        Examples
        --------
        >>> import swoop
        >>> waves = swoop.Families(0.5, window=None)
        >>> posts = {"text": ["Win a phone!", "win a PHONE now", "hello"]}
        >>> waves.insert_many(posts, swoop.words("text"), time=None, keep="text")
        >>> waves.members(0)
        [0, 1]
        >>> waves.families()[0].record
        {'text': 'win a PHONE now'}
        """
        self._insert_many(data, tokens, time, id, lambda columns, lengths: NO_SIDES, names_to_keep(keep))

    # results

    def families(self, n: int | None = None, order: Order = "size") -> FamilyList:
        """The families of at least two sets that have one in the window.

        Parameters
        ----------
        n
            How many, at most; by default all.
        order
            ``"size"``: those with the most sets in the window first. ``"newest"``: those that were seen last first.
            ``"growing"``: those with the most sets in the newest tenth of the window first (rounded up; of all sets, if it is
            unbounded).
            Ties: by size, then by first set.
        """
        return self._snapshot().families(n, order)

    def _snapshot(self) -> FamilySnapshot:
        """The families of now, for any thread to ask. O(window)."""
        with self._lock:
            self._finish()
            engine = self._engine
            numbers, rows = engine.families()
            return FamilySnapshot(
                numbers,
                rows,
                rows["newest"].astype(np.int64) + engine.state.base,
                engine.oldest,
                engine.members(),
                engine.times(),
                engine.now,
                self._ids.frozen(),
                self._clock,
                None if self._kept is None else self._kept.frozen(),
            )

    def members(self, id: Id | Family) -> list[Id]:
        """The ids of the sets of a family that are in the window, in the order of their arrival.

        If several families have the same id, because several sets do, it is the one whose first set came first. A
        :class:`swoop.Family` may be given instead of its id.
        """
        found = self._snapshot()
        return found.named(found.arrivals(id))

    def changes(self) -> FamilyChanges:
        """Everything that happened to families since the last call, with its exact time.

        Families of one set are not told of. An arriving set that links families gives a ``"merged"`` for each that becomes part
        of another one, by their first sets; then a ``"born"`` or ``"grew"`` for that one. A family ends when its newest set
        leaves the window; those that end at the same time are in the order of their first sets.
        """
        if not self.track_changes:
            raise InvalidArgument("the change feed is off; leave out track_changes=False")
        with self._lock:
            self._finish()
            self._take_changes()
            return self._feed.changes(self._clock, None if self._kept is None else self._kept.schema)

    @property
    def stats(self) -> FamilyStats:
        """Metrics so far."""
        engine = self._engine
        with self._lock:
            self._finish()
            counters = engine.counters
            return FamilyStats(
                sets=engine.arrivals,
                window_size=engine.arrivals - engine.oldest,
                families=len(engine.families()[0]),
                vocabulary_size=engine.vocabulary_size,
                pre_candidates=counters["pre_candidates"],
                verified=counters["verified"],
                memory_bytes=engine.memory_bytes,
            )

    # keeping

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the families to a file, from which :meth:`load` makes some that go on exactly like these.

        The file is written whole or not at all. Its format is described in ``docs/file-format.md``.
        """
        from swoop.join.family_storage import save

        with self._lock:
            self._finish()
            save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], similarity: Similarity | None = None) -> Self:
        """Make families from a file that :meth:`save` has written.

        A user-defined similarity cannot be saved and must be given again.
        """
        from swoop.join.family_storage import load

        return load(cls, path, similarity)

    def _check(self) -> None:
        """Verify every invariant of the engine against brute force. Slow; for tests."""
        self._engine.check()
