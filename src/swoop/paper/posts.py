"""Posts to measure with: generated ones, real ones from a file, repeated until there are enough, and one's own."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from swoop.errors import InvalidArgument
from swoop.paper.data_sets import DataSet

TIME = pa.timestamp("us", "UTC")
KNOWN = {"arxiv_2019": "authors and title of each, of articles of 2019 on arXiv, the archive of scientific papers"}
"""What is in the files that pages of the documentation were measured with."""


def make_posts(data_set: DataSet, first_id: int = 0) -> pa.Table:
    """The sets of a data set as texts."""
    tokens = pc.binary_join_element_wise("w", pa.array(data_set.tokens).cast(pa.string()), "")
    texts = pc.binary_join(pa.ListArray.from_arrays(pa.array(data_set.offsets, pa.int32()), tokens), " ")
    ids = pa.array(np.arange(first_id, first_id + len(data_set)))
    return pa.table({"id": ids, "time": pa.array(data_set.times).cast(TIME), "text": texts})


def read_posts(path: Path, rows: int) -> pa.Table:
    """So many posts of a Parquet file with the columns ``ts`` and ``text``, again and again, each time later."""
    given = pq.read_table(path, columns=["ts", "text"])
    times = given.column("ts").cast(pa.timestamp("us")).cast(pa.int64()).to_numpy()
    span = int(times[-1] - times[0]) + 86_400_000_000
    rounds = -(-rows // len(times))
    later = np.concatenate([times + number * span for number in range(rounds)])[:rows]
    texts = pa.chunked_array([chunk for _ in range(rounds) for chunk in given.column("text").chunks]).slice(0, rows)
    return pa.table({"id": np.arange(rows), "time": pa.array(later).cast(TIME), "text": texts.combine_chunks()})


def about(path: Path) -> str:
    """What real posts are, for a report."""
    known = f": {KNOWN[path.stem]}" if path.stem in KNOWN else ""
    count = pq.read_metadata(path).num_rows
    return f"Real posts are the {count:,} texts of {path.stem}{known}. Where that is too few, they come again, each time later."


def own_posts(names: Sequence[str | os.PathLike[str]]) -> pa.Table:
    """The posts of files, read as ``swoop run`` reads them, in the order of time; what cannot be read is left out."""
    from swoop.reading.arrow import read_sets
    from swoop.reading.files import find_files
    from swoop.reading.sets import ReadingOptions, decide
    from swoop.reading.tables import count_readable, read_sample

    files = find_files([os.fspath(name) for name in names], None)
    sample = read_sample(files)
    reading = decide(ReadingOptions(), sample, None, lambda *asked: count_readable(files, sample.schema, *asked), files)
    if reading.integers or not reading.columns.text:
        raise InvalidArgument(f"{files.name} has no posts: rows with a date and a text")
    found = read_sets(files, reading, sample.schema).table.select(["time", "text"]).sort_by("time")
    return pa.table({"id": np.arange(len(found)), "time": found["time"].cast(TIME), "text": found["text"]})


def window_of(posts: pa.Table, average: int) -> dt.timedelta:
    """The duration for which a window holds about so many posts on average."""
    times = posts.column("time").cast(pa.int64()).to_numpy()
    data_set = DataSet("posts", times, np.zeros(len(times) + 1, np.int64), np.empty(0, np.int64))
    return dt.timedelta(microseconds=data_set.window_for(average))


def sets_of(name: Path, most: int) -> DataSet:
    """The first posts of a file of one's own, as sets of numbered words."""
    import swoop

    posts, words = own_posts([name]).slice(0, most), swoop.words("text")
    sets = [sorted(set(words(text) or ())) for text in posts["text"].to_pylist()]
    is_one = pa.array([bool(tokens) for tokens in sets])  # what has no words is no set to others
    posts, sets = posts.filter(is_one), [tokens for tokens in sets if tokens]
    numbers = {word: number for number, word in enumerate(dict.fromkeys(word for words in sets for word in words))}
    offsets = np.cumsum([0, *map(len, sets)])
    tokens = np.array([numbers[word] for words in sets for word in words], np.int64)
    return DataSet("posts", posts["time"].cast(pa.int64()).to_numpy(), offsets, tokens)
