"""Columns of texts become the tokens of the reference, whatever is in them.

Tests of swoop.engine.words, swoop.text.blocks, swoop.text.kernels.
"""

from __future__ import annotations

import random
import sys
import unicodedata
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import swoop
from swoop.errors import InvalidData, InvalidType, UnusableRows
from swoop.similarity import MAX_SET_SIZE
from swoop.text import columns
from swoop.text.columns import make_tokens
from swoop.text.functions import TokenFunction
from tests.support.texts import PARAGRAPHS, PARTS

FUNCTIONS = [
    swoop.words("t"),
    swoop.words("t", keep_urls=False, nfc=True),
    swoop.words("t", emoji=True, stop_words=["the", "a"]),
    swoop.word_ngrams("t", stop_words=["the"]),
    swoop.word_ngrams("t", n=3, emoji=True),
    swoop.char_ngrams("t"),
    swoop.char_ngrams("t", n=1),
]
EVERY = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]


def made(texts: list[str], function: TokenFunction) -> list[list[str]]:
    """The different tokens of each text, by the kernels."""
    found: list[list[str]] = []
    for block in make_tokens([pa.array(texts, pa.large_string())], function):
        assert block.first == len(found)
        tokens = block.tokens.to_list()
        found += [list(dict.fromkeys(tokens[a:b])) for a, b in zip(block.offsets[:-1], block.offsets[1:], strict=True)]
    return found


@pytest.mark.no_cover
@pytest.mark.parametrize("function", [swoop.words("t", emoji=True), swoop.char_ngrams("t", n=1)])
def test_every_character(function: TokenFunction) -> None:
    """Alone and in context; of those that Unicode has not given a meaning, some."""
    known = [character for character in EVERY if unicodedata.category(character) not in ("Cn", "Co")]
    for texts in (known + EVERY[::97], [f"Ab{character}c WWW.{character}" for character in known]):
        assert made(texts, function) == [function(text) for text in texts]


TEXTS = st.lists(st.sampled_from([*PARTS, *PARAGRAPHS]) | st.characters(codec="utf-8")).map("".join)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_texts_of_many_scripts(function: TokenFunction) -> None:
    """Whole, normalised, in capitals, and from every letter on."""
    for text in PARAGRAPHS:
        forms = [*(unicodedata.normalize(form, text) for form in ("NFC", "NFD", "NFKD")), text.upper(), text.title()]
        texts = [*forms, *(text[place:] for place in range(len(text))), *(text[:place] for place in range(len(text)))]
        assert made(texts, function) == [function(text) for text in texts]


@given(st.lists(TEXTS), st.sampled_from(FUNCTIONS), st.data())
def test_mixtures(texts: list[str], function: TokenFunction, data: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "BLOCK", data.draw(st.sampled_from([1, 10, 100, 1 << 20])))
        assert made(texts, function) == [function(text) for text in texts]


