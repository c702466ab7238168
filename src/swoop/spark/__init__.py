"""Swoop on Spark: tokens, the top-k and families of a whole history, the top-k of a live stream, and sessions to run them in.

Everything here is a function of DataFrames, usable in local mode and on a cluster alike::

    spark = session()
    posts = spark.read.schema("id long, time timestamp, text string").json("posts")
    sets = posts.select("id", "time", words("text").column().alias("tokens"))
    topk_history(sets, k=10, window="1 hour").show()

What is here: all that needs Spark. What a live stream does with its rows is in :mod:`swoop.live`, which does without it.

Modules are imported at first use: those of a driver are not loaded by each Python worker.

What you may touch: how data gets in and out. A result must not depend on partitions, slices, batches or cores.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from swoop.live.alerts import alert
    from swoop.live.live_families import FamilyStreamStats
    from swoop.live.live_stream import StreamStats
    from swoop.live.manifest import folder
    from swoop.spark.changes import families_changes, topk_changes
    from swoop.spark.cuts import every
    from swoop.spark.families import families_history, family_members
    from swoop.spark.family_stream import FamilyHandle, FamilyStream, families_stream
    from swoop.spark.hadoop import result_files
    from swoop.spark.history import at_least_once, explain, rejected, topk_history
    from swoop.spark.preparation import timestamps, transitions
    from swoop.spark.sessions import session
    from swoop.spark.sql import register
    from swoop.spark.stream import StreamHandle, TopKStream, topk_stream
    from swoop.spark.topics import topic
    from swoop.text.functions import char_ngrams, word_ngrams, words

_HOMES = {
    "FamilyHandle": "swoop.spark.family_stream",
    "FamilyStream": "swoop.spark.family_stream",
    "FamilyStreamStats": "swoop.live.live_families",
    "StreamHandle": "swoop.spark.stream",
    "StreamStats": "swoop.live.live_stream",
    "TopKStream": "swoop.spark.stream",
    "alert": "swoop.live.alerts",
    "at_least_once": "swoop.spark.history",
    "char_ngrams": "swoop.text.functions",
    "every": "swoop.spark.cuts",
    "explain": "swoop.spark.history",
    "families_changes": "swoop.spark.changes",
    "families_history": "swoop.spark.families",
    "families_stream": "swoop.spark.family_stream",
    "family_members": "swoop.spark.families",
    "folder": "swoop.live.manifest",
    "register": "swoop.spark.sql",
    "rejected": "swoop.spark.history",
    "result_files": "swoop.spark.hadoop",
    "session": "swoop.spark.sessions",
    "timestamps": "swoop.spark.preparation",
    "topic": "swoop.spark.topics",
    "topk_changes": "swoop.spark.changes",
    "topk_history": "swoop.spark.history",
    "topk_stream": "swoop.spark.stream",
    "transitions": "swoop.spark.preparation",
    "word_ngrams": "swoop.text.functions",
    "words": "swoop.text.functions",
}

__all__ = [
    "FamilyHandle",
    "FamilyStream",
    "FamilyStreamStats",
    "StreamHandle",
    "StreamStats",
    "TopKStream",
    "alert",
    "at_least_once",
    "char_ngrams",
    "every",
    "explain",
    "families_changes",
    "families_history",
    "families_stream",
    "family_members",
    "folder",
    "register",
    "rejected",
    "result_files",
    "session",
    "timestamps",
    "topic",
    "topk_changes",
    "topk_history",
    "topk_stream",
    "transitions",
    "word_ngrams",
    "words",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'swoop.spark' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__]
