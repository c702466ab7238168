"""``swoop stream`` on folders, to the end, and stopped by Ctrl-C.

Tests of swoop.cli.alerting, swoop.cli.sources, swoop.cli.unequal.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import signal
import sys
import threading
import time
import warnings
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from swoop import oracle
from swoop.cli.console import messages
from swoop.cli.guard import WrongUsage
from swoop.cli.standard_input import Pipe
from swoop.cli.stream import StreamOptions, serve_page
from swoop.times import find_window
from tests.support.command_line import history, posts, run, write_lines

pytestmark = pytest.mark.usefixtures("spark")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    rows = posts(history())
    write_lines(tmp_path / "in" / "1.jsonl", rows[:30])
    wrong = [{"id": 99, "text": "no time"}, {"id": 98, "text": "a wrong clock", "time": "2999-01-01T00:00:00Z"}]
    write_lines(tmp_path / "in" / "2.jsonl", [*rows[30:], *wrong])
    return tmp_path / "in"


@pytest.mark.usefixtures("default_elsewhere")
def test_once_in_json(tmp_path: Path, folder: Path) -> None:
    out = tmp_path / "changes"
    folder = folder.rename(tmp_path / "in %20 #1")
    to = ("--changes", out, "--retention", "30 days", "--target-size", "1 MB")
    done = run("stream", folder, "--once", "-w", "20s", "-k", 3, "--json", *to, "--checkpoint", tmp_path / "state")
    assert done.exit_code == 0, done.output
    found = [json.loads(line) for line in done.stdout.splitlines()]
    expected = oracle.changes(history(), k=3, window="20s", copies="once")
    assert [(c["kind"], c["newer"], c["older"], c["similarity"], c["newer_copies"]) for c in found] == [
        (change.kind, change.pair.newer, change.pair.older, change.pair.similarity, change.pair.newer_copies)
        for change in expected
    ]
    assert found[-1]["newer_text"]
    assert sum(pq.read_metadata(path).num_rows for path in out.glob("*.parquet")) == len(expected)
    assert "62 rows in" in done.stderr
    assert "0 late, 2 rejected" in done.stderr
    again = run("stream", folder, "--once", "-w", "20s", "-k", 3, "--json", "--checkpoint", tmp_path / "state")
    assert again.exit_code == 0
    assert done.stdout.endswith(again.stdout)  # those of the end, which may not have come out
    foreign = run("stream", folder, "--once", *to, "--checkpoint", tmp_path / "other")
    assert foreign.exit_code == 2
    assert "belongs to another stream" in foreign.stderr
    other = run("stream", folder, "--once", "-w", "30s", "-k", 3, "--json", "--checkpoint", tmp_path / "state")
    assert other.exit_code in (1, 2)
    assert "window" in other.stderr


def test_records_come_along(tmp_path: Path) -> None:
    """In JSON, in the files of changes, in the table at the end, and after a restart."""
    rows = [{**row, "author": f"author {row['id']}"} for row in posts(history())]
    (tmp_path / "in").mkdir()
    options = ("-w", "20s", "-k", 3, "--keep", "author,text", "--once", "--checkpoint", tmp_path / "state")
    to = ("--changes", tmp_path / "out")
    found = []
    for number, part in enumerate((rows[:30], rows[30:])):
        write_lines(tmp_path / "in" / f"{number}.jsonl", part)
        done = run("stream", tmp_path / "in", *options, *to, *(["--json", "--no-flush"] if number == 0 else []))
        assert done.exit_code == 0, done.output
        found += [json.loads(line) for line in done.stdout.splitlines()] if number == 0 else []
    assert found
    told = {row["id"]: {"author": row["author"], "text": row["text"]} for row in rows}
    assert all((c["newer_record"], c["older_record"]) == (told[c["newer"]], told[c["older"]]) for c in found)
    written = [row for file in (tmp_path / "out").glob("*.parquet") for row in pq.read_table(file).to_pylist()]
    assert len(written) > len(found)
    for side in ("newer", "older"):
        assert all(row[f"{side}_{name}"] == told[row[side]][name] for row in written for name in ("author", "text"))
    assert "author: author" in done.stdout
    other = run("stream", tmp_path / "in", "-w", "20s", "-k", 3, "--once", "--checkpoint", tmp_path / "state")
    assert "keep was {'author': 'string', 'text': 'string'} and now is {}" in " ".join(other.stderr.split())


def test_small_batches_and_several_runs(tmp_path: Path, folder: Path) -> None:
    """One file in a batch, and rows that wait from run to run: the changes are those of a single run."""
    options = ("-w", "20s", "-k", 3, "--json", "--batch-size", "1", "--checkpoint", tmp_path / "state", "--once")
    options = (*options, "--copies", "each")
    (tmp_path / "in" / "2.jsonl").rename(tmp_path / "2.jsonl")
    found = []
    for flush in (("--no-flush",), ()):
        done = run("stream", folder, *options, *flush)
        assert done.exit_code == 0, done.output
        found += [json.loads(line) for line in done.stdout.splitlines()]
        if flush:
            (tmp_path / "2.jsonl").rename(tmp_path / "in" / "2.jsonl")
    expected = oracle.changes(history(), k=3, window="20s")
    assert [(c["kind"], c["newer"], c["older"]) for c in found] == [
        (change.kind, change.pair.newer, change.pair.older) for change in expected
    ]


def test_files_that_come_late_with_an_old_date(tmp_path: Path) -> None:
    """As from an archive that keeps the dates of files."""
    (tmp_path / "in").mkdir()
    for number, age in enumerate((0, 300)):
        file = tmp_path / "in" / f"{number}.jsonl"
        write_lines(
            file, [{"id": 2 * number + n, "text": "the same", "time": f"2024-01-01T0{number}:00:00Z"} for n in range(2)]
        )
        os.utime(file, (time.time() - age * 86_400,) * 2)
        to = ("--checkpoint", tmp_path / "state", "--copies", "each")
        done = run("stream", tmp_path / "in", "--once", "-w", "1 day", "-k", 9, "--json", *to)
        assert done.exit_code == 0, done.output
        found = [json.loads(line) for line in done.stdout.splitlines()]
        assert [(c["newer"], c["older"]) for c in found] == ([(1, 0)], [(2, 0), (2, 1), (3, 2), (3, 0), (3, 1)])[number]


def test_families(tmp_path: Path, folder: Path) -> None:
    options = ("--families", 0.7, "-w", "20s", "--once")
    done = run("stream", folder, *options, "--json", "--serve", 0)
    assert done.exit_code == 0, done.output
    found = [json.loads(line) for line in done.stdout.splitlines()]
    expected = oracle.family_changes(history(), 0.7, "20s")
    assert [(c["kind"], c["family"], c["into"]) for c in found] == [(c.kind, c.family, c.into) for c in expected]
    there = oracle.families(history(), 0.7, "20s")
    assert there
    last = {change["family"]: change for change in found}
    for family in there:
        assert (last[family.id]["size"], last[family.id]["total"]) == (family.size, family.total)
        assert last[family.id]["text"]
    assert f"{len(expected)} changes of families" in done.stderr
    done = run("stream", folder, *options)
    assert done.exit_code == 0, done.output
    assert f"{there[0].size} records, " in done.stdout
    lines = done.stdout.splitlines()
    assert {line.split()[5] for line in lines[: lines.index("")]} <= {"born", "grew", "merged", "ended"}


def test_stopped(tmp_path: Path, folder: Path) -> None:
    """As Ctrl-C does it, once the first changes are out."""

    def interrupt() -> None:
        until = time.monotonic() + 120
        while not list((tmp_path / "changes").glob("*.parquet")) and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(1)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    options = ("--trigger", "300 milliseconds", "--changes", tmp_path / "changes", "--serve", 0)
    done = run("stream", folder, "-w", "20s", "-k", 3, *options)
    thread.join()
    assert done.exit_code == 130, done.output
    lines = done.stdout.splitlines()
    assert any("  enter      " in line for line in lines)
    assert max(len(line) for line in lines[lines.index("") :]) <= 80
    assert "\x1b" not in done.output
    assert "live page: http://127.0.0.1:" in done.stderr
    assert "62 rows in" in done.stderr


@pytest.mark.usefixtures("default_elsewhere")
def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows come in parts, with a silence between them; when they end, those that wait enter as well."""
    lines = [json.dumps(row) + "\n" for row in posts(history())]
    reading, writing = os.pipe()

    def feed() -> None:
        with os.fdopen(writing, "w") as file:
            for part in (lines[:20], lines[20:21], lines[21:]):
                file.write("".join(part)[:-3])
                file.flush()
                time.sleep(1)
                file.write("".join(part)[-3:])

    thread = threading.Thread(target=feed)
    thread.start()
    monkeypatch.setattr("swoop.cli.stream.Pipe", partial(Pipe, input=reading))
    done = run("stream", "-", "-w", "20s", "-k", 3, "--json")
    thread.join()
    os.close(reading)
    assert done.exit_code == 0, done.output
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(c["kind"], c["newer"], c["older"]) for c in found] == [
        (change.kind, change.pair.newer, change.pair.older)
        for change in oracle.changes(history(), k=3, window="20s", copies="once")
    ]


