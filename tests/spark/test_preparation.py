"""From columns to tokens and times."""

from __future__ import annotations

import datetime as dt
import random
import sys
import unicodedata
from collections.abc import Iterable
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from swoop.errors import InvalidArgument
from swoop.spark import char_ngrams, rejected, timestamps, topk_history, transitions, word_ngrams, words
from swoop.text.functions import TokenFunction
from tests.support.texts import PARAGRAPHS, PARTS


def tokens(spark: SparkSession, function: TokenFunction, *values: Any) -> Any:
    names = ["a", "b"][: len(values)]
    frame = spark.createDataFrame([values], ", ".join(f"{name} string" for name in names))
    return frame.select(function.column().alias("tokens")).first()["tokens"]  # type: ignore[index]


def test_words(spark: SparkSession) -> None:
    assert tokens(spark, words("a"), "The Cat, the DOG!  Ümlaut naïve_1 日本") == [
        "the",
        "cat",
        "dog",
        "ümlaut",
        "naïve_1",
        "日本",
    ]
    assert tokens(spark, words("a"), "see https://x.org/a?b=1 now") == ["see", "https://x.org/a?b=1", "now"]
    assert tokens(spark, words("a", keep_urls=False), "https://x.org") == ["https", "x", "org"]
    assert tokens(spark, words("a", stop_words=["The", "a"]), "The cat and a dog") == ["cat", "and", "dog"]
    assert tokens(spark, words("a", "b"), "Ann Lee", "On Joins") == ["ann", "lee", "on", "joins"]
    assert tokens(spark, words("a", "b"), None, "On Joins") == ["on", "joins"]
    assert tokens(spark, words("a"), "") == []
    assert tokens(spark, words("a"), None) is None


def test_word_ngrams(spark: SparkSession) -> None:
    assert tokens(spark, word_ngrams("a"), "to be or to be") == ["to be", "be or", "or to"]
    assert tokens(spark, word_ngrams("a", n=3), "to be or not") == ["to be or", "be or not"]
    assert tokens(spark, word_ngrams("a", n=3), "Hello you") == ["hello you"]
    assert tokens(spark, word_ngrams("a"), "") == []
    assert tokens(spark, word_ngrams("a"), None) is None


def test_char_ngrams(spark: SparkSession) -> None:
    assert tokens(spark, char_ngrams("a"), "Anna  an") == ["ann", "nna", "na ", "a a", " an"]
    assert tokens(spark, char_ngrams("a"), "ab") == ["ab"]
    assert tokens(spark, char_ngrams("a", n=1), "aba") == ["a", "b"]
    assert tokens(spark, char_ngrams("a"), "") == []
    assert tokens(spark, char_ngrams("a"), None) is None


def is_old(character: str) -> bool:
    """Whether all versions of Unicode know it that Java and Python may have."""
    return unicodedata.ucd_3_2_0.category(character) not in ("Cn", "Co", "Cs")


@pytest.mark.no_cover
@pytest.mark.parametrize(
    "function", [words("t", emoji=True, stop_words=["the"]), words("t", keep_urls=False), word_ngrams("t"), char_ngrams("t")]
)
def test_columns_are_those_of_the_reference(spark: SparkSession, function: TokenFunction) -> None:
    """For every character that all versions of Unicode know, alone and in context, and for mixtures."""
    rng = random.Random(1)
    known = [character for character in map(chr, range(sys.maxunicode + 1)) if is_old(character)]
    texts = [*known, *(f"a{character}b" for character in known)]
    texts += ["".join(rng.choices(PARTS, k=rng.randrange(30))) for _ in range(3000)]
    texts += [form for text in PARAGRAPHS for form in (text, text.upper(), unicodedata.normalize("NFD", text))]
    texts += ["".join(rng.choices([*PARTS, *PARAGRAPHS], k=rng.randrange(9))) for _ in range(500)]
    rows = spark.createDataFrame(pa.table({"n": pa.array(range(len(texts))), "t": pa.array(texts)}))
    found = rows.select("n", function.column().alias("tokens")).toArrow().sort_by("n")["tokens"].to_pylist()
    different = [(text, made, function(text)) for text, made in zip(texts, found, strict=True) if made != function(text)]
    assert different == []


def test_nfc_is_not_a_column() -> None:
    with pytest.raises(InvalidArgument, match="NFC"):
        words("t", nfc=True).column()


def test_long_texts(spark: SparkSession) -> None:
    """The text is looked at once, not once for each of its parts."""
    for function, once in ((char_ngrams("a", n=5), "regexp_replace"), (word_ngrams("a"), "regexp_extract_all")):
        assert str(function.column()).count(once) == 1
    long = "".join(map(chr, range(0x4E00, 0x9FA0))) * 10
    assert len(long) > 200_000
    assert tokens(spark, char_ngrams("a", n=5), long) == [(long + long)[at : at + 5] for at in range(0x9FA0 - 0x4E00)]
    several = [f"w{number}" for number in range(50_000)]
    assert tokens(spark, word_ngrams("a"), " ".join(several)) == [f"{a} {b}" for a, b in pairwise(several)]


