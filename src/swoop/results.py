"""Results: pairs of sets, changes of the top-k, explanations, families, and sequences of them as data frames and charts."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeVar, overload

from swoop.errors import InvalidArgument
from swoop.notebook import Markup, bar, chips, html_table
from swoop.stays import Stay
from swoop.times import Time

if TYPE_CHECKING:
    import altair
    import pandas
    import polars
    import pyarrow

Id = int | str | bytes
Token = int | str | bytes
Kind = Literal["enter", "outranked", "expired"]
FamilyKind = Literal["born", "grew", "merged", "ended"]
Stream = Literal["left", "right"]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two sets in the window, and how similar they are.

    Attributes
    ----------
    similarity
        For hamming, minus the distance.
    newer, older
        The ids of the set that arrived later and of the one that arrived earlier; by default arrival numbers from 0.
        Where copies count once, a record has the id of its first set.
    overlap
        The number of common tokens.
    start, end
        The pair counts from the time of the newer set until the older one leaves the window; ``end`` is None if it never does.
        Where copies count once: from when the newer record was first seen until the last copy of one of the two leaves the
        window, as far as copies are known.
    newer_copies, older_copies
        Where copies count once: how many copies of each record are in the window. Otherwise None, like the next four.
    newer_first_seen, newer_last_seen, older_first_seen, older_last_seen
        The times of the first and of the newest copy of each record.
    newer_record, older_record
        The kept columns of each set, by name; None if nothing was kept.
    """

    similarity: float
    newer: Id
    older: Id
    overlap: int
    start: Time
    end: Time | None
    newer_stream: Stream | None = field(default=None, repr=False, compare=False)
    arrivals: tuple[Any, Any] | None = field(default=None, repr=False, compare=False)
    newer_copies: int | None = field(default=None, repr=False)
    newer_first_seen: Time | None = field(default=None, repr=False)
    newer_last_seen: Time | None = field(default=None, repr=False)
    older_copies: int | None = field(default=None, repr=False)
    older_first_seen: Time | None = field(default=None, repr=False)
    older_last_seen: Time | None = field(default=None, repr=False)
    newer_record: dict[str, Any] | None = field(default=None, repr=False, compare=False)
    older_record: dict[str, Any] | None = field(default=None, repr=False, compare=False)

    @property
    def left(self) -> Id:
        """The id of the set on the left side, in a two-stream join."""
        return self.newer if self._newer_stream() == "left" else self.older

    @property
    def right(self) -> Id:
        """The id of the set on the right side, in a two-stream join."""
        return self.newer if self._newer_stream() == "right" else self.older

    def _newer_stream(self) -> Stream:
        if self.newer_stream is None:
            raise InvalidArgument("left and right are only known in a two-stream join; use newer and older")
        return self.newer_stream


@dataclass(frozen=True, slots=True)
class Change:
    """A pair entered the top-k, or left it because it was outranked or because it expired."""

    time: Time
    kind: Kind
    pair: Pair


