"""Reading batches: tables and dicts of columns become flat arrays, or an error that names the column and the row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from swoop.engine.tokens import Texts, Tokens
from swoop.errors import InvalidData, InvalidTime, InvalidType, SwoopError
from swoop.join.mixtures import refuse_mixture, refuse_mixtures
from swoop.join.sets import flatten, read_set
from swoop.similarity import MAX_SET_SIZE
from swoop.text.blocks import Block
from swoop.text.columns import make_tokens, text_sizes
from swoop.text.functions import TokenFunction
from swoop.times import LATEST, Clock, TimeKind

Columns = Mapping[str, Any]

LISTS = (
    pa.types.is_list,
    pa.types.is_large_list,
    pa.types.is_fixed_size_list,
    pa.types.is_list_view,
    pa.types.is_large_list_view,
)
STRINGS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)


SMALL = 2**31 - 1  # bytes that Arrow's strings and lists with 32-bit offsets can hold


def is_text(kind: pa.DataType) -> bool:
    """Whether a column of rows that are kept has texts; views never are."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def large_type(kind: pa.DataType) -> pa.DataType:
    """The same type with 64-bit offsets."""
    if pa.types.is_string(kind):
        return pa.large_string()
    if pa.types.is_binary(kind):
        return pa.large_binary()
    if pa.types.is_list(kind):
        return pa.large_list(kind.value_field.with_type(large_type(kind.value_type)))
    return kind


def read_table(data: Any) -> Columns:
    """The columns of a batch by name."""
    if isinstance(data, pa.Table | pa.RecordBatch):
        table = data
    elif isinstance(data, Mapping):
        return data
    elif hasattr(data, "__arrow_c_stream__"):
        try:
            table = pa.table(data)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
            raise InvalidData(
                f"the {type(data).__name__} cannot be read as an Arrow table: {error}. "
                "A column of tokens must hold lists of one type"
            ) from error
        if hasattr(data, "iloc"):  # a data frame of pandas
            refuse_mixtures(data, table)
    else:
        raise InvalidType(
            f"a batch must be an Arrow table, a pandas or Polars data frame, or a dict of columns, not {type(data).__name__}"
        )
    return {name: table.column(name) for name in table.column_names}


def how_to_name(argument: str) -> str:
    """What to do about a column that is not there, or more than once."""
    if argument == "id":
        return "Name it with id=..., or, where rows have no ids, add a column with one for each, such as row numbers"
    return f"Name it with {argument}=..."


def find_column(columns: Columns, name: Any, argument: str) -> Any:
    if name not in columns:
        available = ", ".join(map(repr, columns)) or "none"
        raise InvalidData(f"there is no column {name!r} for {argument}; columns: {available}. {how_to_name(argument)}")
    return columns[name]


def as_array(column: Any, name: str, what: str) -> pa.Array:
    """The column as one Arrow array."""
    if isinstance(column, pa.ChunkedArray):
        if column.num_chunks == 1:
            return column.chunk(0)
        return (column.cast(large_type(column.type)) if column.nbytes > SMALL else column).combine_chunks()
    if isinstance(column, pa.Array):
        return column
    try:
        if hasattr(column, "__arrow_c_stream__"):
            return as_array(pa.chunked_array(column), name, what)
        is_python = not isinstance(column, np.ndarray) and not hasattr(column, "__arrow_array__")
        values = list(column) if is_python else column
        array = pa.array(values)
        if is_python or getattr(column, "dtype", None) == np.dtype(object):
            refuse_mixture(values, array.type, name)
        return array
    except (pa.ArrowTypeError, TypeError, OverflowError, ValueError) as error:
        raise InvalidData(f"column {name!r} cannot be read as {what}: {error}") from error


