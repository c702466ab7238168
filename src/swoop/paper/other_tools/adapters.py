"""Adapters: each tool, used as a competent user would to follow the most similar pairs of a sliding window."""

from __future__ import annotations

import heapq
import math
from abc import ABC, abstractmethod
from collections import deque
from functools import cached_property
from operator import itemgetter
from typing import Any

import numpy as np

import swoop
from swoop.paper.data_sets import DataSet
from swoop.paper.measure import as_table, run

BATCH = 100  # arrivals between two runs of a tool that joins whole windows
PERMUTATIONS = 128  # values of a sketch
TABLES = 5  # of Spark's hashes

ArrivalPair = tuple[int, int]  # the arrival numbers of the newer and of the older set


def jaccard(one: frozenset[int], other: frozenset[int]) -> float:
    """The similarity, rounded as Swoop rounds it.

    >>> jaccard(frozenset("abc"), frozenset("abd"))
    0.5
    """
    overlap = len(one & other)
    return overlap / (len(one) + len(other) - overlap)


class Tool(ABC):
    """A tool; the packages that it needs, and the extra that installs them."""

    needs: tuple[str, ...] = ("psutil",)
    extra = "other-tools"

    @abstractmethod
    def __init__(self, window: int, k: int, threshold: float) -> None: ...

    @abstractmethod
    def insert(self, number: int, tokens: list[int], now: int) -> None:
        """Insert an arriving set."""

    def skip(self, number: int, tokens: list[int], now: int) -> None:
        """Insert a set when no result is needed before the next insertion."""
        self.insert(number, tokens, now)

    @abstractmethod
    def topk(self) -> list[ArrivalPair]:
        """What it reports as the k most similar pairs now."""

    @abstractmethod
    def note(self, data_set: DataSet) -> str:
        """How it is used here, for the table."""


class Swoop(Tool):
    def __init__(self, window: int, k: int, threshold: float) -> None:
        swoop.warmup(quiet=True)
        self._window, self._k = window, k
        self._join = swoop.TopKJoin(k=k, window=window)

    def insert(self, number: int, tokens: list[int], now: int) -> None:
        self._join.insert(tokens, now)

    def topk(self) -> list[ArrivalPair]:
        return [(pair.newer, pair.older) for pair in self._join.topk()]  # type: ignore[misc]

    def note(self, data_set: DataSet) -> str:
        rate, _ = run(as_table(data_set), self._window, self._k)
        return f"set by set, no threshold; {rate:,.0f} sets/s in batches"


class Sketches(Tool):
    """Each arriving set queries an index of sketches for similar ones, which are compared exactly.

    All pairs are in a heap; an expired pair is dropped when it reaches the top, or when there are too many.
    """

    def __init__(self, window: int, k: int, threshold: float) -> None:
        self._window, self._k, self._threshold = window, k, threshold
        self._arrivals: deque[tuple[int, int]] = deque()
        self._sets: dict[int, frozenset[int]] = {}
        self._pairs: list[tuple[float, int, int]] = []
        self._enough = 1000

    @abstractmethod
    def similar(self, number: int, tokens: list[int]) -> list[int]:
        """What the index has for an arriving set, which then enters it."""

    @abstractmethod
    def leave(self, number: int) -> None:
        """A set leaves the window, the oldest one first."""

    def insert(self, number: int, tokens: list[int], now: int) -> None:
        while self._arrivals and self._arrivals[0][0] <= now - self._window:
            _, leaving = self._arrivals.popleft()
            self.leave(leaving)
            del self._sets[leaving]
        own = frozenset(tokens)
        for other in self.similar(number, tokens):
            heapq.heappush(self._pairs, (-jaccard(own, self._sets[other]), number, other))
        self._arrivals.append((now, number))
        self._sets[number] = own
        if len(self._pairs) > self._enough:
            self._pairs = [pair for pair in self._pairs if pair[2] in self._sets]
            heapq.heapify(self._pairs)
            self._enough = 2 * len(self._pairs) + 1000

    def topk(self) -> list[ArrivalPair]:
        best: list[tuple[float, int, int]] = []
        while self._pairs and len(best) < self._k:
            pair = heapq.heappop(self._pairs)
            if pair[2] in self._sets:
                best.append(pair)
        for pair in best:
            heapq.heappush(self._pairs, pair)
        return [(newer, older) for _, newer, older in best]

    def note(self, data_set: DataSet) -> str:
        return f"set by set, threshold {self._threshold:g}, {PERMUTATIONS} permutations, candidates compared exactly"


