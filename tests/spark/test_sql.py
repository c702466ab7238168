"""Swoop in SQL: equal to brute force in every partition, refused with the parameter's name, and nothing dropped in silence.

Tests of swoop.spark.table_functions, swoop.spark.scalar_functions.
"""

from __future__ import annotations

import datetime as dt
import logging
import random
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.errors import AnalysisException, PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.udtf import AnalyzeArgument

import swoop
from swoop.errors import InvalidArgument, InvalidData, SwoopError
from swoop.oracle import _distinct
from swoop.similarity import BUILT_IN, find_similarity
from swoop.spark import char_ngrams, register, rejected, topk_history, word_ngrams, words
from swoop.spark.scalar_functions import find_char_ngrams, find_similarities, find_word_ngrams, find_words
from swoop.spark.table_functions import FamiliesOfTable, Rejected, TopK
from swoop.spark.versions import minor_version
from tests.support.frames import SCHEMA, collected, frame, history
from tests.support.slices import stays_of

ASKED = "k => 4, window => 9"


@pytest.fixture(scope="module")
def sql(spark: SparkSession) -> Iterator[SparkSession]:
    register(spark)
    yield spark
    for name in ("sets", "bad", "posts"):
        spark.catalog.dropTempView(name)


def topk(sql: SparkSession, arguments: str) -> list[Any]:
    return collected(sql.sql(f"SELECT * FROM swoop_topk({arguments})"))


def refused(sql: SparkSession, arguments: str, function: str = "swoop_topk") -> str:
    """What is said when a query is analysed; nothing has run by then."""
    with pytest.raises(PySparkException) as error:
        sql.sql(f"SELECT * FROM {function}({arguments})")
    return str(error.value)


def constant(value: Any) -> AnalyzeArgument:
    return AnalyzeArgument(T.NullType(), value, isTable=False, isConstantExpression=True)


@pytest.mark.parametrize("seed", range(2))
def test_each_partition_is_a_history(sql: SparkSession, seed: int) -> None:
    """Ties in time, ids that repeat in other partitions, one stream and two; whoever makes the partitions."""
    two_streams, similarity = seed % 2 == 1, ["jaccard", "hamming"][seed]
    histories = {tenant: history(100, 10 * seed + n, two_streams) for n, tenant in enumerate(["a", "b", None])}
    rows = [
        (tenant, n, record.time, list(record.tokens), record.stream)
        for tenant, records in histories.items()
        for n, record in enumerate(records)
    ]
    random.Random(seed).shuffle(rows)
    sets = sql.createDataFrame(rows, "tenant string, id int, time long, tokens array<string>, side string").repartition(3)
    sets.createOrReplaceTempView("sets")
    options = {"k": 4, "window": 9, "similarity": similarity, "two_streams": two_streams}
    expected = {tenant: stays_of(records, **options) for tenant, records in histories.items()}
    asked = f"{ASKED}, similarity => '{similarity}'" + (", stream => 'side'" if two_streams else "")
    found = topk(sql, f"TABLE(sets), {asked}, by => 'tenant'")
    for tenant, stays in expected.items():
        assert [row[1:] for row in found if row[0] == tenant] == stays
        assert len(stays) > 20
    together = sorted((stay for stays in expected.values() for stay in stays), key=repr)
    assert topk(sql, f"TABLE(sets) PARTITION BY tenant ORDER BY time, {asked}") == together
    assert topk(sql, f"TABLE(SELECT * FROM sets WHERE tenant = 'a'), {asked}, by => array()") == expected["a"]


