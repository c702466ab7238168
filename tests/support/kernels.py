"""Compile every kernel, before the tests and once for all of their processes: ``python -m tests.support.kernels``."""

from __future__ import annotations

import swoop
from swoop.paper.data_sets import generate
from swoop.paper.measure import least
from swoop.spec import ALGORITHMS


def compile_all() -> None:
    swoop.warmup(families=True, all_pairs=True)
    for name in ALGORITHMS:
        join = swoop.TopKJoin(k=1, window=5, algorithm=name)
        for time in range(3):
            join.insert([1, 2], time)
        join.insert_many({"tokens": [[1, 2], [2, 3]], "time": [3, 3]})
        join.advance(9)
        assert not join.topk()
    least(generate("tweet", 50), 10, 1)


if __name__ == "__main__":
    compile_all()
