"""Rejected rows with all of their columns, as they stand in their files: these are read once more, up to the last such row."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from swoop.errors import InvalidFile
from swoop.messages import to_json
from swoop.readable import readable, rows_of
from swoop.reading import json_lines
from swoop.reading.files import Files, damaged
from swoop.reading.tables import Batch, csv_batches, dialect_of, elements_of, open_parquet, open_utf8, rows_of_parquet

Tell = Callable[[np.ndarray], Iterator[str]]
"""Tells some of the rows of a part of a file, by their places in it."""

Part = tuple[int, Tell]
"""How many rows it has, and what tells them."""


def whole_rows(files: Files, sample: pa.Schema, numbers: np.ndarray) -> Iterator[tuple[str, str]]:
    """The file of each of these rows, and the row in JSON, or the line itself if it is no row.

    Rows are numbered from 0, as :func:`swoop.reading.tables.read_batches` gives them; ``numbers`` rise.
    """
    first, done = 0, 0
    for path in files.paths:
        if done == len(numbers):
            return
        with damaged(path):
            for count, tell in _parts(path, files, sample):
                end = int(np.searchsorted(numbers, first + count))
                yield from ((os.path.abspath(path), text) for text in tell(numbers[done:end] - first))
                first, done = first + count, end
                if done == len(numbers):
                    return
    if done < len(numbers):
        raise InvalidFile(f"{files.name} has changed while it was read: some of its rows are gone; read it again")


def _parts(path: str, files: Files, sample: pa.Schema) -> Iterator[Part]:
    if files.format == "json":
        yield from _json_parts(path, files, sample.names)
    elif files.format == "csv":
        for batch in csv_batches(path, files, dialect_of(path, files).names):
            yield len(batch.rows), _of_batch(batch)
    else:
        for part in rows_of_parquet(path, open_parquet(path)):
            yield len(part), _of_batch(Batch.of(pa.Table.from_batches([part])))


def _of_batch(batch: Batch) -> Tell:
    def tell(places: np.ndarray) -> Iterator[str]:
        if len(places):
            lines = batch.lines.take(pa.array(places)).to_pylist()
            for line, row in zip(lines, rows_of(readable(batch.rows.take(pa.array(places)), "backslashreplace")), strict=True):
                yield to_json(row) if line is None else line

    return tell


def _of_list(values: Sequence[Any], tell_one: Callable[[Any, list[str]], str], names: list[str]) -> Tell:
    return lambda places: (tell_one(values[place], names) for place in places.tolist())


def _json_parts(path: str, files: Files, names: list[str]) -> Iterator[Part]:
    with open_utf8(path, files) as file:
        if files.dialect.is_array:
            values = elements_of(path, file.read())
            yield len(values), _of_list(values, _object, names)
            return
        for block in json_lines.blocks(file):
            lines = [line for line in block.split(b"\n") if line.strip()]
            yield len(lines), _of_list(lines, _line, names)


def _line(line: bytes, names: list[str]) -> str:
    """The object of a line, or the line if it has none."""
    text = line.decode("utf-8", "backslashreplace").strip()
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return text
    return _object(value, names) if isinstance(value, dict) else text


def _object(value: Any, names: list[str]) -> str:
    """An object with all columns that there are, and what else it has."""
    whole = {**dict.fromkeys(names), **value} if isinstance(value, dict) else value
    text = to_json(whole)
    return to_json(whole, ascii=True) if json_lines.is_half(text) else text
