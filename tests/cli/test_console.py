"""What is shown is what there is: nothing hides, turns, moves or gets lost in an encoding, and secrets are not shown.

Tests of swoop.cli.console, swoop.cli.guard, swoop.cli.session, swoop.unseen.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark import java_gateway
from rich.cells import cell_len

from swoop.cli import console
from swoop.cli.console import print_json, shown_id, tolerate
from swoop.cli.guard import spark_message
from swoop.cli.render import Side, side_by_side
from swoop.cli.session import held_back, why_not
from swoop.cli.views import short
from swoop.unseen import printable

SEEN = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD, *range(0x13430, 0x13460)}
IGNORABLE = "034F 115F-1160 17B4-17B5 180B-180F 2065 3164 FE00-FE0F FFA0 FFF0-FFF8 E0000-E0FFF"
"""What Unicode calls ignorable by default, besides formats: what has no sign of its own is not shown."""


def numbers(ranges: str) -> set[int]:
    ends = [[int(end, 16) for end in each.split("-")] for each in ranges.split()]
    return {code for first, *last in ends for code in range(first, (last or [first])[0] + 1)}


def test_every_character_that_hides_is_named() -> None:
    not_seen = numbers(IGNORABLE) | {0x2800, 0x16FE4} | numbers("FDD0-FDEF")
    others = []
    for code in range(sys.maxunicode + 1):
        kind = unicodedata.category(chr(code))
        if (kind in ("Cc", "Cf", "Cs", "Zl", "Zp") and code not in SEEN) or code in not_seen or code % 2**16 > 0xFFFD:
            assert printable(chr(code)) in (" ", f"<U+{code:04X}>"), hex(code)
        else:
            others.append(chr(code))
    assert printable("".join(others)) == "".join(others)


@pytest.mark.parametrize(
    "text",
    [
        "\N{HEAVY BLACK HEART}\ufe0f\u200d\N{FIRE}",
        "1\ufe0f\u20e3 #\ufe0f\u20e3",
        "\N{WOMAN}\N{EMOJI MODIFIER FITZPATRICK TYPE-3}\u200d\N{PERSONAL COMPUTER}",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",  # Persian
        "\u8fbb\U000e0100",  # an ideograph in one of its forms
        "\u0915\u094d\u200d\u0937",  # Hindi
    ],
)
def test_what_writing_needs_stays(text: str) -> None:
    assert printable(text) == text


@pytest.mark.parametrize(
    "text", ["a|\ufe0f", "\N{FIRE}\ufe0f|\ufe0f|\U000e0101", "pa|\u200d", "|\u200c", "1|\ufe0f", "\u8fbb\u200d|\u200d"]
)
def test_and_elsewhere_it_is_named(text: str) -> None:
    first, *others = text.split("|")
    assert printable(text.replace("|", "")) == first + "".join(f"<U+{ord(other):04X}>" for other in others)


def test_records_that_differ_in_what_is_hidden_look_different() -> None:
    plain, hostile = "pay 100 to anna", "pay 100 to \u202eanna\u202c\u200b\x1b[2K\x07"
    to = console.Console(file=io.StringIO(), width=80, color_system=None)
    to.print(side_by_side(Side(1, 10, hostile), Side("\u202e2", 11, plain), to))
    assert isinstance(to.file, io.StringIO)
    shown = to.file.getvalue()
    assert not any(unicodedata.category(character) in ("Cc", "Cf") for character in shown.replace("\n", ""))
    for name in ("<U+202E>2", "U+202E", "U+202C", "U+200B", "U+001B", "U+0007"):
        assert name in shown
    assert printable("ab\u202ecd") in short("ab\u202ecd")


@given(st.text(max_size=300), st.integers(9, 80))
def test_long_ids_keep_their_beginning_and_their_end(text: str, cells: int) -> None:
    whole, shown = printable(text), shown_id(text, cells)
    assert cell_len(shown) <= cells
    if cell_len(whole) <= cells:
        assert shown == whole
    else:
        begin, _, end = shown.rpartition("…") if "…" not in whole else (shown[:1], "", shown[-1:])
        assert whole.startswith(begin.rstrip())
        assert whole.endswith(end.lstrip())


def test_long_words_stay_within_the_terminal() -> None:
    to = console.Console(file=io.StringIO(), width=80, color_system=None)
    words = "x" * 5000, "x" * 4999 + "y"
    to.print(side_by_side(Side("i" * 5000, 10, words[0]), Side("日" * 5000, 11, words[1]), to))
    assert isinstance(to.file, io.StringIO)
    lines = to.file.getvalue().splitlines()
    assert max(map(cell_len, lines)) <= 80
    assert len(lines) < 30


# encodings


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8"])
def test_what_an_encoding_does_not_have_is_named(encoding: str) -> None:
    data = io.BytesIO()
    stream = io.TextIOWrapper(data, encoding)
    tolerate(stream)
    stream.write("3 × … 日\ud800")
    stream.flush()
    here = data.getvalue().decode(encoding)
    assert here.endswith("日<U+D800>" if encoding == "utf-8" else "<U+65E5><U+D800>")
    assert here.startswith("3 x ..." if encoding == "ascii" else "3 ×")


def test_json_is_json_in_every_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    value = {"text": "é € 😀 \ud800"}
    for encoding in ("ascii", "latin-1", "utf-8"):
        data = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(data, encoding))
        print_json(value)
        assert json.loads(data.getvalue().decode(encoding)) == value


def test_a_terminal_of_ascii(tmp_path: Path) -> None:
    file = tmp_path / "posts.jsonl"
    rows = [{"id": n, "time": n, "text": f"win a phone for € 1 {'today' * n}"} for n in range(2)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = [sys.executable, "-m", "swoop.cli", "run", str(file), "--window", "9"]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONIOENCODING": "ascii"}, capture_output=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert b"phone for <U+20AC> 1" in done.stdout
    assert b"1 stay in the top 10" in done.stderr


# what Spark says

DAMAGED = """An error occurred while calling o634.getResult.
: org.apache.spark.SparkException: Exception thrown in awaitResult:
	at org.apache.spark.util.SparkThreadUtils$.awaitResult(SparkThreadUtils.scala:53)