def test_all_rows_are_rejected(tmp_path: Path) -> None:
    """It is said at once, with the reason, a value and what to do."""
    (tmp_path / "1.csv").write_text("id,time,text\n1,2024-05-01,\n2,2024-05-02,\n")
    done = run("stream", tmp_path, "--once", "--text", "text")
    assert done.exit_code == 1
    assert "all 2 rows so far are rejected:\n  2: the text is null; for example id 1, time 2024-05-01" in done.stderr
    assert "no row could be used" in done.stderr


def test_rows_that_are_too_far_ahead_name_the_option(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("id,time,text\n1,2024-05-01,a b\n2,2024-05-01,a c\n3,2024-07-01,a d\n")
    done = run("stream", tmp_path, "--once", "--text", "text", "--window", "1h", "--max-ahead", "2h")
    assert done.exit_code == 0, done.output
    line = "1: the time is further ahead of the latest row than allowed (max_ahead); for example id 3, time 2024-07-01"
    assert line in done.stderr
    assert "(--max-ahead allows more)" in done.stderr


def test_rejected_rows_say_why(tmp_path: Path, folder: Path) -> None:
    write_lines(folder / "0.jsonl", [{"id": 90, "text": "y", "time": "2024-05-01T12:00:00", "author": "ann"}])
    write_lines(folder / "3.jsonl", [{"id": 97, "text": "x", "time": "12/01/2010 08:26", "author": "bob"}])
    (folder / "4.jsonl").write_bytes(b'not JSON\n{"id": 96, "text": "caf\xe9", "time": "2024-05-01"}\n')
    done = run("stream", folder, "--once", "-w", "20s", "-k", 3, "--rejected", tmp_path / "rejected")
    assert done.exit_code == 0, done.output
    assert 'rejected 1: time: cannot read "12/01/2010 08:26"' in done.stderr
    assert "rejected 2: row: cannot read" in done.stderr
    rows = [row for path in (tmp_path / "rejected").glob("*.parquet") for row in pq.read_table(path).to_pylist()]
    found = {row["reason"]: row["row"] for row in rows}
    assert json.loads(found['time: cannot read "12/01/2010 08:26"']) == {
        "id": 97,
        "text": "x",
        "time": "12/01/2010 08:26",
        "author": "bob",
    }
    assert found['row: cannot read "not JSON"'] == "not JSON"


@pytest.mark.parametrize(
    ("data", "names"),
    [
        (b'{"id": 1}\n{"id": 2}', ["{'id': 1}", "{'id': 2}"]),
        (b'id,text\n1,"a\nb"\n2,c\n', ["1", "2"]),
    ],
)
def test_standard_input_as_files(data: bytes, names: list[str]) -> None:
    """Every file has whole rows, and of CSV a header, wherever the input is cut."""
    import csv

    for cut in range(data.index(b"\n", 8) + 1, len(data)):
        reading, writing = os.pipe()
        os.write(writing, data[:cut])
        pipe = Pipe(input=reading)
        os.write(writing, data[cut:])
        os.close(writing)
        assert pipe.ended.wait(10)
        found = []
        for path in sorted(Path(pipe.folder).iterdir()):
            if pipe.format == "json":
                found += [str(json.loads(line)) for line in path.read_text().splitlines()]
            else:
                found += [row["id"] for row in csv.DictReader(path.open(newline=""))]
        pipe.close()
        os.close(reading)
        assert found == names, cut


def test_a_quote_that_nobody_closes(monkeypatch: pytest.MonkeyPatch) -> None:
    """It holds nothing back for ever, and takes no time."""
    monkeypatch.setattr("swoop.cli.standard_input.LONGEST", 1000)
    reading, writing = os.pipe()
    os.write(writing, b"id,text\n1,a\n")
    pipe = Pipe(input=reading)
    os.write(writing, b'2,a 5" pipe\n' + b"3,b\n" * 2000)
    until = time.monotonic() + 20
    while len(list(Path(pipe.folder).glob("*.csv"))) < 2 and time.monotonic() < until:
        time.sleep(0.05)
    assert len(list(Path(pipe.folder).glob("*.csv"))) == 2
    os.close(writing)
    assert pipe.ended.wait(10)
    pipe.close()
    os.close(reading)


def test_no_rows_on_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [(b"", "there are no rows"), (b"PAR1\n\n", "must be JSON lines or CSV"), ("a,b\n1,2\n".encode("utf-16"), "utf-16")]
    for data, message in cases:
        reading, writing = os.pipe()
        os.write(writing, data)
        os.close(writing)
        with pytest.raises(WrongUsage, match=message):
            Pipe(input=reading)
        os.close(reading)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("none",), "there is no folder 'none'"),
        ((__file__,), "is a file; a stream reads the files of a folder"),
        (("kafka://host",), "names no topic"),
        ((".", "--lateness", "soon"), "cannot parse the lateness"),
        ((".", "--max-ahead", "far"), "cannot parse the max_ahead"),
        ((".", "--once", "--trigger", "1 second"), "mutually exclusive"),
        ((".", "--changes", "out", "--target-size", "big"), "cannot parse the size 'big'"),
        ((".", "--late", "out", "--retention", "long"), "cannot parse the retention 'long'"),
        ((".", "--no-flush"), "--no-flush requires --once"),
        ((".", "--copies", "twice"), "copies must be 'each'"),
        ((".", "--families", "2"), "--families: min_similarity must be from 0 to 1"),
        ((".", "--families", "0.8", "--min-similarity", "0.5"), "leave out --min-similarity"),
        ((".", "--batch-size", "much"), "cannot parse the size 'much'"),
        (("kafka://host:1/topic", "--batch-size", "64 MB"), "--batch-size must be a number of messages"),
    ],
)
def test_wrong_usage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], message: str) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("stream", *arguments)
    assert done.exit_code == 2, done.output
    assert message in done.stderr


