"""Swoop: the k most similar pairs of sets in a sliding window of a stream, exactly, at any moment.

>>> import swoop
>>> join = swoop.TopKJoin(k=10, window="1 hour", similarity="jaccard")

Numba, Arrow and other heavy packages are imported at first use.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from swoop.errors import SwoopError
from swoop.times import last

if TYPE_CHECKING:
    from swoop import oracle
    from swoop.join.families import Families, FamilyStats
    from swoop.join.family_history import families_history
    from swoop.join.history import history
    from swoop.join.topk_join import Stats, TopKJoin
    from swoop.join.warmup import warmup
    from swoop.results import (
        Change,
        Changes,
        Explanation,
        Family,
        FamilyChange,
        FamilyChanges,
        FamilyHistory,
        FamilyList,
        History,
        Pair,
        SkybandStep,
        TopK,
    )
    from swoop.similarity import Similarity
    from swoop.stays import Stay
    from swoop.text.functions import char_ngrams, word_ngrams, words

try:
    __version__ = version("swoop-join")
except PackageNotFoundError:  # run from the source tree
    __version__ = "0"

_HOMES = {
    "Change": "swoop.results",
    "Changes": "swoop.results",
    "Explanation": "swoop.results",
    "Families": "swoop.join.families",
    "Family": "swoop.results",
    "FamilyChange": "swoop.results",
    "FamilyChanges": "swoop.results",
    "FamilyList": "swoop.results",
    "FamilyStats": "swoop.join.families",
    "FamilyHistory": "swoop.results",
    "History": "swoop.results",
    "Pair": "swoop.results",
    "Similarity": "swoop.similarity",
    "Stats": "swoop.join.topk_join",
    "SkybandStep": "swoop.results",
    "Stay": "swoop.stays",
    "TopK": "swoop.results",
    "TopKJoin": "swoop.join.topk_join",
    "char_ngrams": "swoop.text.functions",
    "families_history": "swoop.join.family_history",
    "history": "swoop.join.history",
    "warmup": "swoop.join.warmup",
    "word_ngrams": "swoop.text.functions",
    "words": "swoop.text.functions",
}

__all__ = [
    "Change",
    "Changes",
    "Explanation",
    "Families",
    "Family",
    "FamilyChange",
    "FamilyChanges",
    "FamilyHistory",
    "FamilyList",
    "FamilyStats",
    "History",
    "Pair",
    "Similarity",
    "SkybandStep",
    "Stats",
    "Stay",
    "SwoopError",
    "TopK",
    "TopKJoin",
    "char_ngrams",
    "families_history",
    "history",
    "last",
    "oracle",
    "warmup",
    "word_ngrams",
    "words",
]


def __getattr__(name: str) -> Any:
    if name in ("charts", "oracle"):
        return import_module(f"swoop.{name}")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'swoop' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
