"""Swoop's table functions for SQL: the stays of a top-k, families, and the rows that cannot be used.

A function is a class whose ``analyze`` runs when a query is analysed: it checks the arguments, says what the result looks like,
and which expressions of the table it wants. The rest runs in Spark's Python workers, one object per partition of the table.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pyarrow as pa
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.udtf import AnalyzeArgument, AnalyzeResult, OrderingColumn, PartitioningColumn, SelectedColumn

from swoop.errors import InvalidArgument, InvalidData, InvalidType
from swoop.join.family_history import FAMILY
from swoop.join.row_order import find_order
from swoop.join.unusable import why_unusable
from swoop.reasons import Reasons
from swoop.spark.rows import Names, find_spark_window, plain_type, time_kind
from swoop.spark.slices import PushedFamilies, PushedHistory
from swoop.spec import FamilySpec, JoinSpec
from swoop.text.functions import TokenFunction
from swoop.text.parsing import parse_tokens
from swoop.times import FIRST_DATETIME, LAST_DATETIME, LATEST, TimeKind

BLOCK_ROWS = 1 << 14
"""Rows that go to the engine together."""

_KEYS = (T.IntegralType, T.StringType, T.BinaryType, T.BooleanType, T.DateType)
_STAY = ("newer", "older", "similarity", "overlap", "enter", "leave")
_IDS = ("newer", "older", "id", "representative")
_TIMES = ("enter", "leave", "first_seen", "last_seen")


@dataclass
class SetsAnalysis(AnalyzeResult):
    """What is known of the sets of a table: the names of its columns, and how its times are counted."""

    names: Names = field(default_factory=lambda: Names("id", "time", "tokens", None))
    kind: TimeKind = "integer"
    id_type: T.DataType = field(default_factory=T.LongType)
    token_type: pa.DataType | None = None


@dataclass
class PartitionAnalysis(SetsAnalysis):
    """What a query asks for. ``keys``: how many columns tell the partitions apart, None if the query itself makes them."""

    function: str = ""
    result: tuple[str, ...] = ()
    spec: JoinSpec | FamilySpec = field(default_factory=JoinSpec)
    keys: list[T.StructField] | None = None
    skips: bool = False


class _Partition:
    """The rows of one partition, which arrive in the order of time, and what is found in them."""

    def __init__(self, analysis: PartitionAnalysis) -> None:
        if analysis.keys is None and not _in_partition():
            raise InvalidArgument(
                "the rows of the table are not partitioned, so each task of Spark would see some of them and compare only "
                "those; for one result per tenant, write TABLE(...) PARTITION BY tenant ORDER BY time, or by => 'tenant', "
                "and for one result of all rows by => array()"
            )
        self._analysis, self._rows, self._key = analysis, _Rows(analysis), ()
        self._waiting: pa.Table | None = None  # rows of the last time, which others may still precede
        self._reasons, self._time = Reasons(), -LATEST
        made = analysis.names.made
        self._history: PushedHistory | PushedFamilies
        if isinstance(analysis.spec, JoinSpec):
            self._history = PushedHistory(analysis.spec, made, _arrow_type(analysis.id_type))
        else:
            self._history = PushedFamilies(analysis.spec, made, _arrow_type(analysis.id_type))

    def eval(self, row: Any, *arguments: Any, **options: Any) -> list[tuple[Any, ...]] | None:
        """Take a row. When there are enough of them, they arrive."""
        return self._arrive(False) if self._rows.add(row) >= BLOCK_ROWS else None

    def terminate(self) -> Iterator[tuple[Any, ...]]:
        """The end of the partition."""
        yield from self._arrive(True)
        if self._reasons.rows and not self._analysis.skips:
            where = "" if not self._key else f" of {', '.join('NULL' if value is None else str(value) for value in self._key)}"
            raise InvalidData(
                f"{self._reasons.rows} rows{where} cannot be used: {'; '.join(self._reasons.lines())}. "
                "swoop_rejected(TABLE(...), ...) shows them; "
                f"with unusable => 'skip', {self._analysis.function} leaves them out"
            )
        for batch in self._history.end():
            yield from self._told(batch)

    def _arrive(self, is_end: bool) -> list[tuple[Any, ...]]:
        """Let rows arrive whose time is over, in the order of time, id, tokens and stream."""
        if self._rows.first is not None:
            self._key = self._key_of(self._rows.first)
        sets = self._rows.take()
        reasons = self._rows.why_unusable(sets)
        self._reasons.add(reason for reason in reasons.to_pylist() if reason is not None)
        sets = sets.filter(reasons.is_null())
        if self._waiting is not None:
            sets = pa.concat_tables([self._waiting, sets])
        times = sets["time"].to_numpy()
        if len(times) and (times[0] < self._time or (times[1:] < times[:-1]).any()):
            raise InvalidData(
                f"the rows of a partition are not in the order of time; write ORDER BY {self._analysis.names.time}, or use "
                "by => ... in place of PARTITION BY"
            )
        over = len(times) if is_end or not len(times) else int((times < times[-1]).sum())
        self._waiting, self._time = sets.slice(over), int(times[over - 1]) if over else self._time
        ready = sets.slice(0, over).combine_chunks()
        order = find_order(times[:over], ready["id"].combine_chunks(), lambda places: _compared(ready.take(places)))
        found = []
        for batch in (ready if order is None else ready.take(pa.array(order))).combine_chunks().to_batches():
            for result in self._history.take(batch):
                found += self._told(result)
        return found

    def _key_of(self, row: Any) -> tuple[Any, ...]:
        """The values of the columns that this partition has in common."""
        keys = self._analysis.keys or ()
        found = (row[f"key{number}"] for number in range(len(keys)))
        is_text = (isinstance(key.dataType, T.StringType) for key in keys)
        return tuple(
            value.decode(errors="replace") if text and value is not None else value
            for value, text in zip(found, is_text, strict=True)
        )

    def _told(self, result: pa.RecordBatch) -> list[tuple[Any, ...]]:
        """Stays or families as rows of the result."""
        kind = {"aware": pa.timestamp("us", "UTC"), "naive": pa.timestamp("us"), "integer": pa.int64()}[self._analysis.kind]
        columns = [(result[name].cast(kind) if name in _TIMES else result[name]).to_pylist() for name in self._analysis.result]
        return [(*self._key, *row) for row in zip(*columns, strict=True)]


class TopK(_Partition):
    """``swoop_topk``: every stay of a pair in the top-k of each partition of a table, as ``topk_history`` gives it."""

    @staticmethod
    def analyze(
        sets: AnalyzeArgument,
        k: AnalyzeArgument,
        window: AnalyzeArgument,
        similarity: AnalyzeArgument | None = None,
        id: AnalyzeArgument | None = None,
        time: AnalyzeArgument | None = None,
        tokens: AnalyzeArgument | None = None,
        stream: AnalyzeArgument | None = None,
        min_similarity: AnalyzeArgument | None = None,
        max_pairs: AnalyzeArgument | None = None,
        copies: AnalyzeArgument | None = None,
        by: AnalyzeArgument | None = None,
        unusable: AnalyzeArgument | None = None,
    ) -> PartitionAnalysis:
        """Checks the arguments of a query: those of :func:`swoop.spark.topk_history` and two more; see docs/sql.md."""
        table = _table("swoop_topk", sets)
        spec = JoinSpec(
            _value("k", k, None),
            find_spark_window(_value("window", window, None)),
            _value("similarity", similarity, "jaccard"),
            two_streams=_value("stream", stream, None) is not None,
            min_similarity=_value("min_similarity", min_similarity, None),
            track_changes=True,
            max_pairs=_value("max_pairs", max_pairs, None),
            copies=_value("copies", copies, "each"),
        )
        found = _sets(table, id, time, tokens, stream, spec)
        return _partitions("swoop_topk", table, found, by, unusable, spec.in_ticks(), _STAY)


class FamiliesOfTable(_Partition):
    """``swoop_families``: the families of each partition of a table, as ``families_history`` gives them."""

    @staticmethod
    def analyze(
        sets: AnalyzeArgument,
        min_similarity: AnalyzeArgument,
        window: AnalyzeArgument,
        similarity: AnalyzeArgument | None = None,
        id: AnalyzeArgument | None = None,
        time: AnalyzeArgument | None = None,
        tokens: AnalyzeArgument | None = None,
        by: AnalyzeArgument | None = None,
        unusable: AnalyzeArgument | None = None,
    ) -> PartitionAnalysis:
        """Checks the arguments of a query: those of :func:`swoop.spark.families_history` and one more; see docs/sql.md."""
        table = _table("swoop_families", sets)
        spec = FamilySpec(
            _value("min_similarity", min_similarity, None),
            find_spark_window(_value("window", window, None)),
            _value("similarity", similarity, "jaccard"),
        )
        found = _sets(table, id, time, tokens, None, spec)
        return _partitions("swoop_families", table, found, by, unusable, spec.in_ticks(), FAMILY)


class Rejected:
    """``swoop_rejected``: the rows of a table that the others cannot use, with the reason, and the whole row as JSON."""

    @staticmethod
    def analyze(
        sets: AnalyzeArgument,
        id: AnalyzeArgument | None = None,
        time: AnalyzeArgument | None = None,
        tokens: AnalyzeArgument | None = None,
        stream: AnalyzeArgument | None = None,
    ) -> SetsAnalysis:
        """Checks the arguments of a query; see docs/sql.md."""
        found = _sets(_table("swoop_rejected", sets), id, time, tokens, stream, None)
        found.select = [
            *found.select,
            SelectedColumn("make_valid_utf8(to_json(struct(*), map('ignoreNullFields', 'false')))", "row"),
        ]
        return found

    def __init__(self, analysis: SetsAnalysis) -> None:
        self._rows = _Rows(analysis)

    def eval(self, row: Any, *arguments: Any, **options: Any) -> list[tuple[str, str]] | None:
        """Take a row. When there are enough of them, they are looked at."""
        return self.terminate() if self._rows.add(row) >= BLOCK_ROWS else None

    def terminate(self) -> list[tuple[str, str]]:
        """The rows that cannot be used, of those that were not looked at yet."""
        rows = [row["row"] for row in self._rows.rows]
        reasons = self._rows.why_unusable(self._rows.take()).to_pylist()
        return [(reason, row) for reason, row in zip(reasons, rows, strict=True) if reason is not None]


class _Rows:
    """Rows of Spark that become columns, as the query's expressions have prepared them."""

    def __init__(self, analysis: SetsAnalysis) -> None:
        self._names = analysis.names
        self._kinds = {
            "id": _arrow_type(analysis.id_type),
            "time": pa.int64(),
            "tokens": pa.large_string() if analysis.token_type is None else pa.large_list(analysis.token_type),
            **({"stream": pa.large_string()} if analysis.names.stream else {}),
        }
        self.rows: list[Any] = []

    @property
    def first(self) -> Any:
        return self.rows[0] if self.rows else None

    def add(self, row: Any) -> int:
        """Take one, and tell how many there are."""
        self.rows.append(row)
        return len(self.rows)

    def take(self) -> pa.Table:
        """What was added since the last call. Strings have come as bytes: some may not be UTF-8."""
        columns = zip(*self.rows, strict=True) if self.rows else iter([()] * len(self._kinds))
        found = {
            name: pa.array(column, _in_bytes(kind)).view(kind)
            for (name, kind), column in zip(self._kinds.items(), columns, strict=False)
        }
        self.rows = []
        return pa.table(found)

    def why_unusable(self, sets: pa.Table) -> pa.Array:
        stream = "stream" if "stream" in self._kinds else None
        return why_unusable(sets, tokens=self._names.made, stream=stream)