@pytest.mark.usefixtures("default_elsewhere")
def test_names_that_look_like_patterns(tmp_path: Path) -> None:
    """Each file is read once. And what a stream without a checkpoint keeps for a while is on this machine."""
    folder, rows = tmp_path / "in [1]", posts(history())
    folder.mkdir()
    for name, part in (("a[1]", rows[:20]), ("b{2,3}*", rows[20:40]), ("c", rows[40:])):
        write_lines(folder / f"{name}.jsonl", part)
    done = run("stream", folder, "--once", "-w", "20s", "-k", 3, "--json")
    assert done.exit_code == 0, done.output
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(c["kind"], c["newer"], c["older"], c["newer_copies"]) for c in found] == [
        (change.kind, change.pair.newer, change.pair.older, change.pair.newer_copies)
        for change in oracle.changes(history(), k=3, window="20s", copies="once")
    ]
    assert "60 rows in" in done.stderr


def test_how_far_rows_may_be_ahead() -> None:
    hour, week, month, five = map(find_window, ("1 hour", "7 days", "30 days", 5))
    found = [StreamOptions("in").find_max_ahead(window) for window in (hour, week, month, five)]
    assert found == [dt.timedelta(days=7), dt.timedelta(days=7), dt.timedelta(days=30), None]
    assert StreamOptions("in", max_ahead="off").find_max_ahead(hour) is None
    assert StreamOptions("in", max_ahead="1 hour").find_max_ahead(hour) == "1 hour"
    assert StreamOptions("in", max_ahead=9).find_max_ahead(five) == 9


