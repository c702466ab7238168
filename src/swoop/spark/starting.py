"""How live streams are started: checkpoint, outputs, Spark's query and the handle, whatever the stream finds."""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Literal, TypeVar

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from swoop.addresses import spark_address
from swoop.errors import InvalidArgument, InvalidData, InvalidFile
from swoop.live.alerts import AlertOutput
from swoop.live.checkpoint import Checkpoint
from swoop.live.grid import Grid
from swoop.live.outputs import MemoryOutput, Outputs, Owner, claim, find_output, unclaim
from swoop.live.pieces import Backlog
from swoop.live.resumable import ResumableStream, log
from swoop.live.stream_spec import StreamSpec
from swoop.spark.cells import Layout, cell_results, finish_cells
from swoop.spark.fetching import PIECE_ROWS, fetch
from swoop.spark.hadoop import check_state_address, open_folder, qualified, state_address
from swoop.spark.handle import LiveHandle
from swoop.spark.repeated import ReadAgain
from swoop.spark.rows import (
    Names,
    id_of,
    key_name,
    key_of,
    record_of,
    row_in_json,
    stream_of,
    ticks,
    time_kind,
    tokens_of,
    why_unusable,
)
from swoop.spark.sessions import STATE_SETTINGS
from swoop.spark.sizing import Machines, choose_cells
from swoop.spark.topics import KafkaOutput
from swoop.spark.versions import arrow_schema, renaming_class
from swoop.spec import FamilySpec, JoinSpec
from swoop.text.functions import TokenFunction
from swoop.times import WindowSpec, find_lateness, in_seconds

Handle = TypeVar("Handle", bound=LiveHandle[Any])


def check_driver(sets: DataFrame, what: str, instead: str) -> None:
    """Refuse where Spark's driver is in another process."""
    if not hasattr(sets, "_jdf"):
        raise InvalidArgument(
            f"{what} needs its engine beside Spark's driver, which Spark Connect has elsewhere; use {instead}, which gives the "
            "same changes as a streaming DataFrame"
        )


def check_sets(sets: DataFrame, names: Names, history: str) -> None:
    """Refuse what is no stream of sets; ``history`` is what to use for rows that are at rest."""
    if not sets.isStreaming:
        raise InvalidArgument(f"sets is not a stream; make it with spark.readStream, or use {history}")
    names.check(sets)
    ids = sets.schema[names.id].dataType
    if not isinstance(ids, T.StringType | T.BinaryType | T.IntegralType):
        raise InvalidData(
            f"column {names.id!r} for id has type {ids.simpleString()}; ids must be integers, strings or binaries: cast it"
        )


def make_spec(
    sets: DataFrame,
    names: Names,
    join: JoinSpec | FamilySpec,
    lateness: Any,
    max_ahead: Any,
    cells: int | Literal["auto"],
    rate: float | None,
) -> StreamSpec:
    """What a stream is asked for, with the types of its columns."""
    window, tokens = join.window, names.tokens
    grid = Grid.of(_chosen(sets.sparkSession, window, rate) if cells == "auto" else cells)
    return StreamSpec(
        join,
        lateness=find_lateness(lateness, window),
        max_ahead=None if max_ahead is None else find_lateness(max_ahead, window, "max_ahead"),
        time_kind=time_kind(sets, names.time, window),
        id_type=sets.schema[names.id].dataType.simpleString(),
        token_type=str(tokens) if isinstance(tokens, TokenFunction) else sets.schema[tokens].dataType.simpleString(),
        tokens=names.made,
        cells=len(grid.cells),
        by=names.by,
        keep=tuple((field.name, field.type) for field in arrow_schema(T.StructType([sets.schema[n] for n in names.keep]))),
    )


def _chosen(spark: SparkSession, window: WindowSpec, rate: float | None) -> int:
    if isinstance(rate, bool) or not isinstance(rate, int | float) or rate <= 0:
        raise InvalidArgument(f"cells='auto' needs rate=..., the sets per second that you expect; got {rate!r}")
    found = choose_cells(
        rate, in_seconds(window.duration) if window.kind == "duration" else window.duration, Machines.of(spark)
    )
    log.info("cells='auto' has chosen %d cells", found)
    return found


def _key_bytes(sets: DataFrame, name: str) -> Column:
    """A column of a key as bytes. Numbers would become fractions on their way through pandas if one of them is null."""
    return key_of(sets, name).cast("string").cast("binary")


