"""Swoop in SQL."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.functions import udtf

from swoop.spark.scalar_functions import find_char_ngrams, find_similarities, find_word_ngrams, find_words
from swoop.spark.table_functions import FamiliesOfTable, Rejected, TopK
from swoop.spark.versions import vectorized


def register(spark: SparkSession) -> None:
    """Add Swoop's functions to the SQL of a session, also over Spark Connect.

    Parameters
    ----------
    spark
        The session. Swoop must be installed where its Python workers run.

    Notes
    -----
    ``swoop_topk`` gives the stays of :func:`swoop.spark.topk_history`, one history per partition of a table,
    ``swoop_families`` the families of :func:`swoop.spark.families_history`, and ``swoop_rejected`` the rows that they cannot
    use; ``swoop_words(text)``, ``swoop_word_ngrams(text, n)`` and ``swoop_char_ngrams(text, n)`` are arrays
    of tokens, and ``swoop_similarity(name, one, other)`` is that of two such arrays::

        register(spark)
        spark.sql("SELECT * FROM swoop_topk(TABLE(baskets), k => 10, window => '1 hour', by => 'shop')")
    """
    for name, table_function in (("swoop_topk", TopK), ("swoop_families", FamiliesOfTable), ("swoop_rejected", Rejected)):
        made: Any = udtf(table_function, useArrow=False)  # by Arrow, one row at a time takes more than twice as long
        spark.udtf.register(name, made)
    strings = "array<string>"
    for name, function, kind in (
        ("swoop_words", find_words, strings),
        ("swoop_word_ngrams", find_word_ngrams, strings),
        ("swoop_char_ngrams", find_char_ngrams, strings),
        ("swoop_similarity", find_similarities, "double"),
    ):
        spark.udf.register(name, vectorized(function, kind))
