"""Live joins without Spark, run batch by batch: what they are given, how they die and resume, and what they should say."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import strategies as st

from swoop import oracle
from swoop.join import columns, payloads
from swoop.live import ahead, checkpoint, chunks, folders, pieces
from swoop.live.alerts import AlertOutput, AlertSettings
from swoop.live.checkpoint import Checkpoint
from swoop.live.files import FileSystem, Folder
from swoop.live.live_families import LiveFamilies
from swoop.live.live_stream import LiveStream
from swoop.live.manifest import result_files
from swoop.live.one_engine import OneEngine
from swoop.live.one_family_engine import OneFamilyEngine
from swoop.live.outputs import FolderOutput, Outputs, Owner
from swoop.live.pieces import Backlog
from swoop.live.stream_spec import StreamSpec
from swoop.oracle import Record
from swoop.spec import FamilySpec, JoinSpec
from swoop.text.functions import TokenFunction, char_ngrams, word_ngrams, words
from tests.support.histories import SIMILARITIES, reachable, thresholds
from tests.support.judge import judge

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("time", pa.int64()),
        ("tokens", pa.list_(pa.int64())),
        ("stream", pa.string()),
        ("reason", pa.string()),
        ("row", pa.string()),
    ]
)


TEXTS = SCHEMA.set(2, pa.field("tokens", pa.string()))
FUNCTIONS = [
    words("tokens"),
    words("tokens", nfc=True, emoji=True, stop_words=["the"]),
    word_ngrams("tokens", nfc=True),
    char_ngrams("tokens", n=2),
]
PARTS = ["a ", "é ", "e\u0301 ", "\u3000", "the ", "😀", "A", "b", "ab", "ΑΣ ", "İ", "👩‍💻", "www.X.org/a ", "हिन्दी ", "𐐀"]
"""Of texts: letters in several ways, white space, emoji, and what looks alike but is not."""


@dataclass(frozen=True)
class Row:
    id: int
    time: int
    tokens: tuple[int, ...] | str  # a text, if a token function makes tokens of it
    stream: str = "left"
    reason: str | None = None

    def record(self, spec: StreamSpec) -> Record:
        tokens: Any = spec.tokens(self.tokens) if isinstance(spec.tokens, TokenFunction) else self.tokens  # type: ignore[arg-type]
        return Record(tokens, self.time, self.id, self.stream if spec.two_streams else None)  # type: ignore[arg-type]


def table(rows: list[Row], spec: StreamSpec | None = None) -> pa.Table:
    schema = TEXTS if spec is not None and isinstance(spec.tokens, TokenFunction) else SCHEMA
    found = [(r.id, r.time, r.tokens, r.stream, r.reason, "{}") for r in rows]
    made = pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in found], schema)
    if spec is None or not spec.keep:
        return made
    records = [None if r.reason else {"name": f"set {r.id}", "at": r.time} for r in rows]
    return made.append_column("record", pa.array(records, pa.struct(spec.keep)))


KEEP = (("name", pa.string()), ("at", pa.int64()))
"""What is kept of rows, where something is: their ids and times, so that results tell whether it is that of the right ones."""


SPEC = StreamSpec(JoinSpec(3, 12), lateness=4, time_kind="integer")


def with_join(spec: StreamSpec, **changes: Any) -> StreamSpec:
    """The same with another join."""
    return replace(spec, join=replace(spec.pairs, **changes))


@dataclass(frozen=True)
class Run:
    """Batches, after which of them the stream ends (and goes on in a new process), and what is asked for."""

    batches: list[list[Row]]
    ends: frozenset[int]
    spec: StreamSpec = SPEC
    idles: tuple[tuple[int, ...], ...] = ()
    """For each batch, by how much time moves on after it, step by step, without rows."""

    def idles_after(self, batch: int) -> tuple[int, ...]:
        return self.idles[batch] if 0 <= batch < len(self.idles) else ()

    def options(self) -> dict[str, Any]:
        join = self.spec.pairs
        return {
            "k": join.k,
            "window": join.window.duration,
            "similarity": join.similarity,
            "two_streams": join.two_streams,
            "min_similarity": join.min_similarity,
            "copies": join.copies,
        }


def start(folder: Path, spec: StreamSpec) -> Any:
    """A live join, or live families."""
    outputs: list[Any] = [FolderOutput(str(folder / name), Owner(open=opened)) for name in ("changes", "late", "rejected")]
    kept = Checkpoint(opened(folder), spec.lasting())
    if _alerts:
        outputs[0] = Outputs([outputs[0], alerts_of(folder, spec, _alerts[-1])])
    if isinstance(spec.join, FamilySpec):
        return LiveFamilies(spec, kept, OneFamilyEngine(spec, kept), *outputs)
    return LiveStream(spec, kept, OneEngine(spec, kept), *outputs)


def opened(path: str | Path) -> Folder:
    """A folder on the disk, or on the store that :func:`on_store` has put in its place."""
    return Folder(str(path), _store[-1]) if _store else Folder(path)


def alerts_of(folder: Path, spec: StreamSpec, settings: AlertSettings) -> AlertOutput:
    """The alerts of a live join, or of live families."""
    return AlertOutput(settings, opened(folder).inner("swoop").inner("alerts"), "run", spec.join)


_store: list[FileSystem] = []
_alerts: list[AlertSettings] = []


def alerting(settings: AlertSettings) -> AbstractContextManager[None]:
    """Streams have alerts. Nobody delivers them by himself."""
    return _last_of(_alerts, settings)


def on_store(store: FileSystem) -> AbstractContextManager[None]:
    """Streams have their files on a store."""
    return _last_of(_store, store)


@contextmanager
def _last_of(many: list[Any], one: Any) -> Iterator[None]:
    many.append(one)
    try:
        yield
    finally:
        many.pop()


def families(spec: StreamSpec, min_similarity: float) -> StreamSpec:
    """The same, but for families."""
    return replace(spec, join=FamilySpec(min_similarity, spec.join.window, spec.join.similarity))


def found(live: Any) -> list[Any]:
    """What a live stream has found."""
    return list(live.result.families() if isinstance(live, LiveFamilies) else live.topk)


def idle(live: Any, run: Run) -> None:
    """Let time move on as it should after the last batch, as far as it has not been done."""
    for passed in run.idles_after(live._state.batch)[live._state.idle :]:
        live.advance_clock(passed)


def any_way(rows: list[Row], spec: StreamSpec, rng: random.Random) -> pa.Table | Backlog:
    """The rows of a batch in another order, at once or in pieces."""
    rows = rng.sample(rows, len(rows))
    if rng.random() < 0.5:
        return table(rows, spec)
    times = sorted(row.time for row in rows if row.reason is None)
    cuts = sorted(rng.choices(times, k=rng.randrange(4))) if times else []
    pieces: list[list[Row]] = [[] for _ in range(len(cuts) + 1)]
    for row in rows:
        piece = sum(cut <= row.time for cut in cuts) if row.reason is None else rng.randrange(len(pieces))
        pieces[piece].append(row)
    return Backlog(np.array(times, np.int64), iter([table(piece, spec) for piece in pieces]))


class Killed(BaseException):
    pass


def run(
    folder: Path,
    run: Run,
    commits: Callable[[int], bool] = lambda batch: True,
    from_batch: int = 0,
    rng: random.Random | None = None,
) -> Any:
    """All batches from one on, as Spark would run them; a process that does not live to commit a batch is Killed.

    With ``rng``, rows of a batch come in any order and in any pieces, each time that it is done.
    """
    live = start(folder, run.spec)
    for batch, rows in enumerate(run.batches[from_batch:], from_batch):
        live.process(batch, table(rows, run.spec) if rng is None else any_way(rows, run.spec, rng))
        if not commits(batch):
            raise Killed
        (folder / "committed").write_text(str(batch))
        commits_of_spark = opened(folder / "commits")
        commits_of_spark._system.write(f"{commits_of_spark.path}/{batch}", b"")  # Spark's own, so not a change that is counted
        idle(live, run)
        if batch in run.ends:
            live.finish()
            (folder / "ended").write_text(str(batch))
            live = start(folder, run.spec)
    live.finish()
    return live


def read(folder: Path, name: str) -> list[dict[str, Any]]:
    where = opened(folder / name)
    names = (file.removeprefix(where.address("")) for file in result_files(where))
    return [row for file in names for row in pq.read_table(pa.BufferReader(where.read(file))).to_pylist()]


def results(folder: Path, live: Any) -> Any:
    stats = replace(live.stats, memory_bytes=0, batch_seconds=0.0, batch_rows=0, vocabulary_size=0)
    rejected = sorted(map(repr, read(folder, "rejected")))
    return [read(folder, name) for name in ("changes", "late")], rejected, stats, found(live)


def files_written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of all files that are written from here on, but for final ones, which are no small files."""
    names: list[str] = []
    for way in ("write", "create"):
        real: Callable[..., Any] = getattr(Folder, way)

        def noted(self: Folder, name: str, data: Any, real: Callable[..., Any] = real) -> Any:
            names.append(name)
            return real(self, name, data)

        monkeypatch.setattr(Folder, way, noted)
    monkeypatch.setattr(folders, "PATIENCE", 1e9)
    monkeypatch.setattr(folders, "YOUNG", 1e9)
    return names