def test_what_is_not_utf8_has_no_tokens(spark: SparkSession) -> None:
    """Also where only one of several columns is not."""
    texts = spark.createDataFrame([(b"ok", b"good"), (b"\xff", b"good"), (b"a \xed\xa0\x80 b", None)], "a binary, b binary")
    strings = texts.selectExpr("cast(a as string) a", "cast(b as string) b")
    for made in (words, word_ngrams, char_ngrams):
        found = [row.t for row in strings.select(made("a", "b").column().alias("t")).collect()]
        assert found[0]
        assert found[1:] == [None, None]


def test_transitions(spark: SparkSession) -> None:
    events = spark.createDataFrame(
        [(1, "pay", 5), (1, "order", 1), (1, "ship", 3), (2, "order", 2)], "number long, step string, at long"
    )
    rows = {row.id: (row.time, row.tokens) for row in transitions(events, "number", "step", "at").collect()}
    assert rows == {1: (5, ["order→ship", "ship→pay"]), 2: (2, [])}


def times(spark: SparkSession, kind: str, values: Iterable[Any], **options: Any) -> list[str | None]:
    """As strings, since the Python of the tests may live in another time zone."""
    frame = spark.createDataFrame([(n, value) for n, value in enumerate(values)], f"n int, a {kind}")
    read = frame.select("n", timestamps("a", **options).alias("t"))
    assert read.schema["t"].dataType.simpleString() == "timestamp"
    return [row.t for row in read.selectExpr("n", "cast(t as string) t").orderBy("n").collect()]


def read_each(spark: SparkSession, kind: str, expected: dict[Any, str | None], **options: Any) -> None:
    values = [*expected, None]
    assert dict(zip(values, times(spark, kind, values, **options), strict=True)) == {**expected, None: None}


def test_timestamps_of_strings(spark: SparkSession) -> None:
    read_each(
        spark,
        "string",
        {
            "2024-01-01T12:00:00+02:00": "2024-01-01 10:00:00",
            "2024-01-01T12:00:00-0130": "2024-01-01 13:30:00",
            "2024-01-01T12:00:00.1234567Z": "2024-01-01 12:00:00.123456",
            "1969-12-31T23:59:59.9999999Z": "1969-12-31 23:59:59.999999",
            "2024-01-01 12:30": "2024-01-01 12:30:00",
            " 2024-01-01 ": "2024-01-01 00:00:00",
            "2024-02-29": "2024-02-29 00:00:00",
            "2023-02-29": None,
            "2024-01-01T25:00:00": None,
            "12:30": None,
            "T12:30:00": None,
            "1704067200": None,
            "202401": None,
            "10000-01-01": None,
            "0000-01-01": None,
            "0001-01-01": "0001-01-01 00:00:00",
            "9999-12-31T23:59:59.999999": "9999-12-31 23:59:59.999999",
            "now": None,
            "garbage": None,
            "NaN": None,
            "": None,
        },
    )


def test_timestamps_by_a_format(spark: SparkSession) -> None:
    expected: dict[Any, str | None] = {"31/12/2024 23:59": "2024-12-31 23:59:00", "12/31/2024 23:59": None, "2024-01-01": None}
    read_each(spark, "string", expected, format="dd/MM/yyyy HH:mm")
    zones: dict[Any, str | None] = {"20240101T120000+0200": "2024-01-01 10:00:00", "20240101T120000": None}
    read_each(spark, "string", zones, format="yyyyMMdd'T'HHmmssZ")
    read_each(spark, "long", {20240101: "2024-01-01 00:00:00", 20241301: None, -1: None}, format="yyyyMMdd")
    tweet: dict[Any, str | None] = {"Wed Oct 10 20:19:24 +0200 2018": "2018-10-10 18:19:24", "2018-10-10": None}
    read_each(spark, "string", tweet, format="twitter")
    read_each(spark, "string", {"31.12.2024": "2024-12-31 00:00:00", "12.31.2024": None}, format="%d.%m.%Y")


SECONDS = {
    1704067200: "2024-01-01 00:00:00",
    -1: "1969-12-31 23:59:59",
    0: "1970-01-01 00:00:00",
    -62135596800: "0001-01-01 00:00:00",
    253402300799: "9999-12-31 23:59:59",
    -62135596801: None,
    253402300800: None,
    2**63 - 1: None,
    -(2**63): None,
}


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        (None, SECONDS),
        ("s", SECONDS),
        (
            "ms",
            {
                1704067200_123: "2024-01-01 00:00:00.123",
                -1: "1969-12-31 23:59:59.999",
                253402300799_999: "9999-12-31 23:59:59.999",
                253402300800_000: None,
                2**63 - 1: None,
            },
        ),
        (
            "us",
            {
                1704067200_123456: "2024-01-01 00:00:00.123456",
                -1: "1969-12-31 23:59:59.999999",
                253402300799_999999: "9999-12-31 23:59:59.999999",
                253402300800_000000: None,
                -(2**63): None,
            },
        ),
        (
            "ns",
            {
                1704067200_123456_999: "2024-01-01 00:00:00.123456",
                -1: "1969-12-31 23:59:59.999999",
                -(2**63): "1677-09-21 00:12:43.145224",
                2**63 - 1: "2262-04-11 23:47:16.854775",
            },
        ),
    ],
)
def test_timestamps_of_epochs(spark: SparkSession, unit: str | None, expected: dict[int, str | None]) -> None:
    read_each(spark, "long", expected, unit=unit)
    read_each(spark, "double", {float(n): time for n, time in expected.items() if abs(n) < 2**53}, unit=unit)
    if unit is not None:
        written = {**{str(n): time for n, time in expected.items()}, **{f" {n}.0 ": time for n, time in expected.items()}}
        read_each(spark, "string", written, unit=unit)