def test_a_stream_needs_ids(tmp_path: Path) -> None:
    write_lines(tmp_path / "1.jsonl", [{"time": "2024-05-01", "text": "a"}])
    done = run("stream", tmp_path, "--once")
    assert done.exit_code == 2
    assert "need ids" in done.stderr


def test_the_title_of_the_page_and_where_the_stream_comes_from(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    given: list[Any] = []

    def serve_page(*arguments: Any) -> Any:
        given.append(arguments)
        raise WrongUsage("that is all")

    monkeypatch.setattr("swoop.cli.stream.serve_page", serve_page)
    monkeypatch.setattr("swoop.cli.demo._demo", lambda seconds, port, report, title, *rest: given.append(title) or 0)
    assert run("stream", folder, "--serve", 0, "--title", "Posts <b>").exit_code == 2
    assert run("stream", folder, "--serve", 0).exit_code == 2
    assert run("demo", "--title", "Ours").exit_code == 0
    pages = [(0, title, "127.0.0.1", None, str(folder)) for title in ("Posts <b>", "swoop stream")]
    assert given == [*pages, "Ours"]


def test_a_page_beyond_this_machine_is_warned_of(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    given: dict[str, Any] = {}

    class Page(nullcontext[None]):
        url = "http://somewhere/"

    def serve(**options: Any) -> Page:
        given.update(options)
        warnings.warn("everyone can see it", stacklevel=2)
        return Page()

    monkeypatch.setattr("swoop.dashboard.server.serve", serve)
    messages.cache_clear()
    with serve_page(8000, "swoop stream", "0.0.0.0", "secret"):
        pass
    messages.cache_clear()
    assert given == {"port": 8000, "title": "swoop stream", "host": "0.0.0.0", "token": "secret", "origin": None}
    told = capsys.readouterr().err
    assert "warning: everyone can see it" in told


def test_alerts(tmp_path: Path, folder: Path) -> None:
    """A command is told of every pair that is similar enough, with its texts; the last lines say how many there were."""
    told = tmp_path / "told"
    write = tmp_path / "write.py"
    write.write_text(f"import sys; open({str(told)!r}, 'a').write(sys.stdin.read() + chr(10))")
    command = f"'{sys.executable}' '{write}'"
    options = ("-w", "20s", "-k", 3, "--once", "--checkpoint", tmp_path / "state", "--alert-limit", 1000)
    done = run("stream", folder, *options, "--alert", command, "--alert-from", 0.6, "--keep", "text")
    assert done.exit_code == 0, done.output
    changes = oracle.changes(history(), k=3, window="20s", copies="once")
    expected = [c.pair for c in changes if c.kind == "enter" and c.pair.similarity >= 0.6]
    found = [json.loads(line) for line in told.read_text().splitlines()]
    assert [(c["newer"], c["older"], c["similarity"]) for c in found] == [(p.newer, p.older, p.similarity) for p in expected]
    texts = {post["id"]: post["text"] for post in posts(history())}
    assert all(c["newer_text"] in texts.values() for c in found)
    assert [c["newer_record"] for c in found] == [{"text": c["newer_text"]} for c in found]
    assert all(c["older_record"]["text"] in texts.values() for c in found)
    assert f"{len(expected)} alerts delivered, 0 given up, 0 over the limit, 0 not delivered yet" in done.stderr
    told.unlink()
    done = run("stream", folder, "--families", 0.5, "-w", "20s", "--once", "--alert", command, "--alert-from", 3)
    assert done.exit_code == 0, done.output
    found = [json.loads(line) for line in told.read_text().splitlines()]
    first: dict[Any, int] = {}
    for family in oracle.family_changes(history(), 0.5, "20s"):
        if family.kind in ("born", "grew") and (family.size or 0) >= 3:
            first.setdefault(family.family, family.size or 0)
    assert first
    assert {c["family"]: c["size"] for c in found} == first
    assert all(c["text"] for c in found)


@pytest.mark.parametrize("kept", [False, True])
def test_alerts_that_wait_at_the_end(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, kept: bool) -> None:
    """Without a checkpoint they are lost, and so is what tells of those over the limit."""
    monkeypatch.setattr("swoop.spark.handle.DELIVERING", 0.5)
    options = ("-w", "20s", "-k", 3, "--once", "--alert", "false", "--alert-limit", 2)
    done = run("stream", folder, *options, *(("--checkpoint", tmp_path / "state") if kept else ()))
    assert done.exit_code == 0, done.output
    told = " ".join(done.stderr.split())
    assert f"2 {'not delivered yet' if kept else 'lost'}" in told
    assert "were given up or over the limit was not delivered" in told
    assert ("the next run with this checkpoint tries again" in told) == kept
    assert ("nothing is tried again without --checkpoint DIR; with it, the next run does" in told) != kept


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--alert-from", 0.9), "--alert-from requires --alert"),
        (("--alert-limit", 3), "--alert-limit requires --alert"),
        (("--alert", "no-such-command-here x"), "--alert: there is no command 'no-such-command-here'"),
        (("--alert", "echo 'x"), "--alert: No closing quotation"),
        (("--alert", ""), "--alert: the command of an alert has no words"),
        (("--alert", "https://me:secret@host/"), "before the @"),
        (("--alert", "echo", "--families", 0.5, "--alert-from", 2.5), "a number of records, not 2.5"),
        (("--alert", "echo", "--alert-from", 20), "--alert-from: min_similarity must be from 0 to 1 for jaccard, not 20.0"),
        (
            ("--alert", "echo", "--alert-from", 1, "--no-equal"),
            "--alert-from 1 is of equal sets, and --no-equal leaves out their",
        ),
        (("--alert", "echo", "--alert-limit", 0), "per_minute of an alert must be from 1 to 6000, not 0"),
    ],
)
def test_alerts_that_are_refused(folder: Path, options: tuple[object, ...], says: str) -> None:
    done = run("stream", folder, "--once", *options)
    assert done.exit_code == 2
    assert says in " ".join(done.stderr.split())
    assert "secret" not in done.stderr


