"""From columns to tokens."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import Column, SparkSession

from swoop.errors import InvalidArgument
from swoop.spark import char_ngrams, transitions, word_ngrams, words


def tokens(spark: SparkSession, column: Column, *values: Any) -> Any:
    names = ["a", "b"][: len(values)]
    frame = spark.createDataFrame([values], ", ".join(f"{name} string" for name in names))
    return frame.select(column.alias("tokens")).first()["tokens"]  # type: ignore[index]


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


def test_transitions(spark: SparkSession) -> None:
    events = spark.createDataFrame(
        [(1, "pay", 5), (1, "order", 1), (1, "ship", 3), (2, "order", 2)], "number long, step string, at long"
    )
    rows = {row.id: (row.time, row.tokens) for row in transitions(events, "number", "step", "at").collect()}
    assert rows == {1: (5, ["order→ship", "ship→pay"]), 2: (2, [])}


@pytest.mark.parametrize("wrong", [lambda: word_ngrams("a", n=0), lambda: char_ngrams("a", n=0), lambda: words()])
def test_bad_arguments(spark: SparkSession, wrong: Any) -> None:
    with pytest.raises(InvalidArgument):
        wrong()
