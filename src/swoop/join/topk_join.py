"""TopKJoin: the join as people use it. It checks everything first, so that a refused call changes nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from swoop.errors import InvalidArgument, InvalidData, InvalidType, NotInWindow
from swoop.join.algorithms import make_engine
from swoop.join.arrivals import NO_SIDES, NOTHING, Arrivals, ReadSides, Records, names_to_keep
from swoop.join.feed import AllPairsFeed, Feed, Rows, make_changes, make_skyband, make_topk
from swoop.notebook import Metrics
from swoop.results import Changes, Explanation, Id, Pair, SkybandStep, Stream, TopK
from swoop.similarity import Similarity
from swoop.spec import Copies, JoinSpec
from swoop.text.functions import TokenFunction
from swoop.times import Time

if TYPE_CHECKING:
    from swoop.engine.contents import Names


@dataclass(frozen=True, slots=True)
class Stats(Metrics):
    """Metrics of a join.

    Attributes
    ----------
    sets
        Sets that have arrived.
    window_size
        Sets in the window.
    stock_size
        Pairs in the stock.
    vocabulary_size
        Different tokens that the engine knows; those that left the window are forgotten from time to time.
    pre_candidates
        List entries visited, in total.
    verified
        Pairs of sets that were compared token by token, in total.
    candidates
        Pairs that were sent to the stock, in total.
    memory_bytes
        Memory of the engine. Ids and kept columns are not included.
    """

    sets: int
    window_size: int
    stock_size: int
    vocabulary_size: int
    pre_candidates: int
    verified: int
    candidates: int
    memory_bytes: int


class TopKJoin(Arrivals):
    """The k most similar pairs of sets in a sliding window of a stream, exactly, at any moment.

    Parameters
    ----------
    k
        How many pairs; None: all that are at least as similar as ``min_similarity``.
    window
        A duration (``"1 hour"``, a ``timedelta``) for sets with datetimes, an integer for sets with integer times,
        :func:`swoop.last` for the last n sets, or None: all sets.
    similarity
        ``"jaccard"``, ``"cosine"``, ``"dice"``, ``"overlap"``, ``"hamming"`` or a :class:`swoop.Similarity`.
    two_streams
        Join a left with a right side: only pairs across the two count.
    min_similarity
        Pairs below this similarity do not count.
    track_changes
        Keep a feed of all changes of the top-k for :meth:`changes`.
    algorithm
        ``"swoop"``. The others are for comparisons and give the same results: ``"swoop-minimal"`` with the paper's minimal
        stock, without a floor; the paper's baselines ``"base"``, ``"scase"`` and ``"static"``; and its ablations
        ``"swoop-noindex"``, ``"swoop-noincrement"`` and ``"swoop-noopt"``. Only the first two have a change feed.
    copies
        ``"each"``: every set counts, so that four equal ones are six pairs. ``"once"``: a set that equals one of the window (of
        its side, in a two-stream join) renews it instead of standing beside it. Pairs are then of different *records*; a record
        has the id of its first set and stays until its newest copy leaves the window.
    max_pairs
        With ``k=None``, how many pairs there may be at a time, by default 10 million. A set that would make more is refused
        with :class:`swoop.errors.CapacityExceeded`, before memory runs out: it has not arrived, and the join can go on.

    Notes
    -----
    Threads may share a join: each call is done as a whole. For another process, use :meth:`save` and :meth:`load`.

    Examples
    --------
    >>> import swoop
    >>> join = swoop.TopKJoin(k=2, window=10)
    >>> join.insert(["win", "a", "free", "phone"], time=1)
    >>> join.insert(["good", "morning"], time=2)
    >>> join.insert(["win", "a", "free", "car"], time=3)
    >>> join.topk()
    TopK([Pair(similarity=0.6, newer=2, older=0, overlap=3, start=3, end=11)])
    >>> join.advance(11)
    >>> join.topk()
    TopK([])

    All pairs that are similar enough, however many there are:

    >>> join = swoop.TopKJoin(k=None, window=10, min_similarity=0.5)
    >>> join.insert_many({"tokens": [list("abc"), list("abd"), list("xyz"), list("abc")], "time": [1, 2, 3, 4]})
    >>> [(pair.newer, pair.older, pair.similarity) for pair in join.topk()]
    [(3, 0, 1.0), (3, 1, 0.5), (1, 0, 0.5)]
    """

    def __init__(
        self,
        k: int | None = 10,
        window: Any = None,
        similarity: str | Similarity = "jaccard",
        *,
        two_streams: bool = False,
        min_similarity: float | None = None,
        track_changes: bool = False,
        algorithm: str = "swoop",
        copies: Copies = "each",
        max_pairs: int | None = None,
    ) -> None:
        self._spec = JoinSpec(
            k,
            window,
            similarity,
            two_streams=two_streams,
            min_similarity=min_similarity,
            track_changes=track_changes,
            algorithm=algorithm,
            copies=copies,
            max_pairs=max_pairs,
        )
        super().__init__(self._spec.window, make_engine(self._spec))
        self._feed = AllPairsFeed() if k is None and copies == "each" else Feed(copies == "once")

    @classmethod
    def from_spec(cls, spec: JoinSpec) -> Self:
        """A join that does what was asked for elsewhere."""
        return cls(**vars(spec))

    @property
    def k(self) -> int | None:
        """How many pairs; None: all from ``min_similarity`` on."""
        return self._spec.k

    @property
    def similarity(self) -> Similarity:
        """How similar sets are."""
        return self._spec.similarity

    @property
    def two_streams(self) -> bool:
        """Whether only pairs of a left and a right set count."""
        return self._spec.two_streams

    @property
    def min_similarity(self) -> float | None:
        """Pairs below this similarity do not count."""
        return self._spec.min_similarity

    @property
    def track_changes(self) -> bool:
        """Whether there is a feed of changes."""
        return self._spec.track_changes

    @property
    def algorithm(self) -> str:
        """What the engine runs."""
        return self._spec.algorithm

    @property
    def copies(self) -> Copies:
        """Whether each copy of a set counts, or all of them once."""
        return self._spec.copies

    @property
    def max_pairs(self) -> int | None:
        """How many pairs there may be, if all are asked for."""
        return self._spec.max_pairs

    def __repr__(self) -> str:
        return (
            f"<TopKJoin k={self.k} window={self.window} similarity={self.similarity.name} "
            f"sets={self._engine.arrivals} in window={self._engine.arrivals - self._engine.oldest}>"
        )

    def _take_changes(self) -> None:
        if self.track_changes:
            self._feed.take(self._engine, self._ids, self._kept)

    def _named(self) -> Callable[[], np.ndarray] | None:
        return self._engine.identities if self.copies == "once" else None

    # arrivals

    def insert(
        self,
        tokens: Iterable[Any],
        time: Time | None = None,
        id: Id | None = None,
        stream: Stream | None = None,
        *,
        record: Mapping[str, Any] | None = None,
    ) -> None:
        """Let one set arrive.

        Parameters
        ----------
        tokens
            A collection of ``str``, ``bytes`` or ``int`` tokens. Repeated tokens count once; the string ``"1"`` and the integer
            1 are different tokens. An empty set is legal and forms no pair.
        time
            A datetime or an integer, as the window requires, not before that of the last set. With :func:`swoop.last` and in an
            unbounded window it may be left out.
        id
            The name of the set in results; by default its arrival number.
        stream
            ``"left"`` or ``"right"`` in a two-stream join.
        record
            What results are to show of the set besides its id, by name: ``{"text": "Win a phone", "author": "ann"}``. It is
            kept until the set leaves the window; what ``keep`` is for :meth:`insert_many`.

        Examples
        --------
        >>> import swoop
        >>> join = swoop.TopKJoin(k=1, window=10)
        >>> join.insert(["win", "a", "phone"], 1, record={"author": "ann"})
        >>> join.insert(["win", "a", "car"], 2, record={"author": "bob"})
        >>> join.topk()[0].newer_record, join.topk()[0].older_record
        ({'author': 'bob'}, {'author': 'ann'})
        """
        side = self._side(stream)
        self._insert(tokens, time, id, side, np.array([side], np.int8) if self.two_streams else NO_SIDES, record)

    def _side(self, stream: Any) -> int:
        if not self.two_streams:
            if stream is not None:
                raise InvalidArgument(f"stream={stream!r} was given, but this is not a two-stream join; use two_streams=True")
            return 0
        if stream not in ("left", "right"):
            raise InvalidArgument(f"in a two-stream join, stream must be 'left' or 'right', not {stream!r}")
        return 0 if stream == "left" else 1

    def insert_many(
        self,
        data: Any,
        tokens: str | TokenFunction = "tokens",
        time: str | None = "time",
        id: str | None = None,
        stream: str | None = None,
        *,
        keep: str | Sequence[str] = (),
    ) -> None:
        """Let many sets arrive, in the order of the rows. Much faster than one at a time.

        Parameters
        ----------
        data
            An Arrow table or record batch, a pandas or Polars data frame, or a dict of columns. If one row cannot be used, the
            error names it, and nothing is inserted.
        tokens, time, id, stream
            The names of the columns. Tokens may also be made from columns of text, by :func:`swoop.words`,
            :func:`swoop.word_ngrams` or :func:`swoop.char_ngrams`. ``time=None`` where sets have no times (:func:`swoop.last`
            and unbounded windows). Without ``id``, sets have their arrival numbers for ids, also where there is a column
            of that name, which :func:`swoop.history` would take: name it with ``id="id"``.
        keep
            Columns to come along, such as ``["text", "author"]``: results have them as ``newer_text``, ``older_text`` and so
            on, and pairs in ``newer_record`` and ``older_record``. They are kept until the sets leave the window. Where copies
            count once, they are those of the first set of a record, as its id is. Sets that arrived without have nulls.

        Examples
        --------
        >>> import swoop
        >>> join = swoop.TopKJoin(k=1, window=None)
        >>> join.insert_many({"tokens": [["a", "b"], ["a", "c"], ["a", "b", "c"]]}, time=None)
        >>> join.topk()[0].overlap
        2
        >>> join.insert_many({"text": ["Win a phone!", "win a PHONE now"]}, tokens=swoop.words("text"), time=None)
        >>> join.topk()[0].similarity
        0.75

        The records come along:

        >>> posts = {"text": ["Win a phone!", "win a PHONE now"], "author": ["ann", "bob"], "time": [1, 2]}
        >>> join = swoop.TopKJoin(k=1, window=10)
        >>> join.insert_many(posts, swoop.words("text"), keep=["author", "text"])
        >>> join.topk()[0].newer_record
        {'author': 'bob', 'text': 'win a PHONE now'}
        >>> join.topk().to_arrow().column_names[-4:]
        ['newer_author', 'newer_text', 'older_author', 'older_text']
        """
        self._insert_many(data, tokens, time, id, self._sides_reader(stream), names_to_keep(keep))

    def _insert_records(
        self,
        data: Any,
        tokens: str | TokenFunction,
        stream: str | None,
        names: Names | None = None,
        id: str | None = None,
        keep: Mapping[str, str] = NOTHING,
    ) -> np.ndarray:
        """The same where copies count once. Gives the identity of each set's record.

        ``names``: what records are called whose first sets have left the window before these sets arrive here.
        """
        found = np.zeros(len(data), np.int64)
        self._insert_many(data, tokens, "time", id, self._sides_reader(stream), keep, Records(names, found))
        return found

    def _sides_reader(self, stream: str | None) -> ReadSides:
        return lambda columns, lengths: self._read_sides(columns, stream, lengths)

    def _read_sides(self, columns: Any, stream: str | None, lengths: dict[str, int]) -> np.ndarray:
        from swoop.join import columns as cs

        if stream is not None and self.two_streams:
            sides = cs.read_streams(cs.find_column(columns, stream, "stream"), stream)
            lengths[stream] = len(sides)
            return sides
        if stream is not None:
            raise InvalidArgument(f"stream={stream!r} was given, but this is not a two-stream join; use two_streams=True")
        if self.two_streams:
            raise InvalidData("in a two-stream join, name the column of 'left' and 'right' with stream=...")
        return NO_SIDES

    # results

    def topk(self) -> TopK:
        """The most similar pairs now, at most k, in the total order. O(k), after what has arrived since is put in order.

        With ``k=None`` all n pairs, which are sorted: O(n log n).
        """
        with self._lock:
            self._finish()
            rows, seen = self._engine.stock(self.k)
            found = Rows.of(rows, seen, self._ids, None if self._kept is None else self._kept.frozen())
            return make_topk(found, self._clock, self.similarity, self.two_streams)

    def changes(self) -> Changes:
        """Every change of the top-k since the last call, with its exact time; changes between arrivals included."""
        if not self.track_changes:
            raise InvalidArgument("the change feed is off; make the join with track_changes=True")
        with self._lock:
            self._finish()
            self._take_changes()  # there are some if reading went on with what was interrupted
            return make_changes(self._waiting_changes(), self._clock, self.similarity, self.two_streams)

    def _change_rows(self) -> Rows:
        """The same as rows of the engine, which also say what has brought a change about."""
        with self._lock:
            self._finish()
            return self._waiting_changes()

    def _waiting_changes(self, is_taken: bool = True) -> Rows:
        """Changes that nobody has asked for, with the columns that are kept of sets. If they are taken, they wait no more."""
        found = self._feed.take_waiting() if is_taken else self._feed.waiting()
        return found if self._kept is None else found.with_schema(self._kept.schema)

    def skyband(self) -> list[SkybandStep]:
        """How similar a new pair must be to matter, by its end time: the paper's lower bound, in steps.

        Each step holds from the end of the one before it (the first: from now) until its own. Where fewer than k of the pairs
        known now are left, the engine's floor is the bound; with ``algorithm="swoop-minimal"`` there is none. O(n log k) with n
        pairs in the stock. With ``k=None`` the bound is ``min_similarity``, forever, and pairs that equal it matter, too.

        Examples
        --------
        >>> import swoop
        >>> join = swoop.TopKJoin(k=1, window=10, algorithm="swoop-minimal")
        >>> for time, text in enumerate(["ab", "ab", "bc"]):
        ...     join.insert(list(text), time)
        >>> join.skyband()
        [SkybandStep(until=10, similarity=1.0), SkybandStep(until=11, similarity=0.3333333333333333)]
        """
        with self._lock:
            self._finish()
            if self.k is None:
                assert self.min_similarity is not None
                return [SkybandStep(None, self.min_similarity)]
            (stock, _), floor = self._engine.stock(), self._engine.floor
            shown = self.similarity.shown
            pairs = zip(stock["end"].tolist(), map(shown, stock["key"].tolist()), strict=True)
            return make_skyband(pairs, None if floor is None else shown(floor), self._engine.now, self.k, self._clock)

    def explain(self, pair: Pair) -> Explanation:
        """What the sets of a pair share and what only one of them has. Both must still be in the window."""
        if not isinstance(pair, Pair) or pair.arrivals is None:
            raise InvalidType(f"explain takes a pair from topk() or changes(), not {pair!r:.80}")
        with self._lock:
            arrivals = self._newest_sets(pair)
            for arrival, name in zip(arrivals, (pair.newer, pair.older), strict=True):
                if arrival is None:
                    raise NotInWindow(f"set {name!r} is no longer in the window, so its tokens are gone")
            newer, older = (frozenset(self._engine.tokens_of(arrival).to_list()) for arrival in arrivals)
        return Explanation(pair, newer & older, newer - older, older - newer)

    def _newest_sets(self, pair: Pair) -> list[int | None]:
        """The arrival numbers of the sets of a pair, of its records the newest ones; None: it is not in the window."""
        with self._lock:
            self._finish()
            return [self._engine.newest_of(arrival) for arrival in pair.arrivals or ()]

    @property
    def stats(self) -> Stats:
        """Metrics of the join so far."""
        engine = self._engine
        with self._lock:
            self._finish()
            counters = engine.counters
            return Stats(
                sets=engine.arrivals,
                window_size=engine.arrivals - engine.oldest,
                stock_size=engine.settle(),
                vocabulary_size=engine.vocabulary_size,
                pre_candidates=counters["pre_candidates"],
                verified=counters["verified"],
                candidates=counters["candidate_count"],
                memory_bytes=engine.memory_bytes,
            )

    # keeping

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the join to a file, from which :meth:`load` makes one that goes on exactly like this one.

        The file is written whole or not at all. Its format is described in ``docs/file-format.md``.
        """
        from swoop.join.storage import save

        with self._lock:
            self._finish()
            save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], similarity: Similarity | None = None) -> Self:
        """Make a join from a file that :meth:`save` has written.

        A user-defined similarity cannot be saved and must be given again.
        """
        from swoop.join.storage import load

        return load(cls, path, similarity)

    def _check(self) -> None:
        """Verify every invariant of the engine against brute force. Slow; for tests."""
        from swoop.engine.check import check

        check(self._engine)
