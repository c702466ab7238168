"""Compiling ahead of time, so that the first set does not have to wait."""

from __future__ import annotations

import sys
import time


def warmup(*, quiet: bool = False) -> float:
    """Compile every kernel that a join needs, or load it from the cache. Returns the seconds that took.

    >>> import swoop
    >>> swoop.warmup(quiet=True) > 0
    True
    """
    from swoop.join.topk_join import TopKJoin
    from swoop.text.functions import char_ngrams, words

    start = time.perf_counter()
    join = TopKJoin(k=1, window=1, track_changes=True)
    join.insert(["a", b"a"], 0)
    join.insert([1, 2], 0)
    join.insert_many({"tokens": [[1, 2]], "time": [0]})
    for function in (words("text"), char_ngrams("text")):
        join.insert_many({"text": ["some words"], "time": [0]}, function)
    join._engine.warm()
    join.advance(1)
    join.topk()
    join.changes()
    seconds = time.perf_counter() - start
    if not quiet:
        print(f"swoop: the engine is compiled and ready ({seconds:.1f} s)", file=sys.stderr)
    return seconds
