"""Threads may share a join, and a join is not copied by accident."""

from __future__ import annotations

import copy
import pickle
import threading
from typing import Any

import pytest

import swoop
from swoop.errors import InvalidType


@pytest.mark.no_cover
def test_readers_beside_a_writer(request: pytest.FixtureRequest) -> None:
    """Whatever a reader sees is a top-k in order, of the moment between two arrivals."""
    join = swoop.TopKJoin(k=20, window=swoop.last(300), track_changes=True)
    done = threading.Event()
    errors: list[Any] = []

    def read() -> None:
        try:
            while not done.is_set():
                top = list(join.topk())
                assert [p.similarity for p in top] == sorted((p.similarity for p in top), reverse=True)
                assert join.stats.window_size <= 300
                join.changes()
        except BaseException as error:
            errors.append(error)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for number in range(1000 * request.config.getoption("--examples")):
        join.insert([number % 7, number % 11, number % 13, number], id=f"set {number}")
        if number % 10 == 0:
            join.insert_many({"tokens": [[number % 5, number % 3]] * 20}, time=None)
    done.set()
    for reader in readers:
        reader.join(60)
    assert not errors
    join._check()


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_join_is_not_copied_by_accident(copied: Any) -> None:
    join = swoop.TopKJoin(k=1, window=1)
    with pytest.raises(InvalidType, match="use save and load"):
        copied(join)
    with pytest.raises(InvalidType, match="cannot be copied or pickled"):
        copied(join._engine)