def _table(function: str, argument: AnalyzeArgument) -> T.StructType:
    if not argument.isTable or not isinstance(argument.dataType, T.StructType):
        raise InvalidArgument(f"the first argument of {function} must be a table: {function}(TABLE(posts), ...)")
    return argument.dataType


def _value(name: str, argument: AnalyzeArgument | None, default: Any) -> Any:
    """The value of a constant argument."""
    if argument is None:
        return default
    if not argument.isConstantExpression:
        raise InvalidArgument(f"{name} must be a constant")
    return float(argument.value) if isinstance(argument.value, Decimal) else argument.value


def _name(name: str, argument: AnalyzeArgument | None, default: str | None) -> Any:
    found = _value(name, argument, default)
    if not isinstance(found, str) and (found is not None or default is not None):
        raise InvalidType(f"{name} must be the name of a column, not {found!r:.60}")
    return found


@dataclass(frozen=True)
class _Columns:
    """What the checks of a DataFrame look at."""

    schema: T.StructType

    @property
    def columns(self) -> list[str]:
        return self.schema.names


def _sets(
    table: T.StructType,
    id: AnalyzeArgument | None,
    time: AnalyzeArgument | None,
    tokens: AnalyzeArgument | None,
    stream: AnalyzeArgument | None,
    spec: JoinSpec | FamilySpec | None,
) -> SetsAnalysis:
    """Which columns the sets of a table are made of, checked."""
    name = _name("tokens", tokens, "tokens")
    made = name if name in table.names or "(" not in name else parse_tokens(name)
    names = Names(_name("id", id, "id"), _name("time", time, "time"), made, _name("stream", stream, None))
    columns: Any = _Columns(table)
    names.check(columns)
    kind = time_kind(columns, names.time, spec.window if spec else None)
    id_type = table[names.id].dataType
    if not isinstance(id_type, T.IntegralType | T.StringType | T.BinaryType):
        raise InvalidData(
            f"column {names.id!r} for id has type {id_type.simpleString()}; ids must be integers, strings or binaries: cast it"
        )
    select = [
        SelectedColumn(_bytes_of(table[names.id]), "id"),
        SelectedColumn(_ticks(names.time, kind), "time"),
        SelectedColumn(_tokens(table, names), "tokens"),
        *([SelectedColumn(f"cast(cast({_quoted(names.stream)} as string) as binary)", "stream")] if names.stream else []),
    ]
    shown = T.StructType([T.StructField("reason", T.StringType()), T.StructField("row", T.StringType())])
    token_type = None
    if not isinstance(made, TokenFunction):
        token_type = _arrow_type(table[made].dataType.elementType)  # type: ignore[attr-defined]
    return SetsAnalysis(shown, select=select, names=names, kind=kind, id_type=id_type, token_type=token_type)


