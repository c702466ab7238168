"""Ranking keys are exact, also where doubles alone are not."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import swoop
from swoop.engine import rank as rk
from swoop.engine.compile import kernel
from swoop.engine.layout import State, state_of
from swoop.engine.memory import Memory
from swoop.similarity import BUILT_IN, COSINE, DICE, JACCARD, USER
from tests.support.similarities import COLLISIONS


@kernel
def _key(memory: Any, l: int, m: int, o: int) -> Any:
    state = state_of(memory)
    value = rk.key(state, l, m, o)
    return value, rk.remainder(state, l, m, o, value)


@kernel
def _min_overlap(memory: Any, l: int, m: int, most: int, bound: float, bound_remainder: float) -> int:
    return rk.min_overlap(state_of(memory), l, m, most, bound, bound_remainder)


@kernel
def _within_upper_bound(memory: Any, l: int, m: int, o: int, position: int) -> bool:
    return rk.within_upper_bound(state_of(memory), l, m, o, position)


@kernel
def _contains(memory: Any, l: int, most: int, bound: float, size: int) -> bool:
    return rk.contains(rk.sizes_reaching(state_of(memory), l, most, bound), size)


def memory_for(kind: int, function: int = 0) -> np.ndarray:
    memory = Memory(State, 1 << 20)
    memory.state.kind = kind
    memory.state.function = function
    return memory.words


@st.composite
def shapes(draw: st.DrawFn, largest: int) -> tuple[int, int, int]:
    l, m = draw(st.integers(1, largest)), draw(st.integers(1, largest))
    return l, m, draw(st.integers(1, min(l, m)))


@settings(max_examples=2000)
@given(shapes(200_000), shapes(200_000))
@example((99999, 99998, 99997), (99998, 99997, 99996))
@example((3, 3, 1), (300_000, 3, 2))
def test_cosine_keys_order_like_exact_fractions(a: tuple[int, int, int], b: tuple[int, int, int]) -> None:
    memory = memory_for(COSINE)
    exact = [Fraction(o * o, l * m) for l, m, o in (a, b)]
    keys = [_key(memory, *shape) for shape in (a, b)]
    assert (keys[0] < keys[1]) == (exact[0] < exact[1])
    assert (keys[0] == keys[1]) == (exact[0] == exact[1])


@pytest.mark.parametrize(("smaller", "larger"), COLLISIONS)
def test_cosines_that_doubles_cannot_tell_apart(smaller: tuple[int, int, int], larger: tuple[int, int, int]) -> None:
    memory = memory_for(COSINE)
    (key_a, low_a), (key_b, low_b) = _key(memory, *smaller), _key(memory, *larger)
    assert key_a == key_b
    assert low_a < low_b


@pytest.mark.parametrize("larger_first", [True, False])
@pytest.mark.parametrize(("smaller", "larger"), COLLISIONS)
def test_an_engine_ranks_them_exactly(smaller: tuple[int, int, int], larger: tuple[int, int, int], larger_first: bool) -> None:
    join = swoop.TopKJoin(k=2, window=10, similarity="cosine")
    shapes = [larger, smaller] if larger_first else [smaller, larger]
    for place, (l, m, o) in enumerate(shapes):
        start = place * 10**6
        join.insert(range(start, start + l), place, id=f"{l}")
        join.insert(range(start + l - o, start + l - o + m), place, id=f"{m}")
    assert [pair.overlap for pair in join.topk()] == [larger[2], smaller[2]]
    join._check()


@pytest.mark.parametrize("name", list(BUILT_IN))
@settings(max_examples=400)
@given(shape=shapes(60), other=shapes(60), strictly=st.booleans())
def test_min_overlap_is_the_border(name: str, shape: tuple[int, int, int], other: tuple[int, int, int], strictly: bool) -> None:
    memory = memory_for(BUILT_IN[name].kind)
    bound, bound_remainder = _key(memory, *other)
    l, m, _ = shape
    above = [o for o in range(1, min(l, m) + 1) if _key(memory, l, m, o) > (bound, bound_remainder)]
    if above:
        assert _min_overlap(memory, l, m, min(l, m), bound, bound_remainder) == above[0]
    assert _min_overlap(memory, l, m, min(l, m), rk.NO_BOUND, 0.0) == 1


def test_min_overlap_of_a_user_defined_similarity() -> None:
    half = swoop.Similarity(lambda r, s, o: o / max(r, s), name="share of the larger")
    memory = memory_for(USER, half.address)
    for bound in (0.0, 0.2, 0.5, 0.99):
        above = [o for o in range(1, 9) if half(10, 9, o) > bound]
        if above:
            assert _min_overlap(memory, 10, 9, 9, bound, 0.0) == above[0]


@pytest.mark.parametrize("name", list(BUILT_IN))
@settings(max_examples=400)
@given(shape=shapes(40), data=st.data())
def test_reaches_only_is_the_upper_bound(name: str, shape: tuple[int, int, int], data: st.DataObject) -> None:
    memory = memory_for(BUILT_IN[name].kind)
    l, m, o = shape
    position = data.draw(st.integers(0, l - 1))
    assert _within_upper_bound(memory, l, m, o, position) == (
        _key(memory, l, m, o) <= _key(memory, l, l - position, l - position)
    )


@pytest.mark.parametrize("name", list(BUILT_IN))
@settings(max_examples=400)
@given(shape=shapes(60), other=shapes(60))
@example((30, 21, 21), (10, 7, 7))
def test_sizes_that_reach_a_bound(name: str, shape: tuple[int, int, int], other: tuple[int, int, int]) -> None:
    """All that reach it are among them; of the others, no more than the neighbours."""
    memory = memory_for(BUILT_IN[name].kind)
    l, _, most = shape
    for bound in (_key(memory, *other)[0], _key(memory, *shape)[0]):
        reaching = {m for m in range(1, 300) if _key(memory, l, m, min(most, m))[0] >= bound}
        if reaching:
            among = {m for m in range(1, 300) if _contains(memory, l, most, bound, m)}
            assert reaching <= among <= reaching | {min(reaching) - 1, max(reaching) + 1}


@pytest.mark.parametrize("kind", [*(similarity.kind for similarity in BUILT_IN.values()), USER])
@pytest.mark.parametrize("bound", [rk.NO_BOUND, -1e300])
def test_all_sizes_reach_a_bound_that_is_none(kind: int, bound: float) -> None:
    memory = memory_for(kind)
    assert all(_contains(memory, 7, 3, bound, size) for size in (1, 7, 1000, rk.MAX_SET_SIZE))


def test_all_sizes_reach_a_tiny_bound() -> None:
    for kind in (JACCARD, COSINE, DICE):
        assert all(_contains(memory_for(kind), 7, 3, 1e-320, size) for size in (1, 7, 1000, rk.MAX_SET_SIZE))