def claimed(live: Any) -> Any:
    """A stream whose folders are claimed before its first batch, as on Spark."""
    for output in (live._changes, live._late, live._rejected):
        output.files.claim(-1)
    return live


def small_batches() -> list[list[Row]]:
    """Forty, with many copies. All rows are on time."""
    rng = random.Random(7)
    return [[Row(n, n, tuple(rng.choices(range(6), k=2))) for n in range(7 * batch, 7 * batch + 7)] for batch in range(40)]


def order(row: Row) -> Any:
    return row.time, row.id, row.tokens, row.stream


def reach(times: list[int], begin: int, max_ahead: int) -> int:
    """How far one gets from some time in steps that are short enough."""
    for time in sorted(times):
        if begin < time <= begin + max_ahead:
            begin = time
    return begin


def latest_believed(times: list[int], highest: int | None, run: int, max_ahead: int) -> tuple[int | None, int]:
    """The same as `ahead.believe`, by its definition."""
    if not times:
        return highest, run
    median = sorted(times)[(len(times) - 1) // 2]
    if highest is None:
        return reach(times, median, max_ahead), 0
    latest = reach(times, highest, max_ahead)
    beyond = sum(time > latest for time in times)
    if median > latest and run + beyond >= ahead.AGREEING:
        return reach(times, median, max_ahead), 0
    return latest, run + beyond if beyond == len(times) else 0


def arrivals(run: Run, flushed: bool = True) -> tuple[list[Record], list[int], int]:
    """The sets that enter, late ids and rejected rows by the definition. ``flushed``: what is held at the end enters, too."""
    entered: list[Row] = []
    late: list[int] = []
    rejected = 0
    watermark = highest = reached = -(10**9)
    latest, in_a_row, max_ahead = None, 0, run.spec.max_ahead
    for batch, rows in enumerate(run.batches):
        usable = [row for row in rows if row.reason is None]
        if max_ahead is not None:
            latest, in_a_row = latest_believed([row.time for row in usable], latest, in_a_row, max_ahead)
            usable = [row for row in usable if latest is not None and row.time <= latest]
        rejected += len(rows) - len(usable)
        late += [row.id for row in sorted((row for row in usable if row.time < watermark), key=order)]
        on_time = [row for row in usable if row.time >= watermark]
        entered += on_time
        if on_time:
            highest = max(highest, *(row.time for row in on_time))
            watermark = max(watermark, highest - run.spec.lateness)
        for passed in run.idles_after(batch):
            if any(row.time >= watermark - run.spec.join.window.duration for row in entered):
                reached = max(highest, reached) + passed
                latest = None if latest is None else max(latest, reached)
                watermark = max(watermark, reached - run.spec.lateness)
        if batch in run.ends and any(row.time >= watermark for row in entered):
            watermark = highest + 1
    records = [row.record(run.spec) for row in sorted(entered, key=order) if flushed or row.time < watermark]
    if records and watermark - 1 > records[-1].time:  # an empty set makes no pair, but time goes on to it
        records.append(replace(records[-1], tokens=(), time=watermark - 1))
    return records, late, rejected


def expected(run: Run, flushed: bool = True) -> Any:
    """Changes, late ids, rejected rows and top-k by the definition."""
    records, late, rejected = arrivals(run, flushed)
    if isinstance(run.spec.join, FamilySpec):
        join = run.spec.join
        asked: Any = (records, join.min_similarity, join.window, join.similarity)
        names = columns_of(run.spec)
        feed = [(c.time, c.kind, *(getattr(c, name) for name in names)) for c in oracle.family_changes(*asked)]
        return feed, late, rejected, oracle.families(*asked)
    judged = judge(records, **run.options())
    names = columns_of(run.spec)
    changes = [(c.time, c.kind, *(getattr(c.pair, name) for name in names)) for c in judged.changes]
    return changes, late, rejected, judged.topk()


def columns_of(spec: StreamSpec) -> tuple[str, ...]:
    """What is compared of pairs, or of families."""
    if isinstance(spec.join, FamilySpec):
        return ("family", "into", "size", "total", "first_seen", "representative")
    seen = [f"{which}_{what}" for which in ("newer", "older") for what in ("copies", "first_seen", "last_seen")]
    return ("newer", "older", "similarity", "overlap", "start", "end", *(seen if spec.pairs.copies == "once" else ()))


def check(folder: Path, case: Run, live: Any, earlier: int = 0) -> None:
    """Compare everything with the definition. Batches before ``earlier`` were done when families did not tell their sizes."""
    changes, late, rejected, result = expected(case)
    names = ("time", "kind", *columns_of(case.spec))
    rows = read(folder, "changes")
    told = [tuple(row.get(name) for name in names) for row in rows]
    if isinstance(case.spec.join, FamilySpec):
        changes = [change[:4] if row["batch"] < earlier else change for row, change in zip(rows, changes, strict=True)]
        told = [row[: len(change)] for row, change in zip(told, changes, strict=True)]
    assert told == changes
    if case.spec.keep:
        check_records([*rows, *result_of(live)], case.spec)
    assert [row["id"] for row in read(folder, "late")] == late
    assert len(read(folder, "rejected")) == rejected
    for name in ("changes", "late", "rejected"):
        assert [row["sequence"] for row in read(folder, name)] == list(range(len(read(folder, name))))
    assert found(live) == result
    if isinstance(case.spec.join, FamilySpec):
        join, records = case.spec.join, arrivals(case)[0]
        for way in ("newest", "growing"):
            expected_so = oracle.families(records, join.min_similarity, join.window, join.similarity, order=way)
            assert list(live.result.families(3, way)) == expected_so[:3]
    stats = live.stats
    assert (stats.late, stats.rejected, stats.changes) == (len(late), rejected, len(changes))
    assert stats.rows == sum(map(len, case.batches)) == stats.sets + stats.late + stats.rejected
    assert stats.held == 0


def result_of(live: Any) -> list[dict[str, Any]]:
    """What a live stream has found, as rows."""
    found = live.result.families() if isinstance(live, LiveFamilies) else live.result
    rows: list[dict[str, Any]] = found.to_arrow().to_pylist()
    return rows


def check_records(found: list[dict[str, Any]], spec: StreamSpec) -> None:
    """Rows of results have what was kept of the sets that they name: a time tells which of those with the same id it is."""
    for row in found:
        if "representative" in row:
            assert row["representative_name"] == f"set {row['representative']}"
            continue
        assert (row["newer_name"], row["older_name"]) == (f"set {row['newer']}", f"set {row['older']}")
        if "newer_copies" in row:
            assert (row["newer_at"], row["older_at"]) == (row["newer_first_seen"], row["older_first_seen"])
        else:
            assert (row["newer_at"], row["older_at"]) == (row["start"], row["end"] - spec.join.window.duration)


@st.composite
def runs(draw: st.DrawFn, idle: bool = False, finds: str = "pairs") -> Run:
    similarity = draw(st.sampled_from(SIMILARITIES))
    least = draw(thresholds(similarity))
    join = JoinSpec(
        draw(st.sampled_from([1, 2, 3, 10] if least is None else [1, 3, 10, None])),
        draw(st.integers(1, 25)),
        similarity,
        two_streams=draw(st.booleans()),
        min_similarity=least,
        copies=draw(st.sampled_from(["each", "once"])),
    )
    spec = StreamSpec(
        join,
        lateness=draw(st.integers(0, 8)),
        time_kind="integer",
        max_ahead=draw(st.sampled_from([None, None, 0, 3, 10, 20])),
        tokens=draw(st.sampled_from(["tokens", "tokens", *FUNCTIONS])),
    )
    if finds == "families":
        spec = families(spec, draw(reachable(similarity)))
    universe = draw(st.integers(1, 8))
    tokens: st.SearchStrategy[Any] = st.lists(st.integers(0, universe), max_size=5).map(tuple)
    if spec.tokens != "tokens":
        tokens = st.lists(st.sampled_from(PARTS), max_size=6).map("".join)
    time = draw(st.integers(-5, 5))
    rows = []
    for number in range(draw(st.integers(0, 30))):
        time += draw(st.sampled_from([0, 0, 1, 1, 2, 9]))
        found = Row(
            draw(st.sampled_from([number, number % 4])),
            time - draw(st.sampled_from([0, 0, 0, 0, 1, 3, 12, -30])),
            draw(tokens),
            draw(st.sampled_from(["left", "right"])) if spec.two_streams else "left",
            draw(st.sampled_from([None] * 9 + ["bad"])),
        )
        rows.append(found)
    cuts = sorted(draw(st.lists(st.integers(0, len(rows)), max_size=8)))
    batches = [rows[a:b] for a, b in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    ends = draw(st.frozensets(st.integers(0, len(batches) - 1), max_size=2))
    silences = st.lists(st.sampled_from([1, 3, 10, 30]), max_size=2).map(tuple)
    return Run(batches, ends, spec, tuple(draw(silences) for _ in batches) if idle else ())


@contextmanager
def small(limit: int | None) -> Iterator[None]:
    """What is put together at once has so many bytes at most, offsets of 32 bits so many at most, and chunks too."""
    with pytest.MonkeyPatch.context() as patch:
        if limit is not None:
            patch.setattr(pieces, "LIMIT", limit)
            patch.setattr(payloads, "LIMIT", limit)
            patch.setattr(columns, "SMALL", 2 * limit)
            patch.setattr(chunks, "LARGEST", 3 * limit)
            patch.setattr(chunks, "MERGED", 3)
            patch.setattr(checkpoint, "SMALL", 10 * limit)
        yield


limits = st.sampled_from([None, 1, 60, 200, 1000])


def fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def run_again(folder: Path, case: Run, commits: Callable[[int], bool], rng: random.Random | None = None) -> Any:
    for _ in range(200):
        batch, ended = (int(file.read_text()) if file.exists() else -1 for file in (folder / "committed", folder / "ended"))
        try:
            live = start(folder, case.spec)
            if batch == live._state.batch:
                idle(live, case)
            if batch in case.ends and batch != ended:
                live.finish()
                (folder / "ended").write_text(str(batch))
            return run(folder, case, commits, batch + 1, rng)
        except Killed:
            continue
    raise AssertionError("it never ends")


def with_texts(case: Run, function: TokenFunction) -> Run:
    """The same with texts, which a token function makes tokens of: the parts of a text are as many as the tokens were."""
    batches = [
        [replace(row, tokens="".join(PARTS[n % len(PARTS)] for n in row.tokens)) for row in rows] for rows in case.batches
    ]
    return replace(case, batches=batches, spec=replace(case.spec, tokens=function, token_type=str(function)))


def scenario(idle: bool = False, **asked: Any) -> Run:
    rng = random.Random(5)
    rows = [
        Row(n, n // 2 - rng.choice([0, 0, 1, 3, 9]), tuple(rng.choices(range(6), k=rng.randrange(1, 5)))) for n in range(60)
    ]
    rows = [replace(row, reason="bad") if row.id % 17 == 5 else row for row in rows]
    return Run(
        [rows[n : n + 7] for n in range(0, 60, 7)],
        frozenset({4}),
        with_join(SPEC, **asked),
        idles=((), (), (5, 2), (), (), (), (30,)) if idle else (),
    )


def files_of(path: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}