def _partitions(
    function: str,
    table: T.StructType,
    found: SetsAnalysis,
    by: AnalyzeArgument | None,
    unusable: AnalyzeArgument | None,
    spec: JoinSpec | FamilySpec,
    result: tuple[str, ...],
) -> PartitionAnalysis:
    """What Spark is asked for: the partitions of a table, their order, and columns of these names as a result."""
    keys = _keys(table, by, result)
    doing = _value("unusable", unusable, "error")
    if doing not in ("error", "skip"):
        raise InvalidArgument(f"unusable must be 'error' or 'skip', not {doing!r:.60}")
    kinds: dict[str, T.DataType] = {"similarity": T.DoubleType()}
    kinds |= dict.fromkeys(_IDS, found.id_type) | dict.fromkeys(_TIMES, table[found.names.time].dataType)
    return PartitionAnalysis(
        T.StructType([*(keys or ()), *(T.StructField(name, kinds.get(name, T.LongType())) for name in result)]),
        withSinglePartition=keys == [],
        partitionBy=[PartitioningColumn(_bytes_of(key)) for key in keys or ()],
        orderBy=[] if keys is None else [OrderingColumn(_quoted(found.names.time))],
        select=[*found.select, *(SelectedColumn(_bytes_of(key), f"key{n}") for n, key in enumerate(keys or ()))],
        names=found.names,
        kind=found.kind,
        id_type=found.id_type,
        token_type=found.token_type,
        function=function,
        result=result,
        spec=spec,
        keys=keys,
        skips=doing == "skip",
    )


