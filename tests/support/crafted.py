"""Saved joins and families that somebody has changed and made the checksums right: each is a function of its seed.

``python -m tests.support.crafted --files 5000`` loads so many. A file must be refused as such, or give a join that works in
every way. Arrays, those that are given to the engine too, end where memory ends, so that a stray access kills the process; and
memory is limited, so that no number in a file can ask for much of it.
"""

from __future__ import annotations

import argparse
import io
import os
import random
import resource
import sys
import tempfile
import traceback
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa

import swoop
from swoop.engine import contents
from swoop.engine.tokens import Texts, Tokens
from swoop.errors import InvalidFile
from swoop.spec import ALGORITHMS
from swoop.times import FIRST_DATETIME, LAST_DATETIME
from tests.support.faults import guarded, guarded_memory
from tests.support.saved_files import Members, valid_families, valid_files
from tests.support.tampering import CHANGES, change_archive

FILES = int(os.environ.get("SWOOP_CRAFTED", "300"))
"""How many files a test crafts at random."""


def crafted(seed: int, files: Callable[[], tuple[Members, ...]] = valid_files) -> tuple[str, bytes]:
    """What was done, and the bytes of the file."""
    rng = random.Random(f"crafted {seed}")
    members = dict(rng.choice(files()))
    if rng.random() < 0.08:
        return "change_archive", change_archive(rng, members)
    done = rng.choices(CHANGES, k=rng.choice([1, 1, 1, 2]))
    for change in done:
        try:
            change(rng, members)
        except (pa.ArrowException, OSError, ValueError, KeyError, IndexError):
            continue  # it was destroyed before, or has nothing to change
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return ", ".join(change.__name__ for change in done), sink.getvalue()


def try_out(path: Path) -> bool:
    """Whether the file was loaded; then the join works in every way."""
    try:
        join = swoop.TopKJoin.load(path)
    except InvalidFile:
        return False
    rng = random.Random(1)
    has_invariants = ALGORITHMS[join.algorithm].has_feed
    if has_invariants:
        join._check()
    for step in range(3):
        look(join)
        insert(join, rng, step)
    look(join)
    join.save(path)
    again = swoop.TopKJoin.load(path)
    assert again.topk() == join.topk()
    if has_invariants:
        join._check()
        again._check()
    return True


def try_out_families(path: Path) -> bool:
    """The same for families."""
    try:
        families = swoop.Families.load(path)
    except InvalidFile:
        return False
    rng = random.Random(1)
    families._check()
    for step in range(3):
        for family in families.families(3, order="growing"):
            assert len(families.members(family)) == family.size
        if families.track_changes:
            repr(list(families.changes()))
        insert(families, rng, step)
        families._check()
    families.save(path)
    again = swoop.Families.load(path)
    again._check()
    assert again.families() == families.families()
    return True


def look(join: swoop.TopKJoin) -> None:
    pairs = list(join.topk())
    for pair in pairs[:2]:
        join.explain(pair)
    join.stats  # noqa: B018
    join.skyband()
    if join.track_changes:
        repr(list(join.changes()))


def insert(join: swoop.TopKJoin | swoop.Families, rng: random.Random, step: int) -> None:
    clock, two_streams = join._clock, isinstance(join, swoop.TopKJoin) and join.two_streams
    now = (clock.now or 0) + (step if (clock.now or 0) < 2**61 else 0)
    size = rng.choice([1, 5])
    tokens: list[list[Any]] = [rng.choices([1, 2, "a", "b", b"a", f"new {step}"], k=4) for _ in range(size)]
    kind = clock.kind or {"duration": "naive", "integer": "integer"}.get(join.window.kind, "none")
    time: Any = None if kind == "none" else now
    if kind in ("naive", "aware"):
        if not FIRST_DATETIME <= now <= LAST_DATETIME:
            return  # there are no datetimes that could follow
        time = clock.time(now) if clock.kind else np.datetime64(now, "us")
    if size == 1:
        join.insert(tokens[0], time, **({"stream": rng.choice(["left", "right"])} if two_streams else {}))
        return
    columns: dict[str, Any] = {"tokens": tokens}
    if time is not None:
        columns["time"] = [time] * size
    if two_streams:
        columns["side"] = rng.choices(["left", "right"], k=size)
    join.insert_many(columns, time=None if time is None else "time", **({"stream": "side"} if two_streams else {}))


def guarded_sets(*arguments: Any) -> Any:
    """What was checked, in memory of which nothing outside may be touched."""

    def copy(array: np.ndarray) -> np.ndarray:
        new = guarded(array.size, array.dtype, 0)
        new[:] = array
        return new

    times, offsets, tokens, sides = contents.checked_sets(*arguments)
    texts = (Texts(copy(part.data), copy(part.ends)) for part in (tokens.strings, tokens.byte_strings))
    kinds = None if tokens.kinds is None else copy(tokens.kinds)
    return copy(times), copy(offsets), Tokens(copy(tokens.integers), *texts, kinds), copy(sides)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=500, help="how many (default: 500)")
    parser.add_argument("--seed", type=int, default=0, help="of the first file")
    parser.add_argument("--families", action="store_true", help="families instead of joins")
    options = parser.parse_args()
    files, attempt = (valid_families, try_out_families) if options.families else (valid_files, try_out)
    files()
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 29), used + (1 << 29)))
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder, guarded_memory(), patch("swoop.engine.engine.checked_sets", guarded_sets):
        path = Path(folder) / "crafted"
        for seed in range(options.seed, options.seed + options.files):
            done, data = crafted(seed, files)
            path.write_bytes(data)
            print(f"\r{seed} {done}", end=" " * 20, flush=True)  # known, should this process die of it
            try:
                counts["loaded" if attempt(path) else "refused"] += 1
            except Exception:
                counts["failed"] += 1
                print(f"\rseed {seed}, {done}:\n{traceback.format_exc(limit=-5)}")
    print("\r" + ", ".join(f"{count:,} {what}" for what, count in sorted(counts.items())) + " " * 40)
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