def test_equal_to_a_history(sql: SparkSession) -> None:
    """Timestamps, two columns of text, equal times and ids, more rows than a block: the stays of topk_history."""
    rng = random.Random(5)
    begin = dt.datetime(2024, 2, 28, tzinfo=dt.UTC)
    rows = [
        (
            f"post {rng.randrange(200)}",
            begin + dt.timedelta(seconds=n // 7),
            rng.choice(["Win!", None]),
            f"a b c {n % 5} {n % 3}",
        )
        for n in range(17_000)
    ]
    rng.shuffle(rows)
    posts = sql.createDataFrame(rows, "name string, at timestamp, title string, body string")
    posts.createOrReplaceTempView("posts")
    names = "id => 'name', time => 'at', tokens => 'words(title, body, stop_words => [\"a\"])'"
    columns = "newer, older, similarity, overlap, cast(enter as string), cast(leave as string)"
    for copies in ("once",):
        asked = f"k => 3, window => INTERVAL 1 MINUTE, {names}, copies => '{copies}', by => array()"
        found = collected(sql.sql(f"SELECT {columns} FROM swoop_topk(TABLE(posts), {asked})"))
        stays = topk_history(
            posts, 3, "1 minute", id="name", time="at", tokens=words("title", "body", stop_words=["a"]), copies=copies
        )
        assert found == collected(stays.selectExpr(*columns.split(", ")))
        assert len(found) > 20


def test_times_without_a_zone_and_bytes(sql: SparkSession) -> None:
    noon = dt.datetime(2024, 1, 1, 12)
    rows = [
        (b"\xff", noon, [1, 2]),
        (b"\xfe", noon + dt.timedelta(minutes=10), [2, 1, 1]),
        (b"", noon + dt.timedelta(hours=2), []),
    ]
    sql.createDataFrame(rows, "id binary, time timestamp_ntz, tokens array<int>").createOrReplaceTempView("sets")
    ((newer, older, similarity, overlap, enter, leave),) = topk(sql, "TABLE(sets), k => 1, window => '1 hour', by => array()")
    assert (bytes(newer), bytes(older), similarity, overlap) == (b"\xfe", b"\xff", 1.0, 2)
    assert (enter, leave) == (rows[1][1], noon + dt.timedelta(hours=1))


def families(sql: SparkSession, arguments: str) -> list[Any]:
    return collected(sql.sql(f"SELECT * FROM swoop_families({arguments})"))


@pytest.mark.parametrize("similarity", ["jaccard", "cosine"])
def test_families_of_each_partition(sql: SparkSession, similarity: str) -> None:
    """Ties in time, more rows than a block, ids that repeat in other partitions; whoever makes the partitions."""
    histories = {tenant: history(size, n) for n, (tenant, size) in enumerate({"a": 17_000, "b": 200, None: 300}.items())}
    rows = [
        (tenant, n, record.time, [str(token) for token in record.tokens], record.time)
        for tenant, records in histories.items()
        for n, record in enumerate(records)
    ]
    kinds = "tenant string, number int, at long, words array<string>, size long"
    expected = {}
    for tenant in histories:
        mine = [row for row in rows if row[0] == tenant]
        columns = {name: [row[place] for row in mine] for place, name in enumerate(["tenant", "id", "time", "tokens"])}
        found = swoop.families_history(columns, 0.8, 9, similarity)
        expected[tenant] = sorted((tuple(row.values()) for row in found.to_arrow().to_pylist()), key=repr)
        assert len(expected[tenant]) > 3
    random.Random(3).shuffle(rows)
    sql.createDataFrame(rows, kinds).repartition(3).createOrReplaceTempView("sets")
    names = "id => 'number', time => 'at', tokens => 'words'"
    asked = f"min_similarity => 0.8, window => 9, similarity => '{similarity}', {names}"
    found = families(sql, f"TABLE(sets), {asked}, by => 'tenant'")
    for tenant, mine in expected.items():
        assert [row[1:] for row in found if row[0] == tenant] == mine
    together = sorted((family for mine in expected.values() for family in mine), key=repr)
    assert families(sql, f"TABLE(sets) PARTITION BY tenant ORDER BY at, {asked}") == together
    assert families(sql, f"TABLE(SELECT * FROM sets WHERE tenant = 'b'), {asked}, by => array()") == expected["b"]


def test_families_of_texts(sql: SparkSession) -> None:
    """Timestamps, ids of letters, words of two columns."""
    noon = dt.datetime(2024, 2, 28, 12)
    texts = ["Win a phone", "win a PHONE!", "Hello", "Win a phone now"]
    rows = [(f"post {n}", noon + n * dt.timedelta(minutes=25), text, None) for n, text in enumerate(texts)]
    kinds = "id string, time timestamp_ntz, title string, body string"
    sql.createDataFrame(rows, kinds).createOrReplaceTempView("posts")
    asked = "min_similarity => 0.7, window => INTERVAL 1 HOUR, tokens => 'words(title, body)', by => array()"
    assert families(sql, f"TABLE(posts), {asked}") == [("post 0", 2, 3, noon, noon + dt.timedelta(minutes=75), "post 3")]


def test_no_rows(sql: SparkSession) -> None:
    sql.createDataFrame([], SCHEMA).createOrReplaceTempView("sets")
    assert topk(sql, f"TABLE(sets), {ASKED}, by => array()") == []
    assert families(sql, "TABLE(sets), min_similarity => 0.5, window => 9, by => array()") == []


def test_rows_without_partition_or_order(sql: SparkSession) -> None:
    """Each task would be a history of its own, so this is refused, though only where it runs."""
    frame(sql, history(60, 3)).createOrReplaceTempView("sets")
    for clause, said in (
        ("", "the rows of the table are not partitioned"),
        ("PARTITION BY stream ORDER BY time DESC", "not in the order of time; write ORDER BY time"),
    ):
        with pytest.raises(PySparkException, match=said):
            topk(sql, f"TABLE(sets) {clause}, {ASKED}")
        with pytest.raises(PySparkException, match=said):
            families(sql, f"TABLE(sets) {clause}, min_similarity => 0.5, window => 9")


def test_streams_are_refused(sql: SparkSession, tmp_path: Path) -> None:
    sql.readStream.schema("tenant int, id long, time long, tokens array<string>").json(str(tmp_path)).createOrReplaceTempView(
        "live"
    )
    for by in ("by => 'tenant'", "by => array()"):
        for query in (f"swoop_topk(TABLE(live), k => 4, window => 9, {by})", f"swoop_families(TABLE(live), 0.5, 9, {by})"):
            writer = sql.sql(f"SELECT * FROM {query}").writeStream.format("noop")
            with pytest.raises(AnalysisException, match="not supported on streaming"):
                writer.option("checkpointLocation", str(tmp_path / "state")).start()


def test_wrong_arguments_are_refused_when_a_query_is_analysed(sql: SparkSession) -> None:
    sql.createDataFrame([], SCHEMA).createOrReplaceTempView("sets")
    for arguments, said in {
        "TABLE(sets), k => 0, window => 9": "k must be at least 1, not 0",
        "TABLE(sets), k => 3, window => 9, n => 3": "unexpected keyword argument 'n'",
        "TABLE(sets), k => 3, window => 9, tokens => 'word(text)'": "there is no token function 'word'",
        "3, k => 3, window => 9": "the first argument of swoop_topk must be a table",
    }.items():
        assert said in refused(sql, arguments), arguments
    logged: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = logged.append  # type: ignore[method-assign]
    logger = PySparkLogger.getLogger("SQLQueryContextLogger")
    logger.addHandler(handler)
    assert "min_similarity must be from 0 to 1" in refused(sql, "TABLE(sets), 1.5, window => 9", "swoop_families")
    logger.removeHandler(handler)
    assert not logged  # all that Java has to say of an error is not said beside it


def test_what_an_analysis_refuses(spark: SparkSession) -> None:
    columns = "id long, time long, tokens array<string>, text string, ratio double, enter int, `a``b` string"
    table = AnalyzeArgument(T._parse_datatype_string(columns), None, isTable=True, isConstantExpression=False)
    asked = {"k": 3, "window": 9}
    for more, said in (
        ({"k": "many"}, "k must be an integer"),
        ({"k": None}, "say how similar with min_similarity"),
        ({"window": "9 moons"}, "unknown unit 'moons' in the window"),
        ({"window": "1 hour"}, "column 'time' for time has type bigint, but times must be timestamps with window 1:00:00"),
        ({"window": None}, "a window must be a duration or an integer"),
        ({"similarity": "jacard"}, "did you mean 'jaccard'"),
        ({"min_similarity": Decimal("1.5")}, "min_similarity must be from 0 to 1"),
        ({"max_pairs": 5}, "max_pairs=5 was given"),
        ({"copies": "twice"}, "copies must be 'each'"),
        ({"id": "name"}, "there is no column 'name' for id"),
        ({"id": "ratio"}, "column 'ratio' for id has type double"),
        ({"id": 3}, "id must be the name of a column, not 3"),
        ({"time": "text"}, "column 'text' for time has type string, but times must be integers"),
        ({"tokens": "text"}, "column 'text' for tokens has type string; tokens must be arrays"),
        ({"tokens": "words(title)"}, "there is no column 'title' for tokens"),
        ({"tokens": "words(id)"}, "column 'id' for tokens has type bigint; words are made from strings"),
        ({"stream": "ratio"}, "column 'ratio' for stream has type double; the stream must be 'left' or 'right'"),
        ({"stream": "side"}, "there is no column 'side' for stream"),
        ({"by": "tenant"}, "there is no column 'tenant' for by"),
        ({"by": ["text", "ratio"]}, "column 'ratio' for by has type double"),
        ({"by": "enter"}, "column 'enter' for by would be twice in the result"),
        ({"by": 3}, "by must be the name of a column or an array of names"),
        ({"unusable": "drop"}, "unusable must be 'error' or 'skip', not 'drop'"),
    ):
        with pytest.raises(SwoopError) as error:
            TopK.analyze(table, **{name: constant(value) for name, value in {**asked, **more}.items()})
        assert said in str(error.value)
    for more, said in (
        ({"min_similarity": None}, "min_similarity must be a number"),
        ({"min_similarity": "much"}, "min_similarity must be a number"),
        ({"window": "1 hour"}, "column 'time' for time has type bigint, but times must be timestamps"),
        ({"similarity": "jacard"}, "did you mean 'jaccard'"),
        ({"id": "ratio"}, "column 'ratio' for id has type double"),
        ({"tokens": "words(title)"}, "there is no column 'title' for tokens"),
        ({"by": "id"}, "column 'id' for by would be twice in the result"),
        ({"unusable": "drop"}, "unusable must be 'error' or 'skip', not 'drop'"),
    ):
        asked = {"min_similarity": 0.5, "window": 9, **more}
        with pytest.raises(SwoopError) as error:
            FamiliesOfTable.analyze(table, **{name: constant(value) for name, value in asked.items()})
        assert said in str(error.value)
    with pytest.raises(InvalidArgument, match="k must be a constant"):
        TopK.analyze(table, AnalyzeArgument(T.LongType(), None, isTable=False, isConstantExpression=False), constant(9))
    with pytest.raises(InvalidData, match="there is no column 'name' for id"):
        Rejected.analyze(table, constant("name"))
    found = TopK.analyze(table, constant(3), constant(9), tokens=constant("words(text, `a``b`)"), by=constant(["text"]))
    assert found.schema.names == ["text", "newer", "older", "similarity", "overlap", "enter", "leave"]
    assert "concat_ws(' ', cast(`text` as string), cast(`a``b` as string))" in found.select[2].name


def test_unusable_rows_are_told(sql: SparkSession) -> None:
    """An error by default; left out if that is said; and they can be had, with the reasons that Python gives."""
    rows = [
        ("1", 1, ["a"], "left"),
        (None, 1, ["a"], "left"),
        ("2", None, ["a"], "left"),
        ("3", 2, None, "left"),
        ("4", 2, ["a", None], "left"),
        ("5", 2**62, ["a"], "left"),
        ("6", 3, ["a"], "middle"),
        ("7", 4, ["a"], "right"),
    ]
    bad = sql.createDataFrame(rows, "id string, time long, tokens array<string>, side string")
    bad = bad.unionByName(bad.sparkSession.sql("SELECT string(x'61FF') id, 5L time, array('a') tokens, 'left' side"))
    bad = bad.unionByName(bad.sparkSession.sql("SELECT '8' id, 5L time, array(string(x'FF')) tokens, 'left' side"))
    bad.createOrReplaceTempView("bad")
    asked = "TABLE(bad), k => 3, window => 9, stream => 'side', by => array()"
    with pytest.raises(PySparkException) as error:
        topk(sql, asked)
    assert "8 rows cannot be used" in str(error.value)
    assert "1: the time is out of range" in str(error.value)
    assert topk(sql, f"{asked}, unusable => 'skip'") == [("7", "1", 1.0, 1, 4, None)]
    asked = "TABLE(bad), min_similarity => 0.5, window => 9, by => array()"
    with pytest.raises(PySparkException, match="with unusable => 'skip', swoop_families leaves them out"):
        families(sql, asked)
    assert families(sql, f"{asked}, unusable => 'skip'") == [("1", 3, 3, 1, 4, "7")]
    found = sql.sql("SELECT * FROM swoop_rejected(TABLE(bad), stream => 'side')").collect()
    expected = rejected(bad, stream="side").collect()
    assert sorted(row.reason for row in found) == sorted(row.reason for row in expected)
    old = "SELECT stack(2, 1, timestamp_seconds(-99999999999), 2, timestamp'2024-01-01') AS (id, time), array('a') tokens"
    assert [row.reason for row in sql.sql(f"SELECT * FROM swoop_rejected(TABLE({old}))").collect()] == [
        "the time is out of range"
    ]
    (late,) = (row for row in found if row.reason == "the time is out of range")
    assert late.row == '{"id":"5","time":4611686018427387904,"tokens":["a"],"side":"left"}'


def test_scalar_functions(sql: SparkSession) -> None:
    texts = ["Win a FREE phone, win!", "", None, "ΣΑΣ Σ", "to be or to be"]
    posts = sql.createDataFrame(list(enumerate(texts)), "id int, text string")
    posts.createOrReplaceTempView("posts")
    made = sql.sql(
        "SELECT text, swoop_words(text) a, swoop_word_ngrams(text, 2) b, swoop_char_ngrams(text, 3) c, "
        "swoop_similarity('dice', split(text, ' '), array('to', 'be', 'be')) d FROM posts ORDER BY id"
    ).collect()
    for row in made:
        for name, function in (("a", words("text")), ("b", word_ngrams("text")), ("c", char_ngrams("text"))):
            assert row[name] == (None if row.text is None else function(row.text))
    assert [row.d for row in made] == [0.0, 0.0, None, 0.0, 0.8]
    broken = sql.sql("SELECT swoop_words(string(x'61FF')) a, swoop_words('still works') b").first()
    assert broken is not None
    of_rows = minor_version() < (4, 1)  # where such bytes reach Python as U+FFFD
    assert (broken.a, broken.b) == (["a"] if of_rows else None, ["still", "works"])
    for call, said in {
        "swoop_similarity('jacard', array('a'), array('a'))": "name: there is no similarity 'jacard': it must be one of",
        "swoop_word_ngrams('a', 0)": "n must be an integer from 1",
        "swoop_similarity('jaccard', 1, array('a'))": "one must be an array, not int",
        "swoop_similarity('jaccard', array(1), 'a')": "other must be an array, not",
        "swoop_words(1)": "text must be a string, not int",
    }.items():
        with pytest.raises(PySparkException, match=said.replace("(", r"\(")):
            sql.sql(f"SELECT {call}").collect()


TOKENS = {
    pa.string(): st.sampled_from(["a", "b", "c", "ä", "1"]),
    pa.int32(): st.integers(0, 4),
    pa.int64(): st.integers(0, 4),
    pa.binary(): st.sampled_from([b"a", b"1", b"\xff"]),
}
KINDS = st.sampled_from(list(TOKENS))


@given(st.data(), st.sampled_from(list(BUILT_IN)), KINDS, KINDS)
def test_similarities_are_those_of_the_oracle(data: Any, name: str, one: pa.DataType, other: pa.DataType) -> None:
    def sets(kind: pa.DataType) -> Any:
        return st.none() | st.lists(st.none() | TOKENS[kind] if data.draw(st.booleans()) else TOKENS[kind], max_size=6)

    rows = data.draw(st.lists(st.tuples(sets(one), sets(other)), max_size=8))
    columns = [pa.array([row[side] for row in rows], pa.list_(kind)) for side, kind in enumerate((one, other))]
    measure = find_similarity(name)
    expected = []
    for r, s in rows:
        if r is None or s is None or None in r or None in s:
            expected.append(None)
        else:
            left, right = _distinct(r), _distinct(s)
            expected.append(measure(len(left), len(right), len(left & right)))
    assert find_similarities(pa.array([name] * len(rows), pa.string()), *columns).to_pylist() == expected


@given(st.lists(st.none() | st.text(), max_size=12), st.integers(1, 4))
def test_tokens_are_those_of_the_functions(texts: list[str | None], n: int) -> None:
    column, sizes = pa.array(texts, pa.string()), pa.array([n] * len(texts), pa.int32())

    def expected(function: Any) -> list[Any]:
        return [None if text is None else function(text) for text in texts]

    assert find_words(column).to_pylist() == expected(words("text"))
    assert find_word_ngrams(column, sizes).to_pylist() == expected(word_ngrams("text", n=n))
    assert find_char_ngrams(column, sizes).to_pylist() == expected(char_ngrams("text", n=n))


def test_what_scalar_functions_refuse() -> None:
    with pytest.raises(InvalidArgument, match="n must be a constant"):
        find_word_ngrams(pa.array(["a", "b"]), pa.array([1, 2]))
    with pytest.raises(InvalidData, match="words are made from strings"):
        find_words(pa.array([1]))
    assert find_words(pa.array([None], pa.null())).to_pylist() == [None]
    assert find_similarities(pa.array(["dice"]), pa.array([None], pa.null()), pa.array([["a"]])).to_pylist() == [None]
