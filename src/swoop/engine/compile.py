"""How kernels are compiled, in one place: the decorators and the few machine instructions.

The decorators:

``jit``
    for helpers. They are compiled into the kernels that call them and are never cached on their own. ``inline_early`` and
    ``noinline`` are for the few that must be inlined earlier, or not at all.
``kernel``
    for the functions that Python calls. Their machine code is kept on disk; see ``machine_code``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic as _intrinsic

from swoop.engine.machine_code import KernelCache
from swoop.engine.structures import element_pointer

Function = TypeVar("Function", bound=Callable[..., Any])

if TYPE_CHECKING:  # to a type checker, numbers of the machine are ints

    def int64(value: Any) -> int: ...
    def uint64(value: Any) -> int: ...
else:
    int64 = np.int64
    uint64 = np.uint64

LOW = (1 << 32) - 1
"""The lower half of an integer, where two numbers share one."""

OPTIONS = {"nogil": True, "error_model": "numpy", "boundscheck": False, "fastmath": False}

intrinsic = cast(Callable[[Callable[..., Any]], Callable[..., Any]], _intrinsic)


def jit(function: Function) -> Function:
    """Compile a helper; it becomes part of each kernel that calls it."""
    return cast(Function, njit(**OPTIONS, forceinline=True)(function))


def inline_early(function: Function) -> Function:
    """Compile a helper that is called from one place, as if it were written there."""
    return cast(Function, njit(**OPTIONS, inline="always")(function))


def noinline(function: Function) -> Function:
    """Compile a helper that a kernel calls and does not swallow: a large one, or a tight loop that wants all registers.

    The optimiser may swallow it all the same; where that costs, the helper begins with ``forbid_inlining()``.
    """
    return cast(Function, njit(**OPTIONS, forceinline=False)(function))  # if not said, it would be as for the caller


def kernel(function: Function) -> Function:
    """Compile a function that Python calls, at its first call, and keep the machine code on disk."""
    dispatcher = njit(**OPTIONS)(function)
    dispatcher._cache = KernelCache(function)
    return cast(Function, dispatcher)


@intrinsic
def forbid_inlining(typing_context: Any) -> Any:
    """Keep the function that says so out of its callers' code."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def count_ones(typing_context: Any, bits: Any) -> Any:
    """The number of one-bits of an int64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.int64), generate


@intrinsic
def select(typing_context: Any, condition: Any, yes: Any, no: Any) -> Any:
    """``yes if condition else no``, without a branch: for conditions that cannot be predicted."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        chosen = builder.select(*arguments)
        chosen.set_metadata("unpredictable", builder.module.add_metadata([]))
        return chosen

    return types.int64(types.boolean, types.int64, types.int64), generate


@intrinsic
def prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Ask for the cache line of ``array[index]``, which will be read and written soon."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        element = element_pointer(context, builder, *signature.args, *arguments)
        address = builder.bitcast(element, ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        instruction = builder.module.declare_intrinsic(
            "llvm.prefetch",
            [address.type],
            ir.FunctionType(ir.VoidType(), [address.type, number, number, number]),
        )
        builder.call(instruction, [address, number(1), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


@intrinsic
def call_similarity(typing_context: Any, address: Any, len_r: Any, len_s: Any, overlap: Any) -> Any:
    """Call the compiled user-defined similarity at ``address``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number = ir.IntType(64)
        function_type = ir.FunctionType(ir.DoubleType(), [number, number, number])
        function = builder.inttoptr(arguments[0], function_type.as_pointer())
        return builder.call(function, arguments[1:])

    return types.float64(types.int64, types.int64, types.int64, types.int64), generate
