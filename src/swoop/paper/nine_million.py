"""A worked example: nine million short posts, and all near copies within an hour, on one core.

Examples
--------
    python -m swoop.paper.nine_million                                     print the table
    python -m swoop.paper.nine_million --docs docs/guides/nine-million.md  write it into a page
    python -m swoop.paper.nine_million --posts 500000                      the first hour
    python -m swoop.paper.nine_million --posts posts.jsonl                 your own, in any file that swoop run reads
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import swoop
from swoop.paper.measure import info, machine
from swoop.paper.posts import TIME, own_posts
from swoop.paper.report import write_into

POSTS = 9_000_000
PER_SECOND = 150
WINDOW = "1 hour"
LEAST = 0.9  # from which similarity on posts are near copies
BATCH = 100_000  # posts that are inserted at once; each batch has waves of its own
VOCABULARY = 400_000
WAVES, IN_WAVES = 100, 0.05  # in a batch; the share of posts that are part of one
COPIES = 0.02  # the share of posts that repeat another one of their batch
WAVE_SIZE = 20  # words that all posts of a wave share; each has one more of its own


def posts(count: int, seed: int = 7) -> Iterator[pa.Table]:
    """So many posts, in batches: words as frequent as in a language, waves of near copies, and plain copies."""
    words = pc.binary_join_element_wise("w", pa.array(np.arange(VOCABULARY)).cast(pa.string()), "")
    heights = np.cumsum(1.0 / np.arange(1, VOCABULARY + 1))
    for first in range(0, count, BATCH):
        rng = np.random.default_rng([seed, first])  # a batch is the same, however many there are
        drawn = np.searchsorted(heights, rng.random((BATCH, WAVE_SIZE + 1)) * heights[-1])
        sizes = rng.integers(6, 18, BATCH)
        waves = np.searchsorted(heights, rng.random((WAVES, WAVE_SIZE)) * heights[-1])
        members = np.flatnonzero(rng.random(BATCH) < IN_WAVES)
        drawn[members, :WAVE_SIZE] = waves[rng.integers(0, WAVES, members.size)]
        sizes[members] = WAVE_SIZE + 1
        copies = np.flatnonzero(rng.random(BATCH) < COPIES)
        sources = (rng.random(copies.size) * copies).astype(np.int64)
        drawn[copies], sizes[copies] = drawn[sources], sizes[sources]
        taken = drawn[np.arange(WAVE_SIZE + 1) < sizes[:, None]]
        offsets = pa.array(np.concatenate(([0], np.cumsum(sizes))), pa.int32())
        ids = np.arange(first, first + BATCH)
        batch = pa.table(
            {
                "id": ids,
                "time": pa.array(ids * 1_000_000 // PER_SECOND).cast(TIME),
                "text": pc.binary_join(pa.ListArray.from_arrays(offsets, words.take(pa.array(taken))), " "),
            }
        )
        yield batch.slice(0, count - first)


@dataclass(frozen=True)
class Found:
    """What a run took, in seconds and bytes, and how many pairs or families it found."""

    cpu: float
    wall: float
    memory: int
    found: int


def pairs(batches: Iterable[pa.Table]) -> Found:
    """All pairs of near copies; equal posts count as one."""
    join = swoop.TopKJoin(k=None, window=WINDOW, min_similarity=LEAST, copies="once", track_changes=True)
    return _run(join, batches, "enter")


def families(batches: Iterable[pa.Table]) -> Found:
    """All groups of near copies."""
    return _run(swoop.Families(LEAST, WINDOW), batches, "born")


def _run(join: swoop.TopKJoin | swoop.Families, batches: Iterable[pa.Table], kind: str) -> Found:
    """Insert all posts and take all changes. Making posts does not count, but for the memory of one batch."""
    cpu = wall = 0.0
    found = 0
    for batch in batches:
        start = time.process_time(), time.perf_counter()
        join.insert_many(batch, tokens=swoop.words("text"))
        kinds = join.changes().to_arrow().column("kind")
        cpu, wall = cpu + time.process_time() - start[0], wall + time.perf_counter() - start[1]
        found += pc.sum(pc.equal(kinds, kind)).as_py() or 0
    return Found(cpu, wall, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, found)


def generated(count: int) -> tuple[Callable[[], Iterable[pa.Table]], int, str]:
    """So many generated posts, and what they are."""
    about = f"{count:,} posts in {count / PER_SECOND / 3600:.1f} hours, {PER_SECOND * 3600:,} of them in a window of {WINDOW}"
    return lambda: posts(count), count, about


def own(name: str) -> tuple[Callable[[], Iterable[pa.Table]], int, str]:
    """The posts of a file, and what they are."""
    table = own_posts([name])
    span = pc.subtract(pc.max(table["time"]), pc.min(table["time"])).as_py()
    about = f"{len(table):,} posts of {Path(name).name} in {span}, a window of {WINDOW}"
    return lambda: (table.slice(first, BATCH) for first in range(0, len(table), BATCH)), len(table), about


def report(given: tuple[Callable[[], Iterable[pa.Table]], int, str]) -> list[str]:
    """The section of the page."""
    swoop.warmup(quiet=True, families=True, all_pairs=True)
    batches, count, about = given
    lines = [
        f"{about}, threshold {LEAST}. {machine()}.",
        "",
        "| | found | CPU seconds | seconds | posts per CPU second | peak memory so far |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for what, seen in (("families", families(batches())), ("pairs", pairs(batches()))):
        rate = f"{count / seen.cpu:,.0f}"
        lines.append(f"| {what} | {seen.found:,} | {seen.cpu:.0f} | {seen.wall:.0f} | {rate} | {seen.memory / 1e9:.1f} GB |")
        info(lines[-1])
    return lines


def main(arguments: list[str] | None = None) -> None:
    """Run with these arguments, or with those of the process."""
    parser = argparse.ArgumentParser(
        prog="python -m swoop.paper.nine_million", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--docs", type=Path, help="page to write the table into")
    parser.add_argument("--posts", default=str(POSTS), help="how many, or a file of your own")
    options = parser.parse_args(arguments)
    lines = report(generated(int(options.posts)) if options.posts.isdecimal() else own(options.posts))
    if options.docs:
        write_into(options.docs, lines)
    else:
        print("\n".join(lines))


if __name__ == "__main__":
    main()
