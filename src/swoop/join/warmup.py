"""Compiling ahead of time, so that the first set does not have to wait."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from swoop.join.families import Families
    from swoop.join.topk_join import TopKJoin


def warmup(*, quiet: bool = False, families: bool = False, all_pairs: bool = False) -> float:
    """Compile every kernel that a join needs, or load it from the cache. Returns the seconds that took.

    With ``families=True``, also those of :class:`swoop.Families`; with ``all_pairs=True``, also those of joins with ``k=None``.
    Of several processes on a machine, one compiles a kernel; the others wait and load what it has compiled.

    >>> import swoop
    >>> swoop.warmup(quiet=True) > 0
    True
    """
    start = time.perf_counter()
    warm(pairs=True, families=families, all_pairs=all_pairs)
    seconds = time.perf_counter() - start
    if not quiet:
        print(f"swoop: the engine is compiled and ready ({seconds:.1f} s)", file=sys.stderr)
    return seconds


def warm(*, pairs: bool = False, families: bool = False, all_pairs: bool = False) -> None:
    """Compile the kernels of these joins, or load them from the cache."""
    meanwhile = _begin_with_families() if families and (pairs or all_pairs) else None
    if pairs:
        _warm_pairs()
    if families:
        _warm_families()
    if all_pairs:
        _warm_all_pairs()
    if meanwhile is not None:
        meanwhile.wait()


def is_compiled(*, pairs: bool = False, families: bool = False, all_pairs: bool = False) -> bool:
    """Whether the largest kernel of each of these joins has machine code on disk."""
    from swoop.engine import all_pairs as for_all_pairs
    from swoop.engine import arrival
    from swoop.engine import families as for_families

    wanted = {arrival: pairs, for_families: families, for_all_pairs: all_pairs}
    return all(module.insert_sets._cache.is_filled() for module, is_wanted in wanted.items() if is_wanted)


def _warm_pairs() -> None:
    from swoop.join.topk_join import TopKJoin

    join = TopKJoin(k=1, window=1, track_changes=True)
    join.insert(["a", b"a"], 0)
    join.insert([1, 2], 0)
    join.insert_many({"tokens": [[1, 2]], "time": [0]})
    _warm_texts(join, 0)
    join._engine.warm()
    join.advance(1)
    join.topk()
    join.changes()


def _warm_texts(join: TopKJoin | Families, now: int) -> None:
    from swoop.text.functions import char_ngrams, words

    for function in (words("text"), char_ngrams("text")):
        join.insert_many({"text": ["some words"], "time": [now]}, function)


def _begin_with_families() -> subprocess.Popen[bytes] | None:
    """Compile the largest kernel of families in another process, if it must be: one process compiles on one core."""
    if is_compiled(families=True) or (os.cpu_count() or 1) < 2:
        return None
    code = "from swoop.join.warmup import _warm_families; _warm_families()"
    return subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603


def _warm_families() -> None:
    from swoop.join.families import Families
    from swoop.join.family_history import families_history

    found = Families(0.5, window=1)
    for now in range(2):
        found.insert_many({"tokens": [[1, 2], [1, 2, 3]], "time": [now, now]})
    _warm_texts(found, 1)
    found._engine.warm()
    found._engine.shrink()
    found.advance(3)
    found.families()
    found.changes()
    families_history({"id": [1], "time": [1], "tokens": [[1]]}, 0.5, window=1)


def _warm_all_pairs() -> None:
    from swoop.join.topk_join import TopKJoin

    join = TopKJoin(k=None, window=1, min_similarity=0.5)
    for now in range(2):
        join.insert_many({"tokens": [[1, 2], [1, 2, 3]], "time": [now, now]})
    _warm_texts(join, 1)
    join._engine.warm()
    join.topk()
    join.advance(3)


if __name__ == "__main__":
    warmup(quiet=True, families=True)