@pytest.mark.parametrize("unit", [None, "s"])
def test_timestamps_of_fractions_of_seconds(spark: SparkSession, unit: str | None) -> None:
    exact = {"1704067200.123456": "2024-01-01 00:00:00.123456", "-0.000001": "1969-12-31 23:59:59.999999"}
    read_each(spark, "double", {float(text): time for text, time in exact.items()}, unit=unit)
    finer: dict[str, str | None] = {**exact, "1704067200.123456999999999": "2024-01-01 00:00:00.123456", "1e12": None}
    read_each(spark, "decimal(38, 15)", {Decimal(text): time for text, time in finer.items()}, unit=unit)
    if unit is not None:
        more = {"1.7040672e9": "2024-01-01 00:00:00", ".5": "1970-01-01 00:00:00.5", "+1": "1970-01-01 00:00:01"}
        read_each(spark, "string", {**finer, **more}, unit=unit)


@pytest.mark.parametrize("unit", [None, "s", "ms", "us", "ns"])
def test_timestamps_of_what_is_no_count(spark: SparkSession, unit: str | None) -> None:
    nothing = ["NaN", "Infinity", "-Infinity", "1e300", "-1e300", "1e25"]
    assert times(spark, "double", map(float, nothing), unit=unit) == [None] * 6
    assert times(spark, "float", [float("nan"), float("inf"), 3e38], unit=unit) == [None] * 3
    assert times(spark, "decimal(38, 0)", [Decimal(10) ** 30, -(Decimal(10) ** 37)], unit=unit) == [None] * 2
    words = ["", " ", "x", "0x10", "1_000", "12 5", "1e", "e5", ".", "--1", "2024-01-01", "1e999999999", "1d"]
    if unit is not None:
        assert times(spark, "string", [*nothing, *words, "9" * 400], unit=unit) == [None] * 20


def test_timestamps_of_times(spark: SparkSession) -> None:
    """They stay as they are, also in the hour that the clocks of the session have twice."""
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Europe/Vienna")
    try:
        twice = spark.range(1729987200, 1729994400, 1800).select(timestamps("id").alias("a"))
        assert twice.filter(timestamps("a") != twice["a"]).count() == 0
        assert [row.n for row in twice.select(timestamps("a").cast("long").alias("n")).orderBy("n").collect()] == [
            1729987200,
            1729989000,
            1729990800,
            1729992600,
        ]
        assert times(spark, "date", [dt.date(2024, 1, 1)]) == ["2024-01-01 00:00:00"]
        assert times(spark, "timestamp_ntz", [dt.datetime(2024, 1, 1, 1)]) == ["2024-01-01 01:00:00"]
        assert times(spark, "string", ["2024-07-01T00:00:00Z"]) == ["2024-07-01 02:00:00"]
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone or "UTC")


def test_what_is_no_time_is_rejected(spark: SparkSession) -> None:
    raw = spark.createDataFrame([(1, "10"), (2, "then"), (3, "20"), (4, None), (5, "1e99")], "id int, at string")
    sets = raw.selectExpr("id", "at", "array('x') tokens").withColumn("time", timestamps("at", unit="ms"))
    assert {row.id for row in rejected(sets).collect()} == {2, 4, 5}
    with pytest.warns(UserWarning, match="^3 rows are unusable"):
        (stay,) = topk_history(sets, 3, "1 hour").collect()
    assert (stay.newer, stay.older) == (3, 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unit": "minutes"}, "unit must be one of 's', 'ms', 'us', 'ns', not 'minutes'"),
        ({"unit": ""}, "not ''"),
        ({"unit": 1000}, "not 1000"),
        ({"unit": "s", "format": "yyyy"}, "a unit for numbers or a format for strings, not both"),
    ],
)
def test_bad_arguments_of_timestamps(spark: SparkSession, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        timestamps("a", **options)


@pytest.mark.parametrize("wrong", [lambda: word_ngrams("a", n=0), lambda: char_ngrams("a", n=0), lambda: words()])
def test_bad_arguments(spark: SparkSession, wrong: Any) -> None:
    with pytest.raises(InvalidArgument):
        wrong()