def as_chunks(column: Any, name: str, what: str) -> pa.ChunkedArray:
    """The column in chunks, as it was given, of a type that Arrow can take rows from and compare: no dictionary and no view."""
    if not isinstance(column, pa.ChunkedArray):
        column = pa.chunked_array([as_array(column, name, what)])
    kind = _plain_type(column.type)
    if kind == column.type:
        return column
    if pa.types.is_dictionary(column.type):
        return pa.chunked_array([without_dictionary(part).cast(kind) for part in column.chunks], kind)
    try:
        return column.cast(kind)
    except pa.ArrowNotImplementedError:  # a dictionary of views within lists
        return column


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return _plain_type(kind.value_type)
    if pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_binary_view(kind):
        return pa.large_binary()
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        inner = _plain_type(kind.value_type)
        return kind if inner == kind.value_type else pa.large_list(inner)
    return kind  # also a view of lists: Arrow takes rows from it, and casts it wrongly


def without_dictionary(array: pa.Array) -> pa.Array:
    """Values that are given by numbers in a dictionary, as such. Arrow takes no values from a dictionary of views."""
    if not pa.types.is_dictionary(array.type):
        return array
    values = array.dictionary
    if pa.types.is_string_view(values.type) or pa.types.is_binary_view(values.type):
        values = values.cast(pa.large_string() if pa.types.is_string_view(values.type) else pa.large_binary())
    return values.take(array.indices)


def take_rows(column: pa.ChunkedArray, places: np.ndarray) -> pa.Array:
    """Rows at some places of a column, chunk by chunk. Arrow may make one array of the whole column first, for each call."""
    starts = np.cumsum([0, *map(len, column.chunks)])
    number = np.searchsorted(starts, places, side="right") - 1
    by_chunk = np.argsort(number, kind="stable")
    groups = np.split(by_chunk, np.flatnonzero(np.diff(number[by_chunk])) + 1) if len(places) else []
    parts = [column.chunk(n).take(pa.array(places[group] - starts[n])) for group in groups for n in (int(number[group[0]]),)]
    back = np.empty(len(places), np.int64)
    back[by_chunk] = np.arange(len(places))
    return as_array(pa.chunked_array(parts, column.type), "", "").take(pa.array(back))


def check_lengths(lengths: Mapping[str, int]) -> int:
    if len(set(lengths.values())) > 1:
        raise InvalidData("columns differ in length: " + ", ".join(f"{name!r} has {n} rows" for name, n in lengths.items()))
    return next(iter(lengths.values()))


def _refuse_row(name: str, row: int, why: str) -> InvalidData:
    return InvalidData(f"column {name!r}, row {row}: {why}; no rows were inserted")


def _refuse_nulls(array: pa.Array, name: str, why: str) -> None:
    if array.null_count:
        raise _refuse_row(name, int(np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))[0]), why)


def read_sets(columns: Columns, tokens: str | TokenFunction) -> tuple[Iterable[Block], dict[str, int]]:
    """The sets of a batch in blocks of rows, and the number of rows by the name of a column."""
    check_token_argument(tokens)
    if isinstance(tokens, TokenFunction):
        texts = read_texts(columns, tokens)
        return make_tokens(texts, tokens), {tokens.columns[0]: len(texts[0])}
    offsets, column = read_tokens(find_column(columns, tokens, "tokens"), tokens)
    return [Block(0, len(offsets) - 1, offsets, column)], {tokens: len(offsets) - 1}


def check_token_argument(tokens: object) -> None:
    """Refuse what is neither the name of a column nor a token function."""
    if not isinstance(tokens, str | TokenFunction):
        raise InvalidType(f"tokens must be the name of a column or a token function such as words('text'), not {tokens!r:.60}")


