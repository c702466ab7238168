"""What people would use instead, on the same stream: its rate, how much of the exact top-k it finds, and its memory.

None of the others is made for a window that moves, so each is used as a competent user would use it here. Every measurement is
a process of its own. It begins when the window is full for the first time, and has a limit of CPU time.

Examples
--------
    python -m swoop.paper.competitors                              print the table
    python -m swoop.paper.competitors --docs docs/comparison.md    write it into a page
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import math
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import swoop
from swoop.paper.contenders import BATCH, CONTENDERS, Batches, Contender, jaccard
from swoop.paper.measure import as_table
from swoop.paper.streams import MEAN_LAG, Stream, generate

MOMENTS = 500  # at which answers are looked at
BEGIN, END = "<!-- figures -->", "<!-- end of figures -->"


@dataclass(frozen=True)
class Competitor:
    """What was seen of one tool.

    ``rate`` is in sets per second of CPU time, ``recall`` the share of the exact top-k that it knows, on average over all
    moments, ``memory`` the growth of the process in bytes per set in the window. None: not measured, and ``note`` says why.
    """

    name: str
    rate: float | None
    recall: float | None
    memory: float | None
    note: str


COMPETITORS = tuple(CONTENDERS)


def recall(found: Sequence[float], exact: Sequence[float]) -> float:
    """The share of the exact top-k that is found, from similarities; the exact ones in order.

    Which of several pairs with the k-th similarity is shown does not matter. A better one that is missed is missed.

    >>> recall([0.9, 0.5, 0.5], exact=[0.9, 0.8, 0.5])
    0.6666666666666666
    """
    if not exact:
        return 1.0
    last = exact[-1]
    ties = min(found.count(last), exact.count(last))
    return (sum(similarity > last for similarity in found) + ties) / len(exact)


def settled(name: str, sets: int) -> Stream:
    """The end of a longer stream of the shape: at its beginning, far too many sets are copies of the very first one."""
    whole = generate(name, 5 * MEAN_LAG + sets)
    offsets = whole.offsets[-sets - 1 :]
    return Stream(name, whole.times[-sets:], offsets - offsets[0], whole.tokens[offsets[0] :])


def when_full(stream: Stream, window: int) -> int:
    """The arrival at which the first set leaves the window.

    >>> when_full(Stream("", np.array([0, 4, 9, 10, 11]), np.zeros(6, int), np.zeros(0, int)), window=10)
    3
    """
    return int(np.searchsorted(stream.times, stream.times[0] + window))


def moments(stream: Stream, window: int) -> range:
    """The arrivals at which answers are looked at. Their distance is odd, so they drift through the batches."""
    first = when_full(stream, window)
    step = (len(stream) - first) // MOMENTS | 1
    return range(first + step, len(stream), step)


def compare(
    stream: Stream, window: int, k: int, say: Callable[[str], None], limit: float = 20.0, names: Sequence[str] = COMPETITORS
) -> list[Competitor]:
    """Measure each tool, within so many seconds of CPU time from a full window on.

    The threshold that the others need is set with hindsight: at 95 % of the moments, the k-th pair reaches it.
    """
    if not moments(stream, window):
        raise ValueError(f"the stream has {len(stream)} sets, which do not fill a window of {window}")
    exact = _exact(stream, window, k)
    last = [similarities[-1] for similarities in exact.values() if similarities]
    threshold = math.floor(100 * float(np.quantile(last, 0.05))) / 100 if last else 0.5
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stream.bin"
        stream.save(path)
        for name in names:
            missing = [package for package in CONTENDERS[name].needs if find_spec(package) is None]
            if missing:
                note = f"pip install 'swoop-join[{CONTENDERS[name].extra}]'"
                found.append(Competitor(name, None, None, None, note))
            else:
                command = [name, str(path), str(window), str(min(max(threshold, 0.05), 0.95))]
                found.append(_judged(name, _run(command, k, limit), stream, window, exact))
            say(f"{name}: {_cells(found[-1])}")
    return found


def _exact(stream: Stream, window: int, k: int) -> dict[int, list[float]]:
    """The similarities of the top-k at each moment."""
    join = swoop.TopKJoin(k=k, window=window)
    table, done, found = as_table(stream), 0, {}
    for moment in moments(stream, window):
        join.insert_many(table.slice(done, moment + 1 - done))
        done = moment + 1
        found[moment] = [pair.similarity for pair in join.topk()]
    return found


def _run(command: list[str], k: int, limit: float) -> dict[str, Any] | str:
    """What a process says that measures one tool, or why it says nothing."""
    own = [sys.executable, "-m", "swoop.paper.competitors", "-k", str(k), "--limit", str(limit), "--one", *command]
    longest = 10 * limit + 120
    try:
        process = subprocess.run(own, capture_output=True, text=True, timeout=longest, check=False)
    except subprocess.TimeoutExpired:
        return f"no result within {longest:.0f} s"
    if process.returncode:
        return "failed: " + (process.stderr.strip().splitlines() or ["without a word"])[-1]
    said: dict[str, Any] = json.loads(process.stdout.splitlines()[-1])
    return said


def _judged(name: str, seen: dict[str, Any] | str, stream: Stream, window: int, exact: dict[int, list[float]]) -> Competitor:
    if isinstance(seen, str):
        return Competitor(name, None, None, None, seen)
    sets, times = [frozenset(tokens) for tokens in stream.sets()], stream.times
    shares = []
    for moment, pairs in seen["answers"]:
        valid = {(a, b) for a, b in pairs if b < a <= moment and times[b] > times[moment] - window}
        shares.append(recall([jaccard(sets[a], sets[b]) for a, b in valid], exact[moment]))
    return Competitor(name, seen["rate"], float(np.mean(shares)) if shares else None, seen["memory"], seen["note"])


class Meter:
    """CPU time and memory of this process and of those that it has started."""

    def __init__(self) -> None:
        import psutil

        self._own = psutil.Process()
        self._others = [child for child in self._own.children(recursive=True) if child.status() != psutil.STATUS_ZOMBIE]

    def seconds(self) -> float:
        return time.process_time() + sum(sum(other.cpu_times()[:2]) for other in self._others)

    def resident(self) -> int:
        return sum(process.memory_info().rss for process in (self._own, *self._others))

    def least(self) -> int:
        """What is resident when everything that is free has been given back."""
        gc.collect()
        if hasattr(ctypes.CDLL(None), "malloc_trim"):
            ctypes.CDLL(None).malloc_trim(0)
        return self.resident()


def measure(kind: type[Contender], stream: Stream, window: int, k: int, threshold: float, limit: float) -> dict[str, Any]:
    """Let a stream arrive at a tool: its rate, its growth per set in the window, and its answers at the moments.

    One that is too slow for the whole stream sees its beginning; one that joins whole windows, batches from all over it.
    """
    spare = kind(2, 1, threshold)
    for now in range(4):  # loads, compiles and starts what it needs
        spare.insert(now, [1, 2], now)
    spare.topk()
    meter = Meter()
    times, offsets = stream.times.tolist(), stream.offsets.tolist()
    looked, full, total = moments(stream, window), when_full(stream, window), len(stream)
    before = most = meter.least()
    contender = kind(window, k, threshold)
    answers: dict[int, np.ndarray] = {}  # small, because they stay in the process that is measured
    done, spent = 0, 0.0

    def arrival(number: int) -> tuple[int, list[int], int]:
        return number, stream.tokens[offsets[number] : offsets[number + 1]].tolist(), times[number]

    for number in range(full):
        contender.skip(*arrival(number))
    contender.insert(*arrival(full))
    for first in range(full + 1, total, BATCH):
        batch = range(first, min(first + BATCH, total))
        if isinstance(contender, Batches) and spent > limit * (first - full) / (total - full):
            for number in batch:
                contender.skip(*arrival(number))
            continue
        if spent > limit:
            break
        start = meter.seconds()
        for number in batch:
            contender.insert(*arrival(number))
            if number in looked:
                answers[number] = np.array(contender.topk(), np.int32)
        spent += meter.seconds() - start
        done += len(batch)
        most = max(most, meter.resident())
    note = contender.note(stream)
    if done < total - full - 1:
        note += f"; {done:,} of {total - full - 1:,} arrivals"
    return {
        "rate": done / max(spent, 1e-6),
        "memory": (most - before) / full,
        "answers": [(number, pairs.tolist()) for number, pairs in answers.items()],
        "note": note,
    }


HEADER = ["| | sets/s | of the top-k found | bytes per set | how |", "|---|--:|--:|--:|---|"]


def table(found: list[Competitor]) -> list[str]:
    """The lines of a table in Markdown."""
    return HEADER + [f"| {one.name} | {_cells(one)} |" for one in found]


def _cells(one: Competitor) -> str:
    rate = "" if one.rate is None else f"{one.rate:,.0f}"
    share = "" if one.recall is None else f"{100 * one.recall:.1f} %"
    memory = "" if one.memory is None else f"{one.memory:,.0f}"
    return f"{rate} | {share} | {memory} | {one.note}"


def write_into(page: Path, lines: list[str]) -> None:
    """Replace what is between the two comments of a page."""
    before, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{page} has no place for figures: {BEGIN} and {END}")
    page.write_text("\n".join([before + begin, "", *lines, "", end + after]), encoding="utf-8")


def machine() -> str:
    cpu = Path("/proc/cpuinfo")
    lines = cpu.read_text().splitlines() if cpu.exists() else []
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())
    return f"{model}, Python {platform.python_version()}"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main(given: list[str] | None = None) -> None:
    """Run with the given arguments, or those of the process."""
    parser = argparse.ArgumentParser(
        prog="python -m swoop.paper.competitors", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--docs", type=Path, help="the page to write into")
    parser.add_argument("--shape", default="tweet", help="of the stream")
    parser.add_argument("--sets", type=int, default=20_000, help="of the stream")
    parser.add_argument("--window", type=int, default=2000, help="average number of sets in it")
    parser.add_argument("-k", type=int, default=10)
    parser.add_argument("--limit", type=float, default=20.0, help="seconds of CPU time for each")
    parser.add_argument("--one", nargs=4, metavar=("NAME", "STREAM", "MICROSECONDS", "THRESHOLD"), help="measure one; JSON")
    arguments = parser.parse_args(given)
    if arguments.one:
        name, path, window, threshold = arguments.one
        seen = measure(CONTENDERS[name], Stream.load(Path(path)), int(window), arguments.k, float(threshold), arguments.limit)
        print(json.dumps(seen))
        return
    stream = settled(arguments.shape, arguments.sets)
    found = compare(stream, stream.window_for(arguments.window), arguments.k, _say, arguments.limit)
    size = stream.tokens.size / len(stream)
    about = f"A stream shaped like {arguments.shape}: {len(stream):,} sets of {size:.0f} tokens on average"
    lines = [f"{about}, {arguments.window:,} of them in the window, k = {arguments.k}. {machine()}.", "", *table(found)]
    if arguments.docs:
        write_into(arguments.docs, lines)
    else:
        print("\n".join(lines))


if __name__ == "__main__":
    main()