class Datasketch(Sketches):
    needs = ("psutil", "datasketch")

    def __init__(self, window: int, k: int, threshold: float) -> None:
        from datasketch import MinHash, MinHashLSH

        super().__init__(window, k, threshold)
        self._empty = MinHash(PERMUTATIONS, seed=1, hashfunc=int)  # it mixes the bits of integers itself
        self._index = MinHashLSH(threshold, PERMUTATIONS)

    def similar(self, number: int, tokens: list[int]) -> list[int]:
        sketch = self._empty.copy()
        sketch.update_batch(tokens)
        found: list[int] = self._index.query(sketch)
        self._index.insert(number, sketch, check_duplication=False)
        return found

    def leave(self, number: int) -> None:
        self._index.remove(number)


def bands(threshold: float) -> int:
    """How many bands to give to an index that does not choose them itself: the fewest that find most pairs of the threshold.

    With b bands of r values, pairs of similarity (1 / b) ** (1 / r) or more are likely to have one in common. The tools want
    bands of equal length.

    >>> bands(0.3), bands(0.9)
    (64, 8)
    """
    possible = (1 << power for power in range(PERMUTATIONS.bit_length()))
    return next(count for count in possible if (1 / count) ** (count / PERMUTATIONS) <= threshold)


class Rensa(Sketches):
    needs = ("psutil", "rensa")

    def __init__(self, window: int, k: int, threshold: float) -> None:
        from rensa import RMinHashLSH

        super().__init__(window, k, threshold)
        self._index = RMinHashLSH(threshold, PERMUTATIONS, bands(threshold))

    def similar(self, number: int, tokens: list[int]) -> list[int]:
        from rensa import RMinHash

        sketch = RMinHash(PERMUTATIONS, 1)
        sketch.update([b"%d" % token for token in tokens])  # it takes texts and bytes
        found: list[int] = self._index.query(sketch)
        self._index.insert(number, sketch)
        return found

    def leave(self, number: int) -> None:
        self._index.remove(number)

    def note(self, data_set: DataSet) -> str:
        return f"{super().note(data_set)}, {bands(self._threshold)} bands"


class FastSketch(Sketches):
    """Nothing can be removed from its index: it is built again, of the sketches that are kept, when half of it has expired."""

    needs = ("psutil", "FastSketchLSH")

    def __init__(self, window: int, k: int, threshold: float) -> None:
        from FastSketchLSH import LSH, FastSimilaritySketch

        super().__init__(window, k, threshold)
        self._sketcher = FastSimilaritySketch(PERMUTATIONS, seed=1)
        self._index = LSH(PERMUTATIONS, bands(threshold), num_threads=1)
        self._sketches: list[np.ndarray] = []  # what is in the index, in its order
        self._numbers: list[int] = []
        self._expired = 0

    def similar(self, number: int, tokens: list[int]) -> list[int]:
        sketch = self._sketcher.batch([tokens], num_threads=1)
        found = [self._numbers[place] for place in self._index.query(sketch[0]) if place >= self._expired]
        self._index.insert(sketch)
        self._sketches.append(sketch)
        self._numbers.append(number)
        return found

    def leave(self, number: int) -> None:
        self._expired += 1
        if 2 * self._expired > len(self._numbers):
            del self._sketches[: self._expired], self._numbers[: self._expired]
            self._expired = 0
            self._index.clear()
            if self._sketches:
                self._index.insert(np.concatenate(self._sketches))

    def note(self, data_set: DataSet) -> str:
        return f"{super().note(data_set)}, {bands(self._threshold)} bands; built again when half has expired"