def _keys(table: T.StructType, by: AnalyzeArgument | None, result: tuple[str, ...]) -> list[T.StructField] | None:
    """The columns that tell partitions apart."""
    value = _value("by", by, None)
    if value is None:
        return None
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InvalidType(f"by must be the name of a column or an array of names, not {names!r:.60}")
    found: list[T.StructField] = []
    for name in names:
        if name not in table.names:
            raise InvalidData(f"there is no column {name!r} for by; columns: {', '.join(map(repr, table.names))}")
        key = table[name]
        if not isinstance(key.dataType, _KEYS):
            raise InvalidData(
                f"column {name!r} for by has type {key.dataType.simpleString()}; keys must be integers, strings, binaries, "
                "booleans or dates: cast it"
            )
        if name.lower() in result or key in found:
            raise InvalidData(f"column {name!r} for by would be twice in the result; give it another name")
        found.append(key)
    return found


def _in_partition() -> bool:
    """Whether the query has a PARTITION BY. Spark tells a function only what is in a partition, never that there is one; but it
    wraps the function then, so the wrapper is among those who called.
    """
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        if type(frame.f_locals.get("self")).__name__ == "UDTFWithPartitions":
            return True
    return False


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _bytes_of(column: T.StructField) -> str:
    """A column as it is, but strings as bytes: what is not UTF-8 stays what it is on its way to Python."""
    is_text = isinstance(column.dataType, T.StringType)
    return f"cast({_quoted(column.name)} as binary)" if is_text else _quoted(column.name)


