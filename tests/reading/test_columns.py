"""Which column is what."""

from __future__ import annotations

from typing import get_args

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swoop.errors import InvalidArgument
from swoop.reading.columns import Columns, Kind, Kinds, check_named, infer, kinds_of, path_of

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
        (Columns(), {"ts": "timestamp", "Item bought": "string", "b": "string"}, "--text 'Item bought' --text b uses the"),
        (Columns(), {"ts": "timestamp", "a": "array", "b": "array"}, "each of 'a', 'b' could be compared"),
        (Columns(), {"ts": "timestamp", "n": "integer"}, "no column looks like text or tokens"),
    ],
)  # fmt: skip
def test_refused(given: Columns, kinds: dict[str, Kind], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        check_and_infer(given, kinds)


def check_and_infer(given: Columns, kinds: Kinds) -> Columns:
    check_named(given, kinds)
    return infer(given, kinds)


STRINGS: Kinds = {"text": "string", "ts": "string"}


@pytest.mark.parametrize(
    ("names", "id"),
    [
        (["id"], "id"),
        (["_id", "user_id"], "_id"),
        (["id_str", "id"], "id"),
        (["id_str", "user_id"], "id_str"),
        (["_id", "id"], "id"),
        (["ID", "id", "uuid"], "uuid"),
        (["CustomerID", "InvoiceNo"], "InvoiceNo"),
        (["Invoice No"], "Invoice No"),
        (["tweet_id", "author_id"], "tweet_id"),
        (["status_id", "in_reply_to_status_id"], "status_id"),
        (["OrderID"], "OrderID"),
        (["TransactionID", "Customer ID"], "TransactionID"),
        (["doc_id"], "doc_id"),
        (["story_id", "user_id"], "story_id"),
        (["user_id"], None),
        (["story_id", "play_id"], None),
        (["paid", "valid"], None),
    ],
)
def test_ids(names: list[str], id: str | None) -> None:
    kinds: Kinds = {**STRINGS, **dict.fromkeys(names, "integer")}
    assert infer(Columns(), kinds).id == id


@pytest.mark.parametrize(
    ("names", "time"),
    [
        *((["price", name], name) for name in ("created_at", "timestamp", "date", "InvoiceDate", "datetime", "Date/Time")),
        *((["price", name], name) for name in ("pubDate", "published", "posted_at", "event_time", "ts", "Order Date")),
        (["created_at", "updated_at"], "created_at"),
        (["created", "created_utc"], "created_utc"),
        (["reviewTime", "unixReviewTime"], "unixReviewTime"),
        (["updated_at"], "updated_at"),
        (["delivery_date"], "delivery_date"),
        (["year"], "year"),
    ],
)  # fmt: skip
def test_times(names: list[str], time: str) -> None:
    kinds: Kinds = {"text": "string", **dict.fromkeys(names, "number")}
    assert infer(Columns(), kinds).time == time


@pytest.mark.parametrize(
    ("names", "text"),
    [
        *(
            (["lang", name], name)
            for name in ("text", "full_text", "body", "message", "title", "headline", "content", "selftext")
        ),
        *((["lang", name], name) for name in ("Description", "review_text", "comment", "tweet", "abstract", "subject")),
        (["text", "full_text"], "full_text"),
    ],
)
def test_texts(names: list[str], text: str) -> None:
    kinds: Kinds = {"ts": "timestamp", **dict.fromkeys(names, "string")}
    assert infer(Columns(), kinds).text == (text,)


NESTED: Kinds = {
    "meta": "other", "meta.id": "string", "meta.created_at": "string", "meta.text": "string", "meta.deep": "other",
    "meta.deep.title": "string", "user": "other", "user.id_str": "string", "user.created": "other",
}  # fmt: skip


def test_ids_of_the_type_of_fractions_are_told() -> None:
    kinds: Kinds = {"id": "number", "time": "integer", "text": "string"}
    assert infer(Columns(), kinds).notes[0] == (
        "no id column found: using row numbers from 0 as ids "
        "('id' has the type of fractions; --id id uses it where they are whole)"
    )
    assert infer(Columns(id="id"), kinds).id == "id"
    assert infer(Columns(), {**kinds, "key": "string"}).id == "key"


def test_nested_fields_are_guessed_where_no_column_fits() -> None:
    assert infer(Columns(), NESTED) == Columns("meta.id", "meta.created_at", ("meta.text",))
    assert infer(Columns(), {**NESTED, **KINDS}) == Columns("id", "ts", ("text",))
    tokens: Kinds = {"when": "timestamp", "a": "other", "a.words": "array", "user": "other", "user.id": "string"}
    assert infer(Columns(), tokens) == Columns(None, "when", (), "a.words")


def test_nested_fields_can_be_named() -> None:
    named = Columns("user.id_str", "meta.created_at", ("meta.deep.title",))
    assert infer(named, NESTED) == named
    with pytest.raises(
        InvalidArgument, match=r"no column 'meta.txt' for --text; columns: 'meta', 'user'. Did you mean 'meta.text'"
    ):
        check_named(Columns(text=("meta.txt",)), NESTED)
    assert path_of("meta.deep.title", ["meta", "user"]) == ("meta", "deep", "title")
    assert path_of("a.b.c", ["a", "a.b"]) == ("a.b", "c")
    assert path_of("a.b", ["a.b"]) == ("a.b",)


RETAIL: Kinds = {
    "InvoiceNo": "string", "StockCode": "string", "Description": "string", "Quantity": "integer", "InvoiceDate": "string",
    "CustomerID": "integer", "Country": "string",
}  # fmt: skip


def test_grouping() -> None:
    found = infer(Columns(group_by="InvoiceNo"), RETAIL)
    assert found == Columns("InvoiceNo", "InvoiceDate", (), "StockCode", None, "InvoiceNo")
    assert found.notes == ("using 'InvoiceDate' as time", "using 'StockCode' as tokens")
    assert infer(Columns(group_by="InvoiceNo", tokens="Description"), RETAIL).tokens == "Description"
    assert infer(Columns(group_by="InvoiceNo", text=("Description",)), RETAIL).tokens is None
    assert infer(Columns(group_by="CustomerID"), {**RETAIL, "StockCode": "number"}).tokens == "Description"
    only: Kinds = {"basket": "integer", "at": "timestamp", "what": "string", "n": "integer"}
    assert infer(Columns(group_by="basket"), only).tokens == "what"


@pytest.mark.parametrize(
    ("given", "kinds", "message"),
    [
        (Columns("CustomerID", group_by="InvoiceNo"), RETAIL, "leave out --id CustomerID"),
        (Columns(group_by="invoice_no"), RETAIL, "no column 'invoice_no' for --group-by.* Did you mean 'InvoiceNo'"),
        (Columns(group_by="g"), {"g": "array", "ts": "timestamp"}, "use --tokens g"),
        (Columns(group_by="g", tokens="n"), {"g": "integer", "n": "number"}, "'n' has no strings or integers"),
        (Columns(group_by="g"), {"g": "integer", "ts": "timestamp", "n": "number"}, "items that 'g' groups"),
        (Columns(), {"d": "other", "d.time": "string", "d.date": "string"}, "each of 'd.time', 'd.date' could be the time"),
        (Columns(time="t"), {"t": "string", "d": "other", "d.text": "string", "d.title": "string"}, "--text d.text --text"),
    ],
)  # fmt: skip
def test_more_refused(given: Columns, kinds: Kinds, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        check_and_infer(given, kinds)


def test_kinds_of_a_schema() -> None:
    types: dict[pa.DataType, Kind] = {
        pa.timestamp("ns", "UTC"): "timestamp", pa.date32(): "timestamp", pa.uint8(): "integer", pa.float32(): "number",
        pa.decimal128(10, 2): "number", pa.string(): "string", pa.large_string(): "string", pa.string_view(): "string",
        pa.dictionary(pa.int8(), pa.string()): "string", pa.list_(pa.string()): "array", pa.large_list(pa.int64()): "array",
        pa.list_(pa.binary(), 3): "array", pa.list_(pa.float64()): "other", pa.bool_(): "other", pa.binary(): "other",
        pa.null(): "other", pa.list_(pa.struct({"a": pa.string()})): "other", pa.list_view(pa.string()): "array",
    }  # fmt: skip
    schema = pa.schema([(str(number), known) for number, known in enumerate(types)])
    assert list(kinds_of(schema).values()) == list(types.values())
    nested = pa.schema({"a": pa.struct({"b": pa.struct({"c": pa.int8()}), "d": pa.string()}), "a.d": pa.int64()})
    assert kinds_of(nested) == {"a": "other", "a.d": "integer", "a.b": "other", "a.b.c": "integer"}


@given(st.dictionaries(st.text("abIidt_. ", min_size=1, max_size=6), st.sampled_from(get_args(Kind)), max_size=6))
def test_what_is_inferred_exists_and_is_used_once(kinds: Kinds) -> None:
    try:
        found = infer(Columns(), kinds)
    except InvalidArgument:
        return
    names = [name for _, name in found.named()]
    assert set(names) <= set(kinds)
    assert len(set(names)) == len(names)
