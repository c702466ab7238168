"""Bytes eight or sixty-four at a time, for kernels that read texts. Words are little-endian, and need no alignment."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types

from swoop.engine.compile import int64, intrinsic, jit, uint64
from swoop.engine.structures import element_pointer

BITS = 64
"""Bytes that :func:`word_bits` and :func:`high_bits` look at."""

_BYTE, _WORD = ir.IntType(8), ir.IntType(64)
_VECTOR = ir.VectorType(_BYTE, BITS)
_A, _Z = ord("A"), ord("Z")


def _pointer(context: Any, builder: Any, signature: Any, arguments: Any, to: Any) -> Any:
    return builder.bitcast(element_pointer(context, builder, *signature.args[:2], *arguments[:2]), to.as_pointer())


@intrinsic
def load_word(typing_context: Any, array: Any, at: Any) -> Any:
    """The eight bytes from a place on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_pointer(context, builder, signature, arguments, _WORD), align=1)

    return types.int64(array, types.int64), generate


@intrinsic
def store_word(typing_context: Any, array: Any, at: Any, word: Any) -> Any:
    """Write eight bytes from a place on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[2], _pointer(context, builder, signature, arguments, _WORD), align=1)
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64), generate


@intrinsic
def fold(typing_context: Any, a: Any, b: Any) -> Any:
    """The two halves of the product of 128 bits, one upon the other: each bit of it depends on many of both factors."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        wide = ir.IntType(128)
        product = builder.mul(*(builder.zext(factor, wide) for factor in arguments))
        return builder.xor(builder.trunc(product, _WORD), builder.trunc(builder.lshr(product, wide(64)), _WORD))

    return types.int64(types.int64, types.int64), generate


@intrinsic
def zeros_below(typing_context: Any, bits: Any) -> Any:
    """How many zeros are below the lowest one; 64 if there is none."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.IntType(1)(0))

    return types.int64(types.int64), generate


def _all(value: int) -> Any:
    return ir.Constant(_VECTOR, [value] * BITS)


@intrinsic
def word_bits(typing_context: Any, array: Any, at: Any) -> Any:
    """Which of 64 bytes from a place on are letters, digits or ``_`` of ASCII: a bit for each, the lowest for the first."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        found = builder.load(_pointer(context, builder, signature, arguments, _VECTOR), align=1)
        small = builder.or_(found, _all(0x20))
        letters = builder.icmp_unsigned("<", builder.sub(small, _all(ord("a"))), _all(26))
        digits = builder.icmp_unsigned("<", builder.sub(found, _all(ord("0"))), _all(10))
        line = builder.icmp_unsigned("==", found, _all(ord("_")))
        return builder.bitcast(builder.or_(builder.or_(letters, digits), line), _WORD)

    return types.int64(array, types.int64), generate


@intrinsic
def high_bits(typing_context: Any, array: Any, at: Any) -> Any:
    """Which of 64 bytes from a place on are not ASCII, likewise."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        found = builder.load(_pointer(context, builder, signature, arguments, _VECTOR), align=1)
        return builder.bitcast(builder.icmp_signed("<", found, _all(0)), _WORD)

    return types.int64(array, types.int64), generate


@jit
def lower_word(word: int) -> int:
    """Eight characters of ASCII in lower case."""
    all_bytes = uint64(0x0101010101010101)
    x = uint64(word)
    from_a, behind_z = x + all_bytes * uint64(0x80 - _A), x + all_bytes * uint64(0x7F - _Z)
    return int64(x | (((from_a ^ behind_z) & (all_bytes * uint64(0x80))) >> uint64(2)))


@jit
def low_bytes(word: int, count: int) -> int:
    """The first bytes of a word, up to seven of them, and zeros behind."""
    return word & ((1 << (8 * count)) - 1)