@dataclass(frozen=True, slots=True)
class Family:
    """Sets that are linked, directly or through others: near copies, and near copies of those.

    Attributes
    ----------
    id
        The id of its first set, even when that set has left the window.
    size
        How many of its sets are in the window, copies included.
    total
        How many sets it has ever had.
    first_seen, last_seen
        The times of its first and of its newest set.
    representative
        The id of its newest set, which is in the window.
    record
        The kept columns of that set, by name; None if nothing was kept.
    by
        In a history with one result per key: the values of the key's columns.
    """

    id: Id
    size: int
    total: int
    first_seen: Time
    last_seen: Time
    representative: Id
    arrival: int | None = field(default=None, repr=False, compare=False)
    record: dict[str, Any] | None = field(default=None, repr=False, compare=False)
    by: tuple[Any, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class FamilyChange:
    """Something that happened to a family.

    Attributes
    ----------
    time
        When it happened.
    kind
        ``"born"``: it has its second set. ``"grew"``: a set joined it. ``"merged"``: it became part of the family ``into``.
        ``"ended"``: its last set left the window.
    family
        The id of the family.
    into
        If it merged: the family that it is a part of from now on.
    size, total
        How many of its sets were in the window at that moment, and how many it had ever had; for a merged family, those that it
        contributed. None, like the attributes below, in changes that an earlier release has saved.
    first_seen
        The time of its first set.
    representative
        The id of its newest set; if it was born or grew, of the one that joined it.
    record
        The kept columns of that set, by name; None if nothing was kept.
    """

    time: Time
    kind: FamilyKind
    family: Id
    into: Id | None = None
    size: int | None = None
    total: int | None = None
    first_seen: Time | None = None
    representative: Id | None = None
    arrival: int | None = field(default=None, repr=False, compare=False)
    sets: tuple[Any, Any] | None = field(default=None, repr=False, compare=False)  # its first and its newest, for its source
    record: dict[str, Any] | None = field(default=None, repr=False, compare=False)
    into_arrival: int | None = field(default=None, repr=False, compare=False)

    @property
    def key(self) -> Hashable:
        """Identifies the family, even if ids repeat."""
        return self.arrival, self.family

    @property
    def into_key(self) -> Hashable:
        """The same for the family that it became a part of."""
        return self.into_arrival, self.into


@dataclass(frozen=True, slots=True)
class SkybandStep:
    """A step of the skyband: a new pair that ends by ``until`` (None: ever) only matters if it is more similar than this."""

    until: Time | None
    similarity: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why two sets are similar: the tokens they share, and those that only one of them has."""

    pair: Pair
    shared: frozenset[Token]
    only_newer: frozenset[Token]
    only_older: frozenset[Token]

    def chart(self, most: int = 100) -> altair.Chart | altair.LayerChart:
        """The tokens of both sets side by side, at most ``most`` of them. Needs altair."""
        from swoop import charts

        return charts.explanation(self, most)

    def _in_order(self) -> list[tuple[str, list[str]]]:
        """The three kinds of tokens by name, sorted, as text."""
        kinds = (("shared", self.shared), ("only newer", self.only_newer), ("only older", self.only_older))
        return [(name, [str(token) for token in sorted(tokens, key=_by_type)]) for name, tokens in kinds]

    def _repr_html_(self) -> str:
        kinds = self._in_order()
        known = sorted(token for _, tokens in kinds for token in tokens)
        return html_table(("", "", "tokens"), [(name, len(tokens), Markup(chips(tokens, known))) for name, tokens in kinds])


def _by_type(token: Token) -> tuple[str, Any]:
    return type(token).__name__, token


Item = TypeVar("Item", Pair, Change, Stay, Family, FamilyChange)


class Results(Sequence[Item], Generic[Item]):
    """A sequence of results, whose items are made on access; ``to_...`` return all of it as a data frame."""

    def __init__(self, size: int, make: Callable[[int], Item], columns: Callable[[], dict[str, Any]]) -> None:
        self._size = size
        self._make: Callable[[int], Any] = make
        self._columns = columns

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Several sequences of results as one."""
        starts = list(accumulate((len(part) for part in parts), initial=0))

        def make(index: int) -> Item:
            part = bisect_right(starts, index) - 1
            return parts[part]._make(index - starts[part])  # type: ignore[no-any-return]

        def columns() -> dict[str, Any]:
            import pyarrow as pa

            filled = [part for part in parts if len(part)] or parts[:1]  # of what is empty, the type of the ids is not known
            table = pa.concat_tables([part.to_arrow() for part in filled], promote_options="permissive")
            return dict(zip(table.column_names, table.columns, strict=True))

        return cls(starts[-1], make, columns)

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> list[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | list[Item]:
        if isinstance(index, slice):
            return [self._make(i) for i in range(*index.indices(self._size))]
        if not -self._size <= index < self._size:
            raise IndexError(f"index {index} of {self._size} results")
        item: Item = self._make(index % self._size)
        return item

    def __iter__(self) -> Iterator[Item]:
        return map(self._make, range(self._size))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = [repr(self._make(i)) for i in range(min(self._size, 10))]
        rest = [f"... {self._size - 10} more"] if self._size > 10 else []
        return f"{type(self).__name__}([" + ",\n ".join(shown + rest) + "])"

    def to_arrow(self) -> pyarrow.Table:
        """The results as an Arrow table, one row each."""
        import pyarrow as pa

        return pa.table(self._columns())

    def to_pandas(self) -> pandas.DataFrame:
        """The results as a pandas data frame. Needs pandas."""
        from swoop.readable import to_pandas

        return to_pandas(self.to_arrow())

    def to_polars(self) -> polars.DataFrame:
        """The results as a Polars data frame. Needs Polars."""
        import polars as pl

        frame = pl.from_arrow(self.to_arrow())
        assert isinstance(frame, pl.DataFrame)
        return frame

    def _repr_html_(self) -> str:
        from swoop.readable import rows_of

        table = self.to_arrow().slice(0, 100)
        rows = rows_of(table)
        names = table.column_names
        # a small bar beside each similarity, and beside each size of a family, as long as the largest
        if "similarity" in names and all(0 <= row["similarity"] <= 1 for row in rows):
            rows = _with_bars(names, rows, "similarity", 1)
        elif "total" in names:
            measure = "size" if any(row["size"] for row in rows) else "total"
            rows = _with_bars(names, rows, measure, max((row[measure] for row in rows), default=1))
        more = f"<p>... {self._size - 100} more</p>" if self._size > 100 else ""
        return html_table(tuple(names), [tuple(row[name] for name in names) for row in rows]) + more


def _with_bars(names: list[str], rows: list[dict[str, Any]], name: str, longest: float) -> list[dict[str, Any]]:
    """Rows with a bar in a column without a name, behind that of which it shows the value."""
    names.insert(names.index(name) + 1, "")
    return [{**row, "": Markup(bar(row[name] / longest))} for row in rows]


class TopK(Results[Pair]):
    """The most similar pairs, in the total order: similarity and end time descending, then newer and older ascending."""

    def families(self) -> list[list[Id]]:
        """The ids of the sets, grouped by how these pairs connect them: largest groups first, each in the order of arrival.

        This is for display, since it depends on k and on the current top-k. :class:`swoop.Families` finds all near copies.

        Examples
        --------
        >>> import swoop
        >>> join = swoop.TopKJoin(k=9, window=None, min_similarity=0.3)
        >>> join.insert_many({"tokens": [["a", "b"], ["x"], ["b", "c"], ["x"], ["c", "d"]]}, time=None)
        >>> join.topk().families()
        [[0, 2, 4], [1, 3]]
        """
        homes: dict[Any, dict[Any, Id]] = {}  # of each set, by arrival number, all that it is connected with
        for pair in self:
            newer, older = pair.arrivals or (pair.newer, pair.older)
            sides = homes.get(newer, {newer: pair.newer}), homes.get(older, {older: pair.older})
            small, large = sorted(sides, key=len)
            large.update(small)
            homes.update(dict.fromkeys(small, large))
            homes[newer] = homes[older] = large
        found = [
            sorted(home.items(), key=lambda item: _by_type(item[0])) for home in {id(h): h for h in homes.values()}.values()
        ]
        found.sort(key=lambda items: (-len(items), _by_type(items[0][0])))
        return [[name for _, name in items] for items in found]

    def chart(self, most: int = 50) -> altair.Chart | altair.LayerChart:
        """One bar per pair, its length the similarity, for the first ``most`` pairs. Needs altair."""
        from swoop import charts

        return charts.topk(self, most)


class Changes(Results[Change]):
    """Changes of the top-k, in the order in which they happened."""

    def chart(self, most: int = 30) -> altair.Chart | altair.LayerChart:
        """Which pairs were in the top-k when: one bar per stay. Needs altair.

        Parameters
        ----------
        most
            The maximum number of pairs; those with the longest stays are shown.
        """
        from swoop import charts

        return charts.changes(self, most)


class FamilyList(Results[Family]):
    """Families, in the requested order."""

    def chart(self, most: int = 30) -> altair.Chart | altair.LayerChart:
        """When families were seen: a bar for each, from its first to its last set. Needs altair.

        Parameters
        ----------
        most
            The maximum number of families; those with the most sets are shown.
        """
        from swoop import charts

        return charts.family_history(self, most)


class FamilyHistory(FamilyList):
    """All families of a history, in the order of their first sets; with keys, those of one key after the other."""

    def __init__(
        self,
        size: int,
        make: Callable[[int], Family],
        columns: Callable[[], dict[str, Any]],
        rows: Callable[[], pyarrow.Table],
        firsts: Any,
    ) -> None:
        super().__init__(size, make, columns)
        self._rows = rows
        self._firsts = firsts  # of each row, the arrival number of the first set of its family, since ids may repeat

    def rows(self) -> pyarrow.Table:
        """The ids, the times and the families of all sets, in the order in which they entered: ``id``, ``time``, ``family``.

        A set without links has its own id as that of its family. The columns of a key come first.
        """
        return self._rows()


class FamilyChanges(Results[FamilyChange]):
    """What happened to families, in the order in which it happened."""

    def chart(self, most: int = 30) -> altair.Chart | altair.LayerChart:
        """Which families there were when, and how they grew: a bar for each, with a tick for each set. Needs altair.

        Parameters
        ----------
        most
            The maximum number of families; those that grew most are shown.
        """
        from swoop import charts

        return charts.families(self, most)


class History(Results[Stay]):
    """The stays of pairs in the top-k of a history, in the order of their entries."""