Caused by: org.apache.spark.SparkException: [FAILED_READ_FILE] Encountered error while reading file {file}.  SQLSTATE: KD001
	at org.apache.spark.sql.errors.QueryExecutionErrors$.cannotReadFilesError(QueryExecutionErrors.scala:898)
Caused by: java.io.EOFException: Unexpected end of input stream
	at org.apache.hadoop.io.compress.DecompressorStream.decompress(DecompressorStream.java:165)
"""


@pytest.mark.parametrize(
    ("file", "shown"),
    [("file:///data/a%20b.json.gz", "/data/a b.json.gz"), ("s3a://bucket/b.json.gz", "s3a://bucket/b.json.gz")],
)
def test_a_file_that_spark_cannot_read_is_named(file: str, shown: str) -> None:
    why = "Unexpected end of input stream; it is damaged, or something else: get it again, or leave it out"
    assert spark_message(DAMAGED.format(file=file)) == f"{shown} cannot be read: {why}"


def test_stack_traces_are_not_shown() -> None:
    text = "An error occurred while calling o1.load.\n: java.net.ConnectException: Call to localhost:1 failed\n\tat a.b.C(D:7)"
    assert spark_message(text) == "Spark says: Call to localhost:1 failed (SWOOP_DEBUG=1 shows all of it)"


def test_what_java_says_while_it_starts_is_held_back(capfd: pytest.CaptureFixture[str]) -> None:
    """A failed download is told in one line; what Java says later is passed on."""
    says = "echo :: loading >&2; echo 'java.lang.RuntimeException: [unresolved dependency: a#b;1: not found]' >&2"
    with pytest.raises(subprocess.CalledProcessError), held_back() as said:
        raise subprocess.CalledProcessError(java_gateway.Popen(["/bin/sh", "-c", f"{says}; exit 1"]).wait(60), "sh")
    assert why_not(said) == "unresolved dependency: a#b;1: not found"
    assert capfd.readouterr().err == ""
    with held_back() as said:
        process = java_gateway.Popen(["/bin/sh", "-c", f"{says}; read line; echo $line >&2"], stdin=subprocess.PIPE)
        until = time.monotonic() + 60
        while len(said) < 2 and time.monotonic() < until:
            time.sleep(0.01)
    process.stdin.write(b"later\n")
    process.stdin.close()
    process.wait(60)
    shown = ""
    while "later" not in shown and time.monotonic() < until:
        shown += capfd.readouterr().err
        time.sleep(0.01)
    assert shown == "later\n"
    assert why_not([]) == "it did not say why"