@pytest.mark.parametrize("special", ["é", "http://x ", "WWW.", "www", " ", "_", "😀", "Z", ""])
@pytest.mark.parametrize("function", FUNCTIONS[:3])
def test_words_at_every_place(special: str, function: TokenFunction) -> None:
    """Characters of ASCII are read 64 at a time: words that begin, end and go on at every place, up to the last byte."""
    texts = [
        " " * before + "aB" * (size // 2) + special + "Cd" * (after // 2)
        for before in (0, 1, 5, 50, 60, 63, 64, 65)
        for size in (0, 2, 6, 8, 10, 58, 62, 64, 66, 130)
        for after in (0, 2, 8, 70)
    ]
    assert made(texts, function) == [function(text) for text in texts]
    for text in texts:
        assert made([text], function) == [function(text)]


@pytest.mark.no_cover
def test_a_long_text() -> None:
    """Longer than a block, with more tokens than there was room for."""
    text = " ".join(f"w{number}" for number in range(200_000))
    for function in (swoop.words("t"), swoop.char_ngrams("t", n=2)):
        assert made(["a", text, "b"], function) == [function("a"), function(text), function("b")]


def test_no_more_than_a_block_is_copied() -> None:
    """Offsets of strings are widened and views become strings, and several columns one, block by block."""
    function, rows, text = swoop.words("t"), 4000, "win a free phone " * 120  # 8 MB
    for kind, columns_of_text in ((pa.string(), 1), (pa.large_string(), 1), (pa.string_view(), 1), (pa.string_view(), 2)):
        column = pa.array([None, text] * (rows // 2) if columns_of_text == 2 else [text] * rows, kind).slice(1)
        texts = [column] if columns_of_text == 1 else [column, pa.array([text[::-1], None] * (rows // 2), kind).slice(1)]
        before, found = pa.total_allocated_bytes(), 0
        for block in make_tokens(texts, function):
            found += block.rows
            # beside the tokens, which are no buffers of Arrow: what a block was copied to, and offsets
            assert pa.total_allocated_bytes() - before < (2 * columns.BLOCK if kind == pa.string_view() else columns.BLOCK // 2)
        assert found == rows - 1


def inserted(data: Any, tokens: Any = "tokens", **options: Any) -> list[Any]:
    join = swoop.TopKJoin(k=50, window=100, track_changes=True)
    join.insert_many(data, tokens=tokens, **options)
    return [*join.changes(), *join.topk()]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_join_takes_texts_as_it_takes_tokens(function: TokenFunction) -> None:
    rng = random.Random(3)
    texts = ["".join(rng.choices(PARTS, k=rng.randrange(25))) for _ in range(300)]
    times = sorted(rng.randrange(1000) for _ in texts)
    expected = inserted({"tokens": [function(text) for text in texts], "time": times})
    assert expected
    for kind in (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())):
        column = pa.array(["before", *texts]).cast(kind).slice(1) if kind != pa.string_view() else pa.array(texts, kind)
        table = pa.table({"t": pa.chunked_array([column.slice(0, 100), column.slice(100)]), "time": times})
        assert inserted(table, function) == expected
    assert inserted({"t": texts, "time": times}, function) == expected
    frame = pl.DataFrame({"t": texts, "time": times})
    assert inserted(frame, function) == inserted(frame.with_columns(pl.col("t").cast(pl.Categorical)), function) == expected


def test_tokens_are_a_name_or_a_function() -> None:
    join = swoop.TopKJoin(k=1, window=10)
    for wrong in (["t"], swoop.words, None):
        with pytest.raises(InvalidType, match="tokens must be the name of a column or a token function such as words"):
            join.insert_many({"t": ["a"], "time": [1]}, tokens=wrong)  # type: ignore[arg-type]


def test_several_columns() -> None:
    data = {"a": ["On Joins", None, "x"], "b": ["joins on sets", "on joins", None], "time": [1, 2, 3]}
    function = swoop.words("a", "b")
    tokens = [function(a, b) for a, b in zip(data["a"], data["b"], strict=True)]
    expected = inserted({"tokens": tokens, "time": data["time"]})
    assert inserted(data, function) == expected
    views = {name: pa.array(["before", *data[name]], pa.string_view()).slice(1) for name in "ab"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "BLOCK", 1)
        assert inserted({**data, **views}, function) == expected


def test_what_cannot_be_read_is_refused_and_nothing_arrives() -> None:
    ends = pa.array([0, 1, 3], pa.int32()).buffers()[1]
    bad = pa.Array.from_buffers(pa.string(), 2, [None, ends, pa.py_buffer(b"a\xff\xfe")])
    cases: list[tuple[Any, str]] = [
        ({"t": bad, "time": [1, 2]}, "column 't', row 1: the text is not UTF-8"),
        ({"t": ["a", None], "time": [1, 2]}, "column 't', row 1: there is no text, but null"),
        ({"t": ["a", "\ud800"], "time": [1, 2]}, "column 't' cannot be read as texts"),
        ({"t": [1, 2], "time": [1, 2]}, "column 't' has type int64; words are made from strings"),
        ({"t": ["a"], "time": [1, 2]}, "columns differ in length"),
        ({"other": ["a"], "time": [1]}, "there is no column 't' for tokens"),
    ]
    for data, message in cases:
        join = swoop.TopKJoin(k=1, window=10)
        with pytest.raises(InvalidData, match=message):
            join.insert_many(data, tokens=swoop.words("t"))
        assert join.stats.sets == 0


def test_very_long_texts() -> None:
    """A join takes them if they have few enough tokens; a history looks at their length alone."""
    phone = "win a phone" + " " * (MAX_SET_SIZE - 15) + "free"
    (pair,) = inserted({"t": ["win a phone", phone + " " * (100_000_000 - len(phone))], "time": [1, 2]}, swoop.words("t"))[1:]
    assert (pair.newer, pair.older, pair.overlap) == (1, 0, 3)
    history = {"id": [1, 2, 3], "time": [1, 2, 3], "t": ["win a phone", phone, phone + " "]}
    with pytest.warns(UnusableRows, match=r"^1 rows .* the text is longer than 33554431 bytes \(1\)"):
        (stay,) = swoop.history(history, 3, 9, tokens=swoop.words("t"))
    assert (stay.pair.newer, stay.pair.older, stay.pair.overlap) == (2, 1, 3)


def test_a_text_of_too_many_tokens_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """All are counted, also those that repeat."""
    monkeypatch.setattr("swoop.join.columns.MAX_SET_SIZE", 5)
    assert inserted({"t": ["a a a a a", "a " * 5], "time": [1, 2]}, swoop.words("t"))
    with pytest.raises(InvalidData, match="column 't', row 1: the set has 6 tokens, and 5 is the most there can be"):
        inserted({"t": ["a", "a " * 6], "time": [1, 2]}, swoop.words("t"))


def test_nothing_at_all() -> None:
    join = swoop.TopKJoin(k=1, window=10)
    join.insert_many({"t": pa.array([], pa.string()), "time": pa.array([], pa.int64())}, tokens=swoop.words("t"))
    assert join.stats.sets == 0
