"""Swoop on Spark: preparation of tokens, the top-k of a whole history, and sessions to run it in.

Everything here is a function of DataFrames, usable in local mode and on a cluster alike::

    spark = session()
    sets = spark.read.json("posts").select("id", "time", words("text").alias("tokens"))
    topk_history(sets, k=10, window="1 hour").show()
"""

from __future__ import annotations

from swoop.spark.history import at_least_once, rejected, topk_history
from swoop.spark.preparation import char_ngrams, transitions, word_ngrams, words
from swoop.spark.sessions import session

__all__ = ["at_least_once", "char_ngrams", "rejected", "session", "topk_history", "transitions", "word_ngrams", "words"]
