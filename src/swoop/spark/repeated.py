r"""Files of a stream that Spark would read several times.

Spark's source lists the files of a folder, and hands the names of a batch to Spark's reader. There, a name with one of
``[ ] { } * ? \`` looks like a pattern, and for each such name, the reader takes all files of the batch once more: where there
are n such names, those files come n times, and others n + 1 times (Spark 3.5 to 4.3; SPARK-58518).

When a batch can be seen, Spark has planned it, and its log has the files. So whoever knows how rows were read reads these files
again, by names that are no patterns (:func:`read_once`). With cells that would be too late, since they come before; but such a
stream can begin with :func:`load_once`. All others stop before a row is counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from swoop.addresses import GLOB, spark_address, spark_pattern
from swoop.errors import InvalidData
from swoop.spark.hadoop import qualified

RECURSIVE = "recursiveFileLookup"

ReadAgain = Callable[[SparkSession, list[str]], DataFrame]
"""The rows of some files, as the stream has them of a batch."""


def read_once(frame: DataFrame, query: Any, read_again: ReadAgain | None) -> DataFrame:
    """The rows of the batch at hand, each once."""
    files = repeated_files(query)
    if not files:
        return frame
    if read_again is not None:
        # with the result of its plan, as other batches come
        return read_again(frame.sparkSession, files).localCheckpoint(eager=False)
    strange = next(filter(GLOB.search, files), files[0])
    raise InvalidData(
        f"Spark would read files of this batch several times: it takes {strange!r} for a pattern, since it has one of the "
        "characters [ ] { } * ? \\. No row of the batch is counted. To go on, start the stream again with the same checkpoint, "
        f'but with spark.readStream.option("{RECURSIVE}", True): then Spark does not make this mistake, and reads the files '
        "of subfolders too"
    )


def repeated_files(query: Any) -> list[str]:
    """All files of the batch that a query is at, if some of them would be read several times; else none."""
    found = []
    for leaf in _leaves(query._jsq.streamingQuery().lastExecution()):
        if _kind(leaf) != "LogicalRelation" or not leaf.isStreaming() or _kind(leaf.relation()) != "HadoopFsRelation":
            continue
        location = leaf.relation().location()
        if _kind(location) != "InMemoryFileIndex":
            continue
        files = location.allFiles()
        different = files.distinct()
        if different.size() < files.size():
            found += [str(different.apply(number).getPath().toString()) for number in range(different.size())]
    return found


def load_once(reader: Any, folder: str) -> DataFrame:
    """The rows of a folder as a stream, each once. The price is a look at the name of its file for each row.

    With ``recursiveFileLookup``, Spark takes the files that it has found, not their names, and those of subfolders too. These
    are left out, as Spark does by itself. Where the names of subfolders hold a column, such as ``day=2024-05-01``, they are
    read, and there Spark makes no mistake.
    """
    rows: DataFrame = reader.load(spark_pattern(folder))
    if not hasattr(rows, "_jdf") or _has_columns_of_folders(rows) or re.search("{[^}]*/", folder):
        return rows  # the last is a pattern of no certain depth, which is left to :func:`read_once`
    rows = reader.option(RECURSIVE, True).load(spark_pattern(folder))
    depth = re.sub("^[^:/]*:/*", "", qualified(rows.sparkSession, spark_address(folder))).rstrip("/").count("/") + 1
    is_below = rf"^[^:/]*:/*([^/]+/){{{depth}}}(.*/)?[^/=]+/[^/]*$"
    return rows.where(~rows.metadataColumn("_metadata")["file_path"].rlike(is_below))


def _has_columns_of_folders(rows: DataFrame) -> bool:
    (source,) = _leaves(rows._jdf.queryExecution())
    return not source.dataSource().sourceInfo().partitionColumns().isEmpty()


def _leaves(execution: Any) -> list[Any]:
    found = execution.analyzed().collectLeaves()
    return [found.apply(place) for place in range(found.length())]


def _kind(thing: Any) -> str:
    return str(thing.getClass().getSimpleName())