def read_tokens(column: Any, name: str) -> tuple[np.ndarray, Tokens]:
    """Offsets and tokens of the sets of a column."""
    if isinstance(column, Sequence) and not isinstance(column, str | bytes):
        return _read_python_sets(column, name)
    array = as_array(column, name, "lists of tokens")
    _refuse_nulls(array, name, "tokens is null")
    if not any(is_list(array.type) for is_list in LISTS):
        if isinstance(column, np.ndarray) and column.dtype == object:
            return _read_python_sets(list(column), name)
        raise InvalidData(f"column {name!r} has type {array.type}; tokens must be lists of strings, binary values or integers")
    sizes = pc.list_value_length(array).to_numpy()
    if sizes.size and sizes.max() > MAX_SET_SIZE:
        row = int(sizes.argmax())
        raise _refuse_row(name, row, f"the set has {sizes[row]} tokens; the maximum is {MAX_SET_SIZE}")
    offsets = np.zeros(len(array) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    values = array.flatten()
    if values.null_count:
        place = int(np.flatnonzero(values.is_null().to_numpy(zero_copy_only=False))[0])
        raise _refuse_row(name, int(np.searchsorted(offsets, place, side="right")) - 1, "a token is null")
    return offsets, _read_values(values, name)


def _read_python_sets(column: Sequence[Any], name: str) -> tuple[np.ndarray, Tokens]:
    sets = []
    for row, tokens in enumerate(column):
        try:
            sets.append(read_set(tokens))
        except SwoopError as error:
            raise _refuse_row(name, row, str(error)) from error
    return flatten(sets)


def _read_values(values: pa.Array, name: str) -> Tokens:
    values = without_dictionary(values)
    kind = values.type
    if pa.types.is_integer(kind):
        try:
            return Tokens(integers=values.cast(pa.int64()).to_numpy())
        except pa.ArrowInvalid as error:
            raise InvalidData(f"column {name!r} has tokens that do not fit into 64 bits: {error}") from error
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return Tokens(strings=_read_texts(values.cast(pa.large_string()), pa.large_binary()))
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return Tokens(byte_strings=_read_texts(values.cast(pa.large_binary()), pa.large_binary()))
    if pa.types.is_null(kind):
        return Tokens()
    raise InvalidData(f"column {name!r} has tokens of type {kind}; tokens must be strings, binary values or integers")


def _read_texts(values: pa.Array, kind: pa.DataType) -> Texts:
    values = values.cast(kind)
    _, ends, data = values.buffers()
    ends = np.frombuffer(ends, np.int64)[values.offset : values.offset + len(values) + 1] if ends else np.zeros(1, np.int64)
    bytes_ = np.frombuffer(data, np.uint8) if data is not None and data.size else np.empty(0, np.uint8)
    return Texts(bytes_[ends[0] : ends[-1]], ends - ends[0])


def read_texts(columns: Columns, function: TokenFunction) -> list[pa.Array]:
    """The columns that a token function reads. What cannot be used is refused before anything arrives."""
    texts = [_read_text(find_column(columns, name, "tokens"), name) for name in function.columns]
    check_lengths(dict(zip(function.columns, map(len, texts), strict=True)))
    names = ", ".join(function.columns)
    is_missing = np.logical_and.reduce([text.is_null().to_numpy(zero_copy_only=False) for text in texts])
    if is_missing.any():
        raise _refuse_row(names, int(is_missing.argmax()), "there is no text, but null")
    for row in np.flatnonzero(text_sizes(texts) > MAX_SET_SIZE).tolist():
        tokens = sum(len(block.tokens) for block in make_tokens([text.slice(row, 1) for text in texts], function))
        if tokens > MAX_SET_SIZE:
            raise _refuse_row(names, row, f"the set has {tokens} tokens, and {MAX_SET_SIZE} is the most there can be")
    return texts


def _read_text(column: Any, name: str) -> pa.Array:
    array = as_array(column, name, "texts")
    array = without_dictionary(array)
    if pa.types.is_null(array.type):
        array = array.cast(pa.string())
    if not any(is_string(array.type) for is_string in STRINGS):
        raise InvalidData(f"column {name!r} has type {array.type}; words are made from strings")
    try:
        array.validate(full=True)
    except pa.ArrowInvalid as error:
        for row in range(len(array)):
            try:
                array.slice(row, 1).validate(full=True)
            except pa.ArrowInvalid:
                raise _refuse_row(name, row, "the text is not UTF-8") from error
        raise InvalidData(f"column {name!r} cannot be read: {error}") from error
    return array


def read_times(column: Any, name: str, clock: Clock) -> tuple[TimeKind, np.ndarray]:
    """Kind and ticks of a column of times, checked against the clock."""
    array = as_array(column, name, "times")
    if pa.types.is_floating(array.type):
        values = array.to_numpy(zero_copy_only=False)
        bad = np.flatnonzero(np.isnan(values))
        if bad.size:
            raise _refuse_row(name, int(bad[0]), "the time is missing (NaN)")
    _refuse_nulls(array, name, "the time is missing (null)")
    kind: TimeKind
    if pa.types.is_integer(array.type):
        kind = "integer"
        try:
            ticks = array.cast(pa.int64()).to_numpy()
        except pa.ArrowInvalid as error:
            raise InvalidData(f"column {name!r} has times that are out of range: {error}") from error
    elif pa.types.is_timestamp(array.type):
        kind = "aware" if array.type.tz else "naive"
        try:
            ticks = array.cast(pa.timestamp("us", array.type.tz)).cast(pa.int64()).to_numpy()
        except pa.ArrowInvalid as error:
            raise InvalidData(
                f"column {name!r} has times that are out of range or finer than a microsecond: {error}; round them first"
            ) from error
    elif len(array) == 0:
        return clock.kind or "none", np.empty(0, np.int64)
    else:
        raise InvalidData(f"column {name!r} has type {array.type}; times must be timestamps or integers. Convert it first")
    if len(ticks):
        try:
            clock.check_kind(kind, _python_time(array[0]))
        except InvalidTime as error:
            raise _refuse_row(name, 0, str(error)) from error
    out_of_range = np.flatnonzero(np.abs(ticks) >= LATEST)
    if out_of_range.size:
        raise _refuse_row(name, int(out_of_range[0]), "the time is out of range")
    before = np.concatenate(([clock.now if clock.now is not None else -LATEST], ticks[:-1]))[: len(ticks)]
    backwards = np.flatnonzero(ticks < before)
    if backwards.size:
        row = int(backwards[0])
        raise _refuse_row(
            name, row, f"time goes backwards, from {_format_ticks(kind, before[row])} to {_format_ticks(kind, ticks[row])}"
        )
    return kind, ticks


def _format_ticks(kind: TimeKind, ticks: np.int64) -> str:
    return str(ticks) if kind == "integer" else str(np.datetime64(int(ticks), "us"))


def _python_time(time: pa.Scalar) -> Any:
    """A time as Python has it, or as Arrow does where Python has none: beyond the year 9999."""
    try:
        return time.as_py()
    except (OverflowError, ValueError):
        return time


def read_ids(column: Any, name: str) -> list[Any]:
    """A column of ids as Python objects; null stands for the arrival number."""
    array = as_array(column, name, "ids")
    array = without_dictionary(array)
    kind = array.type
    if not (
        pa.types.is_integer(kind)
        or pa.types.is_null(kind)
        or pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_string_view(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
    ):
        raise InvalidData(f"column {name!r} has type {kind}; ids must be integers, strings or binary values")
    return array.to_pylist()  # type: ignore[no-any-return]


def read_whole_ids(column: pa.ChunkedArray, name: str) -> pa.Array:
    """A column of ids as one array, of any type that has an order."""
    ids = as_array(column, name, "ids")
    if pa.types.is_null(ids.type):
        return ids
    try:
        pc.less(ids[:0], ids[:0])
    except pa.ArrowNotImplementedError:
        raise InvalidData(
            f"column {name!r} has type {ids.type}, of which there is no order; ids must be integers or strings"
        ) from None
    return ids


def read_streams(column: Any, name: str) -> np.ndarray:
    """A column of 'left' and 'right' as 0 and 1."""
    array = as_array(column, name, "streams")
    array = without_dictionary(array)
    _refuse_nulls(array, name, "the stream is null; it must be 'left' or 'right'")
    if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type) or pa.types.is_string_view(array.type)):
        if len(array) == 0:
            return np.empty(0, np.int8)
        raise InvalidData(f"column {name!r} has type {array.type}; the stream must be 'left' or 'right'")
    sides = pc.index_in(array.cast(pa.large_string()), pa.array(["left", "right"], pa.large_string()))
    if sides.null_count:
        row = int(np.flatnonzero(sides.is_null().to_numpy(zero_copy_only=False))[0])
        raise _refuse_row(name, row, f"the stream is {array[row].as_py()!r}; it must be 'left' or 'right'")
    return np.asarray(sides.to_numpy(), np.int8)