class Batches(Tool):
    """Joins all sets of the window after each batch of arrivals. In between, pairs only leave."""

    def __init__(self, window: int, k: int, threshold: float, batch: int = BATCH) -> None:
        self._window, self._k, self._threshold, self._batch = window, k, threshold, batch
        self._sets: deque[tuple[int, int, list[int]]] = deque()
        self._waiting = batch
        self._best: list[ArrivalPair] = []

    @abstractmethod
    def best(self, numbers: list[int], sets: list[list[int]], count: int) -> list[ArrivalPair]:
        """The most similar pairs of these sets, best first."""

    def skip(self, number: int, tokens: list[int], now: int) -> None:
        self._sets.append((now, number, tokens))
        self._waiting += 1
        while self._sets[0][0] <= now - self._window:
            self._sets.popleft()

    def insert(self, number: int, tokens: list[int], now: int) -> None:
        self.skip(number, tokens, now)
        if self._waiting >= self._batch:
            _, numbers, sets = zip(*self._sets, strict=True)
            self._best = self.best(list(numbers), list(sets), 2 * self._k)  # some will leave before the next batch
            self._waiting = 0

    def topk(self) -> list[ArrivalPair]:
        oldest = self._sets[0][1]
        return [pair for pair in self._best if pair[1] >= oldest][: self._k]

    def note(self, data_set: DataSet) -> str:
        return f"the whole window after every {self._batch} sets, threshold {self._threshold:g}"


class SetSimilaritySearch(Batches):
    needs = ("psutil", "SetSimilaritySearch")

    def best(self, numbers: list[int], sets: list[list[int]], count: int) -> list[ArrivalPair]:
        from SetSimilaritySearch import all_pairs

        pairs = all_pairs(sets, similarity_func_name="jaccard", similarity_threshold=self._threshold)
        return [(numbers[newer], numbers[older]) for newer, older, _ in heapq.nlargest(count, pairs, key=itemgetter(2))]


class Spark(Batches):
    needs = ("psutil", "pyspark")
    extra = "other-tools,spark"

    @cached_property
    def _spark(self) -> Any:
        from swoop.spark import session

        return session("local[1]", name="other tools", spark_sql_shuffle_partitions=1, spark_ui_enabled="false")

    @cached_property
    def _model(self) -> Any:
        from pyspark.ml import Pipeline
        from pyspark.ml.feature import HashingTF, MinHashLSH

        vectors = HashingTF(inputCol="tokens", outputCol="vector", numFeatures=1 << 20, binary=True)
        hashes = MinHashLSH(inputCol="vector", outputCol="hashes", numHashTables=TABLES, seed=1)
        return Pipeline(stages=[vectors, hashes]).fit(self._spark.createDataFrame([([0],)], "tokens array<long>"))

    def best(self, numbers: list[int], sets: list[list[int]], count: int) -> list[ArrivalPair]:
        import pyarrow as pa

        rows = self._spark.createDataFrame(pa.table({"number": numbers, "tokens": sets}))
        hashed = self._model.transform(rows).cache()
        pairs = self._model.stages[-1].approxSimilarityJoin(hashed, hashed, math.nextafter(1 - self._threshold, 2), "distance")
        pairs = pairs.filter("datasetA.number > datasetB.number").orderBy("distance").limit(count)
        found = pairs.select("datasetA.number", "datasetB.number").collect()
        hashed.unpersist()
        return [(newer, older) for newer, older in found]

    def note(self, data_set: DataSet) -> str:
        return f"{super().note(data_set)}, {TABLES} hash tables, local[1]; its Java is counted, its start is not"


TOOLS: dict[str, type[Tool]] = {
    "Swoop": Swoop,
    "datasketch MinHashLSH": Datasketch,
    "rensa RMinHashLSH": Rensa,
    "FastSketchLSH": FastSketch,
    "SetSimilaritySearch": SetSimilaritySearch,
    "Spark MinHashLSH": Spark,
}
