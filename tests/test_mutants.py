"""The changes that ``make mutants`` tries are changes: of one place, and still Python."""

from __future__ import annotations

import ast
import random
import re

from tests.support.mutants import HARMLESS, HARMLESS_HERE, MODULES, PACKAGE, ROOT, TRIALS_OF, mutants_of


def test_each_is_another_program() -> None:
    rng = random.Random(1)
    for module in MODULES:
        source = (PACKAGE / f"{module}.py").read_bytes()
        whole = ast.dump(ast.parse(source))
        everything = mutants_of(module)
        assert len(everything) > (2 if module in ("engine/forest", "engine/layout") else 20), (
            f"there is something to change in {module}"
        )
        for mutant in rng.sample(everything, min(20, len(everything))):
            assert ast.dump(ast.parse(mutant.apply(source))) != whole, str(mutant)


def test_all_kernels_are_known() -> None:
    """Every module of the engine and of texts that has something compiled, and the tests that look at it."""
    compiled = re.compile(r"^@(jit|kernel|noinline|inline_early)$", re.MULTILINE)
    files = [file for folder in ("engine", "text") for file in (PACKAGE / folder).glob("*.py")]
    found = {file.relative_to(PACKAGE).with_suffix("").as_posix() for file in files if compiled.search(file.read_text())}
    assert found == set(MODULES)
    assert all(look in TRIALS_OF or (ROOT / "tests" / look).exists() for looks in MODULES.values() for look in looks)


def test_what_is_harmless_is_still_there() -> None:
    everything = [mutant for module in MODULES for mutant in mutants_of(module)]
    known = {(mutant.function, mutant.before, mutant.after) for mutant in everything}
    assert set(HARMLESS) <= known, "the kernel has changed since: look at it again"
    here = {(mutant.function, mutant.text, mutant.before, mutant.after) for mutant in everything}
    assert set(HARMLESS_HERE) <= here, "the kernel has changed since: look at it again"
