"""Whether tests would notice: kernels are changed in one place at a time, and random trials or tests must tell the difference.

``python -m tests.support.mutants --count 100`` draws so many changes from all there are: another comparison, another operator,
a constant that is one off, ``min`` for ``max``, a statement that is left out. Each is made in a copy of the package, whose
kernels are compiled anew, and run against brute force and the module's own tests, as :data:`MODULES` says. A change that nobody
notices has survived: it is told in the end, and should be noticed by a new test, or be noted in :data:`HARMLESS` with the
reason why it changes no result.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "swoop"
MODULES = {
    "engine/all_pairs": ("pairs", "engine/test_all_pairs.py"),
    "engine/all_pairs_search": ("pairs", "engine/test_all_pairs.py"),
    "engine/arrival": ("pairs",),
    "engine/candidates": ("pairs",),
    "engine/families": ("families", "join/test_families.py", "join/test_family_storage.py", "engine/test_forest.py"),
    "engine/family_search": ("families", "join/test_families.py", "join/test_family_storage.py", "engine/test_forest.py"),
    "engine/feed": ("pairs",),
    "engine/floor": ("pairs", "engine/test_floor.py"),
    "engine/forest": ("families", "engine/test_forest.py", "join/test_families.py", "join/test_family_history.py"),
    "engine/index": ("pairs",),
    "engine/layout": ("pairs",),
    "engine/marks": ("pairs",),
    "engine/pair_pool": ("pairs", "engine/test_all_pairs.py"),
    "engine/rank": ("pairs", "engine/test_rank.py"),
    "engine/records": ("pairs", "families", "engine/test_records.py"),
    "engine/sorting": ("pairs",),
    "engine/stock": ("pairs",),
    "engine/vocabulary": ("pairs", "engine/test_vocabulary.py"),
    "engine/window": ("pairs",),
    "engine/words": ("text", "engine/test_vocabulary.py", "pairs"),
    "text/kernels": ("text",),
}
"""Where kernels are, and what looks at their changes, one after the other: random trials, and tests."""
TRIALS_OF = ("pairs", "families")
MEMORY = 4 << 30  # bytes that a trial may take: a change may ask for ever more
TRIALS = 60

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.RShift: ast.LShift,
    ast.LShift: ast.RShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}

SPEED: dict[str, str] = {
    "hash_integer": "any hash will do, as keys are compared",
    "hash_of_ends": "any hash will do, as texts are compared",
    "plan_completion": "when a floor is lowered, not what is found; before pairs run short it is done at once",
    "prefetch_lists": "only asks for memory",
    "prefetch_lists_of": "only asks for memory",
    "settle_and_check_mistaken": "whether a completion begins anew, not what it finds",
    "signature_bit": "any bit will do, as long as a token has only one",
    "size_class": "the room of a list, which may be larger",
    "time_left": "when a floor is lowered, not what is found",
}
"""Functions that decide how quickly something is done, and not what is found, and why."""

HARMLESS: dict[tuple[str, str, str], str] = {
    # The next arrival that settles the stock raises the floor. Until then the stock holds more pairs than it must.
    ("settle_stock", "raise_floor(state, stock)", "pass"): "costs speed",
    # Pairs that wait are not among the first k, and are settled with the first expiry.
    ("expire_and_note", "settle(state, stock)", "pass"): "they are settled later",
    # More room is asked for than is needed.
    (
        "expire_and_note",
        "min(state.k, stock.size) - feed.entering",
        "(min(state.k, stock.size) + feed.entering)",
    ): "costs memory",
    # The segment at the very beginning of the pool is not used again.
    ("new_segment", "0", "(1)"): "costs memory",
    # Of equal pairs fewer are counted, so the bound is lower than it could be: more candidates are verified.
    (
        "at_least",
        "stock.pairs[low - 1].remainder < remainder",
        "(stock.pairs[low - 1].remainder <= remainder)",
    ): "costs speed",
    # Lists are visited in another order, and bounds are looked at more or less often.
    ("scan_lists", "not is_sorted", "(is_sorted)"): "costs speed",
    ("scan_lists", "(probe.list_order[q] >> 32) > _SHORT", "(probe.list_order[q] >> 32 <= _SHORT)"): "costs speed",
    # The least overlap is smaller than it must be: more is verified.
    (
        "min_overlap",
        "o > 1 and above(state, l, m, o - 1, bound, bound_remainder)",
        "(o > 1 or above(state, l, m, o - 1, bound, bound_remainder))",
    ): "costs speed",
    # Rooms for texts are larger than they must be.
    ("size_of_room", "(1 << (large - 26)) < units", "(1 << large - 26 <= units)"): "costs memory",
    # Which of two loops interns a batch; both do the same.
    ("intern_integers", "0", "(-1)"): "costs speed",
    # When every pair that was struck out has been passed, no other has an overlap of 0.
    ("strike_out", "passed < struck", "(passed <= struck)"): "the same",
    # Without repeated tokens the two parts of a set meet, and each token is copied to where it is.
    ("enter_set", "kept < size", "(kept <= size)"): "the same",
    # Only the work is counted less.
    ("visit_others", "state.pre_candidates += 1", "pass"): "only counts",
    # Bounds of a spare stock that is not settled are lower, and it is settled before it takes over.
    ("cover_next", "settle(state, spare)", "pass"): "they are settled later",
}
"""Changes that make no result another: function, before and after, and why."""

HARMLESS_HERE: dict[tuple[str, str, str, str], str] = {
    # A copy that counts no more stays in a list of two, with size 0.
    ("leave_former_places", "elif slot.size == 2 and slot.rest == former:", "2", "(1)"): "costs memory",
    # Of equal keys fewer pairs are counted, so less of a list is cropped: more candidates are verified.
    ("at_least", "low -= 1", "1", "(2)"): "costs speed",
    # A set that was met is in the visited part of the first list, so this never decides.
    ("find_candidates", "while visited > 0 and probe.list_from[visited - 1] > number:", "0", "(-1)"): "the same",
    # Both sums have the same lowest bit of each byte.
    (
        "lower_word",
        "return int64(x | (((from_a ^ behind_z) & (all_bytes * uint64(0x80))) >> uint64(2)))",
        "0x80",
        "(129)",
    ): "the same",
    # The mask of the old table only asks for memory here.
    ("intern_texts", "mask, old_mask = table.size - 1, max(old_table.size - 1, 0)", "0", "(1)"): "only asks for memory",
}
"""The same in one line of the function."""


@dataclass(frozen=True)
class Mutant:
    """A change of a module: what stands from ``start`` to ``stop`` (in bytes) becomes something else."""

    module: str
    function: str
    line: int
    start: int
    stop: int
    before: str
    after: str
    text: str  # of the line

    def __str__(self) -> str:
        return (
            f"{self.module}.py:{self.line} in {self.function}: {_short(self.before)}  ->  {_short(self.after)}  [{self.text}]"
        )

    @property
    def harmless(self) -> str | None:
        """Why it need not be noticed."""
        if "prefetch(" in self.text or "_NEAR" in self.text:
            return "only asks for memory"
        known = HARMLESS_HERE.get((self.function, self.text, self.before, self.after))
        return known or SPEED.get(self.function) or HARMLESS.get((self.function, self.before, self.after))

    def apply(self, source: bytes) -> bytes:
        return source[: self.start] + self.after.encode() + source[self.stop :]


def _short(text: str) -> str:
    return " ".join(text.split())[:70]


def mutants_of(module: str) -> list[Mutant]:
    """All changes of a module."""
    source = (PACKAGE / f"{module}.py").read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef):
            for statement in function.body:
                for node, other in changes(statement):
                    start = starts[node.lineno - 1] + node.col_offset
                    stop = starts[(node.end_lineno or 1) - 1] + (node.end_col_offset or 0)
                    before = source[start:stop].decode()
                    after = f"({ast.unparse(other)})" if isinstance(other, ast.expr) else ast.unparse(other)
                    text = source[starts[node.lineno - 1] : starts[node.lineno]].decode().strip()
                    found.append(Mutant(module, function.name, node.lineno, start, stop, before, after, text))
    return found


def changes(statement: ast.stmt) -> Iterator[tuple[ast.expr | ast.stmt, ast.expr | ast.stmt]]:
    """What can be changed in a statement, and what it becomes."""
    for node in ast.walk(statement):
        match node:
            case ast.Compare(ops=[operator]):
                for kind in COMPARISONS.get(type(operator), ()):
                    other = deepcopy(node)
                    other.ops = [kind()]
                    yield node, other
            case ast.BinOp(op=operator) | ast.AugAssign(op=operator) if type(operator) in OPERATORS:
                another = deepcopy(node)
                another.op = OPERATORS[type(operator)]()
                yield node, another
            case ast.BoolOp(op=ast.And(), values=values):
                yield node, ast.BoolOp(ast.Or(), values)
            case ast.BoolOp(op=ast.Or(), values=values):
                yield node, ast.BoolOp(ast.And(), values)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield node, operand
            case ast.Constant(value=bool(value)):
                yield node, ast.Constant(not value)
            case ast.Constant(value=int(value)):
                yield node, ast.Constant(value + 1)
                yield node, ast.Constant(value - 1)
            case ast.Call(func=ast.Name(id="min" | "max" as name), args=arguments, keywords=[]):
                yield node, ast.Call(ast.Name("max" if name == "min" else "min"), arguments, [])
            case ast.Expr(value=ast.Call()):
                yield node, ast.Pass()
        if isinstance(node, ast.AugAssign):
            yield node, ast.Pass()


def run(mutant: Mutant | None, timeout: float) -> str:
    """What became of a change: "survived", or how it was noticed. None: nothing is changed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(PACKAGE, folder / "swoop", ignore=shutil.ignore_patterns("__pycache__"))
        if mutant is not None:
            file = folder / "swoop" / f"{mutant.module}.py"
            file.write_bytes(mutant.apply(file.read_bytes()))
        path = os.pathsep.join((str(folder), str(ROOT)))
        environment = {
            **os.environ,
            "PYTHONPATH": path,
            "NUMBA_CACHE_DIR": str(folder / "cache"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        for command in _commands(mutant):
            try:
                done = subprocess.run(
                    [sys.executable, *command],
                    env=environment,
                    cwd=ROOT,
                    capture_output=True,
                    text=True,
                    timeout=timeout,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                return "hangs"
            if done.returncode:
                break
    if done.returncode == 0:
        return "survived"
    if done.returncode < 0:
        return f"dies of {signal.Signals(-done.returncode).name}"
    last = (done.stderr.strip().splitlines() or [""])[-1]
    if "numba" in last.lower() or "TypingError" in done.stderr:
        return "does not compile"
    if mutant is None:
        print(done.stderr)
    return f"is noticed: {last[:60]}"


def _commands(mutant: Mutant | None) -> list[list[str]]:
    """What looks at a change, one after the other until it is noticed."""
    looks = TRIALS_OF if mutant is None else MODULES[mutant.module]
    trial, test = ("-m", "tests.support.mutants", "--trial"), ("-m", "pytest", "-qx", "-p", "no:cacheprovider")
    return [[*trial, look] if look in TRIALS_OF else [*test, str(ROOT / "tests" / look)] for look in looks]


def trial(kind: str) -> None:
    """Streams of all kinds in every way, against brute force, with every invariant."""
    from tests.support import family_trials, trials

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    taken: Counter[str] = Counter()
    for seed in range(TRIALS):
        if kind == "pairs":
            drawn = trials.Trial.draw(seed)
            for way in trials.WAYS:
                trials.run(drawn, way, taken)
        else:
            family = family_trials.FamilyTrial.draw(seed)
            for way in family_trials.WAYS:
                family_trials.run(family, way, taken)
            family_trials.run_as_history(family, taken)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="how many changes (default: 100)")
    parser.add_argument("--seed", type=int, default=0, help="another one draws others")
    parser.add_argument("--workers", type=int, default=2, help="how many are tried at a time (default: 2)")
    parser.add_argument("--timeout", type=float, default=900, help="seconds after which one hangs, compiling included")
    parser.add_argument("--only", default="", help="those whose description has this text")
    parser.add_argument("--list", action="store_true", help="name them, and try none")
    parser.add_argument("--modules", default=",".join(MODULES), help="some of " + ",".join(MODULES))
    parser.add_argument("--trial", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.trial:
        trial(options.trial)
        return 0
    everything = [
        mutant for module in options.modules.split(",") for mutant in mutants_of(module) if options.only in str(mutant)
    ]
    drawn = random.Random(options.seed).sample(everything, min(options.count, len(everything)))
    print(f"{len(drawn)} of {len(everything):,} changes")
    if options.list:
        print(*drawn, sep="\n")
        return 0
    results: dict[Mutant, str] = {}
    with ThreadPoolExecutor(options.workers) as pool:
        unchanged = pool.submit(run, None, options.timeout)
        waiting = {pool.submit(run, mutant, options.timeout): mutant for mutant in drawn if not mutant.harmless}
        for future in as_completed(waiting):
            results[waiting[future]] = future.result()
            print(f"{len(results):>4} of {len(waiting)}  {results[waiting[future]]:<20.75} {waiting[future]}", flush=True)
    if unchanged.result() != "survived":
        print(f"Without any change, the trial {unchanged.result()}: so this says nothing about the changes")
        return 1
    return close(drawn, results)


def close(drawn: list[Mutant], results: dict[Mutant, str]) -> int:
    print(f"\n{'module':<20} {'tried':>6} {'noticed':>8} {'survived':>9} {'harmless':>9}")
    for module in MODULES:
        found = [results[mutant] for mutant in results if mutant.module == module]
        harmless = sum(mutant.module == module and mutant.harmless is not None for mutant in drawn)
        survived = found.count("survived")
        print(f"{module:<20} {len(found):>6} {len(found) - survived:>8} {survived:>9} {harmless:>9}")
    survivors = [mutant for mutant, result in results.items() if result == "survived"]
    print("\nAll were noticed." if not survivors else "\nSurvived:")
    for mutant in sorted(survivors, key=str):
        print(f"  {mutant}")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