def prepared(sets: DataFrame, names: Names, spec: StreamSpec) -> DataFrame:
    """The columns that a live stream takes: of a row that can be used, the set; of others, why not, and the row in JSON."""
    columns, kind, kept = sets.columns, spec.time_kind, names.keep
    sets, names = names.plain(sets)
    why = why_unusable(sets, names, kind)
    found = {
        "id": id_of(sets, names),
        "time": ticks(names.time, kind),
        "tokens": tokens_of(sets, names),
        "stream": stream_of(names),
        **({"text": F.col(names.text).cast("string")} if names.text else {}),
        **({"record": record_of(sets, names, kept)} if kept else {}),
    }
    return sets.select(
        *(_key_bytes(sets, name).alias(key_name(place)) for place, name in enumerate(names.by)),
        *(F.when(why.isNull(), column).alias(name) for name, column in found.items()),
        why.alias("reason"),
        F.when(why.isNotNull(), row_in_json(sets, columns)).alias("row"),
    )


@dataclass(frozen=True)
class StartableStream(Generic[Handle]):
    """A live stream that can be started."""

    _rows: DataFrame
    _spec: StreamSpec
    _names: Names
    _read_again: ReadAgain | None = None
    """How the rows of some files are read, as they were given, before they were prepared."""
    _here: bool = False
    """Whether a temporary checkpoint is on this machine, whatever Spark's default file system is."""

    def start(
        self,
        checkpoint: str | os.PathLike[str] | None = None,
        *,
        changes: Any = (),
        late: Any = None,
        rejected: Any = None,
        trigger: str | None = None,
        available_now: bool = False,
        flush: bool = True,
        idle: Any = None,
        piece_rows: int = PIECE_ROWS,
        metrics_port: int | None = None,
        name: str | None = None,
    ) -> Handle:
        """Start the stream, or resume it where a run with the same checkpoint stopped, however it stopped.

        Parameters
        ----------
        checkpoint
            A folder for Spark's progress and the rows of the window. None: a temporary one, deleted at the end.
        changes, late, rejected
            Where changes, late rows and rejected rows go: a function of the results and the number of their batch,
            a folder for Parquet files (its path, or :func:`swoop.spark.folder` with settings), ``"kafka://host:port/topic"``
            (or :func:`swoop.spark.topic` with options), ``"memory"`` (for ``changes()`` of the handle), for changes also
            :func:`swoop.spark.alert`, or a list of several of these. By default late and rejected rows go to the folders
            ``swoop/late`` and ``swoop/rejected`` of the checkpoint.
            A folder belongs to one output of one stream; that of another one is refused.
        trigger
            The interval between batches, such as ``"500 milliseconds"``; by default the next starts when the last is done.
        available_now
            Process the available data, let the waiting rows enter as well, and stop.
        flush
            Whether waiting rows enter when ``available_now`` has processed everything. With False they wait for the next run,
            so an hourly run gives the same changes as one that never stops.
        idle
            After this long without rows, such as ``"30 seconds"``, time advances by the clock of the driver: results expire,
            and waiting rows enter. Rows that arrive after the silence may then be late. None: time advances only with rows.
        piece_rows
            About how many rows of a batch are in the driver at a time; those of a larger batch wait on Spark's disks. Not used
            with cells, whose rows do not pass through the driver.
        metrics_port
            Serve metrics for Prometheus on this port of the loopback interface; 0 picks a free one.
        name
            The name of the query in Spark's own pages.
        """
        if trigger is not None and available_now:
            raise InvalidArgument(f"trigger={trigger!r} and available_now=True are mutually exclusive")
        if isinstance(piece_rows, bool) or not isinstance(piece_rows, int) or piece_rows < 1:
            raise InvalidArgument(f"piece_rows must be an integer of at least 1, not {piece_rows!r}")
        silence = self._silence(idle, available_now)
        spark = self._rows.sparkSession
        place = temporary_path(spark, self._here) if checkpoint is None else checkpoint
        folder, where = qualified(spark, place), open_folder(spark, place)
        temporary = where if checkpoint is None else None
        storage = Checkpoint(where, self._spec.lasting())
        outputs: dict[str, Outputs] = {}
        try:
            storage.hold()
            for holds, given in (("changes", changes), ("late", late), ("rejected", rejected)):
                owner = Owner(
                    storage.run,
                    holds,
                    "" if temporary else folder,
                    storage.check,
                    storage.fence,
                    lambda path: open_folder(spark, path),
                )
                outputs[holds] = find_output(
                    f"{folder}/swoop/{holds}" if given is None else given,
                    owner,
                    lambda to: KafkaOutput(to, spark, storage.run),
                    lambda to: AlertOutput(to, storage.beside("alerts"), storage.run, self._spec.join, storage.check),
                )
            claim(list(outputs.values()), where.path, storage.unmarked, storage.last_step)
            to = outputs["changes"]
            live, rows, query_settings = self._live(folder, storage, outputs)
            files = [files for output in outputs.values() for files in output.folders]
            memory = [output for output in to.outputs if isinstance(output, MemoryOutput)]
            fetch = partial(self._fetched, piece_rows=piece_rows)
            handle = self._handle(live, storage, memory, files, to.alerts, temporary, fetch, self._prepared_again())
            writer = rows.writeStream.foreachBatch(handle._process_batch).option("checkpointLocation", folder)
            if name is not None:
                writer = writer.queryName(name)
            if available_now:
                writer = writer.trigger(availableNow=True)
            elif trigger is not None:
                writer = writer.trigger(processingTime=trigger)
            with settings(spark, query_settings):
                query = writer.start()
            try:
                handle._begin(query, ends=available_now and flush, metrics_port=metrics_port, silence=silence)
            except BaseException:
                query.stop()
                raise
        except BaseException:
            with suppress(OSError, InvalidFile):  # what went wrong first is what is told
                unclaim(list(outputs.values()))
                storage.abandon()
            with suppress(OSError):
                storage.release()
            if temporary is not None:
                with suppress(OSError):
                    temporary.remove()
            raise
        return handle

    def _silence(self, idle: Any, available_now: bool) -> float | None:
        """The seconds without rows after which time moves on by the clock."""
        if idle is None:
            return None
        if self._spec.join.window.kind != "duration":
            raise InvalidArgument(
                f"idle={idle!r} needs times that a clock can follow, but here times are integers; leave it out"
            )
        if self._spec.cells > 1:
            raise InvalidArgument(f"idle={idle!r} is not possible with cells, which learn the time from rows; use cells=1")
        if available_now:
            raise InvalidArgument(f"idle={idle!r} and available_now=True are mutually exclusive")
        silence = in_seconds(find_lateness(idle, self._spec.join.window, "idle"))
        if silence < 1:
            raise InvalidArgument(f"idle must be at least one second, not {idle!r}")
        return silence

    def _prepared_again(self) -> ReadAgain | None:
        """The rows of files that are read again. With cells, they would come too late."""
        read_again = self._read_again
        if read_again is None or self._spec.cells > 1:
            return None
        return lambda spark, files: prepared(read_again(spark, files), self._names, self._spec)

    def _fetched(self, frame: DataFrame, piece_rows: int) -> pa.Table | Backlog:
        """What the live stream takes of a batch."""
        return fetch(frame, piece_rows) if self._spec.cells == 1 else frame.toArrow()

    def _live(self, folder: str, checkpoint: Checkpoint, outputs: dict[str, Any]) -> tuple[Any, DataFrame, dict[str, str]]:
        """The live stream, the rows that it takes, and the settings that Spark needs to bring them."""
        spec = self._spec
        if spec.cells == 1:
            return self._make_live(checkpoint, outputs, None), self._rows, _local_settings(folder)
        spark = self._rows.sparkSession
        check_state_address(spark, folder)
        layout = Layout.of(spark, Grid.of(spec.cells))

        def finish() -> pa.Table:
            few = {"spark.sql.execution.arrow.maxRecordsPerBatch": "16"}  # chunks, and Arrow takes 2 GiB
            with settings(spark, few), state_address(spark, folder) as address:
                return finish_cells(spark, address, layout, spec)

        live = self._make_live(checkpoint, outputs, finish)
        rows = cell_results(self._rows, layout, spec, f"{checkpoint.run}/{uuid.uuid4().hex}", live.ended_at)
        return live, rows, {**STATE_SETTINGS, "spark.sql.shuffle.partitions": str(layout.partitions)}

    def _make_live(
        self, checkpoint: Checkpoint, outputs: dict[str, Any], finish_cells: Callable[[], pa.Table] | None
    ) -> ResumableStream[Any, Any]:
        """The live stream, with cells if there is what finishes them."""
        raise NotImplementedError

    def _handle(self, *arguments: Any) -> Handle:
        """The handle of the live stream, with the rest of its arguments."""
        raise NotImplementedError


@contextmanager
def settings(spark: SparkSession, values: dict[str, str]) -> Iterator[None]:
    """Other settings of a session for a moment; a query keeps those with which it is started."""
    before: dict[str, str | None] = {name: spark.conf.get(name, None) for name in values}
    try:
        for name, value in values.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, old in before.items():
            if old is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, old)


def _local_settings(folder: str) -> dict[str, str]:
    """How Spark keeps the checkpoint on a disk of this machine.

    By default it asks about links before it renames a file, which Hadoop does by a program: about 25 processes in each batch.
    Elsewhere the default stays, and so it does with cells: their state has files that are replaced when a batch is run again,
    and whoever dies then would leave the checksum of the former one.
    """
    return {"spark.sql.streaming.checkpointFileManagerClass": renaming_class()} if folder.startswith("file:") else {}


def temporary_path(spark: SparkSession, here: bool) -> str:
    """A path that nobody else has, on this machine or on Spark's default file system."""
    path = tempfile.mkdtemp(prefix="swoop-checkpoint-")
    if here:
        return spark_address(path)
    if open_folder(spark, path).path != path:
        os.rmdir(path)
    return path
