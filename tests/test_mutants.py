"""The changes that ``make mutants`` tries are changes: of one place, and still Python."""

from __future__ import annotations

import ast
import random

from tests.support.mutants import HARMLESS, MODULES, PACKAGE, mutants_of


def test_each_is_another_program() -> None:
    rng = random.Random(1)
    for module in MODULES:
        source = (PACKAGE / "engine" / f"{module}.py").read_bytes()
        whole = ast.dump(ast.parse(source))
        everything = mutants_of(module)
        assert len(everything) > 20, f"there is something to change in {module}"
        for mutant in rng.sample(everything, 20):
            assert ast.dump(ast.parse(mutant.apply(source))) != whole, str(mutant)


def test_what_is_harmless_is_still_there() -> None:
    known = {(mutant.function, mutant.before, mutant.after) for module in MODULES for mutant in mutants_of(module)}
    assert set(HARMLESS) <= known, "the kernel has changed since: look at it again"