def test_no_equal(tmp_path: Path, folder: Path) -> None:
    """As in ``swoop run``: pairs of equal sets are not shown, but written; nobody is alerted to them."""
    write, told = tmp_path / "write.py", tmp_path / "told"
    write.write_text(f"import sys; open({str(told)!r}, 'a').write(sys.stdin.read() + chr(10))")
    alert = ("--alert", f"'{sys.executable}' '{write}'", "--alert-limit", 1000)
    options = ("-w", "20s", "-k", 6, "--copies", "each", "--once", "--no-equal", *alert)
    done = run("stream", folder, *options, "--json", "--changes", tmp_path / "out", "--serve", 0)
    assert done.exit_code == 0, done.output
    changes = oracle.changes(history(), k=6, window="20s")
    different = [c for c in changes if c.pair.similarity < 1]
    assert len(different) < len(changes)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(c["kind"], c["newer"], c["older"]) for c in found] == [(c.kind, c.pair.newer, c.pair.older) for c in different]
    assert sum(pq.read_metadata(path).num_rows for path in (tmp_path / "out").glob("*.parquet")) == len(changes)
    alerts = [json.loads(line) for line in told.read_text().splitlines()]
    assert [(c["newer"], c["older"]) for c in alerts] == [(c.pair.newer, c.pair.older) for c in different if c.kind == "enter"]
    assert "pairs of equal sets are not shown" in done.stderr
    refused = run("stream", folder, "--once", "--no-equal", "--similarity", "overlap")
    assert (refused.exit_code, "--no-equal is not available for overlap" in refused.stderr) == (2, True)
    families = run("stream", folder, "--once", "--no-equal", "--families", 0.5)
    assert (families.exit_code, "leave out --no-equal" in families.stderr) == (2, True)