def _ticks(time: str, kind: TimeKind) -> str:
    """Times as integers, with one that is out of range for all that are."""
    found = {
        "aware": f"unix_micros({_quoted(time)})",
        "naive": f"timestampdiff(MICROSECOND, TIMESTAMP_NTZ '1970-01-01 00:00:00', {_quoted(time)})",
        "integer": f"cast({_quoted(time)} as bigint)",
    }[kind]
    first, last = (-LATEST + 1, LATEST - 1) if kind == "integer" else (FIRST_DATETIME, LAST_DATETIME)
    return f"CASE WHEN {found} BETWEEN {first}L AND {last}L THEN {found} WHEN {_quoted(time)} IS NOT NULL THEN {LATEST}L END"


def _tokens(table: T.StructType, names: Names) -> str:
    """The tokens of a row, or the text that is to become tokens; null where all its columns are."""
    if not isinstance(names.tokens, TokenFunction):
        plain = plain_type(table[names.tokens].dataType).replace("string", "binary")
        return f"cast({_quoted(names.tokens)} as {plain})"
    texts = [f"cast({_quoted(name)} as string)" for name in names.tokens.columns]
    if len(texts) == 1:
        return f"cast({texts[0]} as binary)"
    is_text = " OR ".join(f"{text} IS NOT NULL" for text in texts)
    return f"CASE WHEN {is_text} THEN cast(concat_ws(' ', {', '.join(texts)}) as binary) END"


def _arrow_type(found: T.DataType) -> pa.DataType:
    if isinstance(found, T.StringType):
        return pa.large_string()
    return pa.large_binary() if isinstance(found, T.BinaryType) else pa.int64()


def _in_bytes(kind: pa.DataType) -> pa.DataType:
    """The type in which values come whose strings are bytes."""
    if pa.types.is_large_list(kind):
        return pa.large_list(_in_bytes(kind.value_type))
    return pa.large_binary() if pa.types.is_large_string(kind) else kind


def _compared(sets: pa.Table) -> list[Any]:
    """What sets are ordered by that have their time and id in common."""
    names = [name for name in ("tokens", "stream") if name in sets.column_names]
    return list(zip(*(sets[name].to_pylist() for name in names), strict=True))
