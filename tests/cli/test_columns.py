"""Which column is what."""

from __future__ import annotations

import pytest

from swoop.cli.columns import Columns, Kind, infer
from swoop.cli.guard import WrongUsage

KINDS: dict[str, Kind] = {"id": "integer", "ts": "timestamp", "text": "string"}


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        (KINDS, Columns("id", "ts", ("text",))),
        ({"ID": "string", "Created_At": "string", "Headline": "string"}, Columns("ID", "Created_At", ("Headline",))),
        ({"invoice_id": "string", "when": "integer", "goods": "array"}, Columns("invoice_id", "when", (), "goods")),
        ({"at": "timestamp", "what": "string"}, Columns(None, "at", ("what",))),
        ({"a": "timestamp", "b": "array", "n": "number"}, Columns(None, "a", (), "b")),
        ({"time": "integer", "tokens": "array", "title": "string"}, Columns(None, "time", ("title",), "tokens")),
        ({"date": "string", "created_at": "timestamp", "text": "string"}, Columns(None, "created_at", ("text",))),
        ({"postId": "string", "sent_at": "string", "memo": "string"}, Columns("postId", "sent_at", ("memo",))),
    ],
)  # fmt: skip
def test_guessed(kinds: dict[str, Kind], expected: Columns) -> None:
    assert infer(Columns(), kinds) == expected


def test_given_come_first() -> None:
    kinds: dict[str, Kind] = {**KINDS, "key": "string", "date": "timestamp", "title": "string", "body": "string"}
    given = Columns("key", "date", ("title", "body"))
    assert infer(given, kinds) == given
    assert infer(given, kinds).notes == ()


def test_says_what_is_used() -> None:
    assert infer(Columns(), {"ts": "timestamp", "t": "string"}).notes == (
        "no id column found: using row numbers from 0 as ids",
        "using 'ts' as time",
        "using 't' as text",
    )


@pytest.mark.parametrize(
    ("given", "kinds", "message"),
    [
        (Columns(time="tss"), KINDS, "no column 'tss' for --time; columns: 'id', 'ts', 'text'. Did you mean 'ts'"),
        (Columns(tokens="text"), KINDS, "use --text text"),
        (Columns(text=("goods",)), {"goods": "array"}, "use --tokens goods"),
        (Columns(), {"date": "string", "created_at": "string", "text": "string"}, "'date', 'created_at' could be the time"),
        (Columns(), {"a": "string", "b": "string"}, "no column looks like the time"),
        (Columns(), {"ts": "timestamp", "title": "string", "body": "string"}, "--text title --text body uses the"),
        (Columns(), {"ts": "timestamp", "a": "array", "b": "array"}, "each of 'a', 'b' could be compared"),
        (Columns(), {"ts": "timestamp", "n": "integer"}, "no column looks like text or tokens"),
    ],
)  # fmt: skip
def test_refused(given: Columns, kinds: dict[str, Kind], message: str) -> None:
    with pytest.raises(WrongUsage, match=message):
        infer(given, kinds)
