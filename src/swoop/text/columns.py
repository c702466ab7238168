"""Columns of texts as columns of tokens, block by block."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import cache, reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from swoop.engine.tokens import Texts, Tokens
from swoop.errors import InternalError
from swoop.text import characters, kernels
from swoop.text.blocks import Block
from swoop.text.functions import TokenFunction
from swoop.text.kernels import Characters, Rules, Strings

BLOCK = 1 << 20  # bytes of text that are read at once

_IN_CONTEXT = ("\u0130", "\u03a3")
"""Letters whose small ones depend on what is around them, or are several: texts with them are put into lower case by Python."""


def join_texts(texts: list[pa.Array]) -> pa.Array:
    """Several columns as one, with a space between texts; null where all are."""
    large = [text.cast(pa.large_string()) for text in texts]
    if len(large) == 1:
        return large[0]
    joined = pc.binary_join_element_wise(*large, pa.scalar(" ", pa.large_string()), null_handling="skip")
    some = reduce(pc.or_, (text.is_valid() for text in large))
    return pc.if_else(some, joined, pa.scalar(None, pa.large_string()))


def text_sizes(texts: list[pa.Array]) -> np.ndarray:
    """How many bytes the texts of each row have together, with a space between two columns."""
    sizes = np.full(len(texts[0]), len(texts) - 1, np.int64)
    for text in texts:
        sizes += _sizes(text)
    return sizes


def _sizes(text: pa.Array) -> np.ndarray:
    if not pa.types.is_string_view(text.type):
        return np.asarray(pc.binary_length(text).fill_null(0).to_numpy(zero_copy_only=False))
    views = np.frombuffer(text.buffers()[1] or b"", np.int32)[::4]  # Arrow knows no lengths of views, which begin with them
    return np.where(text.is_valid().to_numpy(zero_copy_only=False), views[text.offset : text.offset + len(text)], 0)


def prepare(texts: pa.Array, function: TokenFunction) -> pa.Array:
    """Texts in the form that kernels read, without nulls."""
    if function.nfc:
        is_ascii = pc.string_is_ascii(texts).to_numpy(zero_copy_only=False)
        texts = _replace(texts, ~is_ascii, lambda text: unicodedata.normalize("NFC", text))
    return _replace(texts, _which_have(texts, _IN_CONTEXT), str.lower)


def _which_have(texts: pa.Array, letters: tuple[str, str]) -> np.ndarray:
    """Which texts have one of two letters of two bytes. Most often none has, and one look at all bytes tells that."""
    ends, data = _ends_and_bytes(texts)
    found = np.zeros(len(texts), bool)
    encoded = [letter.encode() for letter in letters]
    if kernels.count_letters(Strings(data, ends), *((lead, rest) for lead, rest in encoded)):
        for first, second in encoded:
            places = ends[0] + np.flatnonzero(data[ends[0] : ends[-1]] == first)
            places = places[data[places + 1] == second]  # no text ends in the middle of a letter
            found[np.searchsorted(ends, places, side="right") - 1] = True
    return found


def _replace(texts: pa.Array, which: np.ndarray, change: Any) -> pa.Array:
    if not which.any():
        return texts
    mask = pa.array(which)
    changed = [change(text) for text in texts.filter(mask).to_pylist()]
    return pc.replace_with_mask(texts, mask, pa.array(changed, pa.large_string()))


def _ends_and_bytes(texts: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Where texts end, after where the first begins, and the bytes that this speaks of."""
    _, ends, data = texts.buffers()
    return _read_only(ends, np.int64)[texts.offset : texts.offset + len(texts) + 1], _bytes_of(data)


@cache
def _all_characters() -> Characters:
    classes, lower = np.frombuffer(characters.classes(), np.uint8), kernels.lower_table()
    return Characters(classes, lower, kernels.ascii_table(classes, lower))


def make_tokens(texts: list[pa.Array], function: TokenFunction) -> Iterator[Block]:
    """The tokens of columns of valid texts, of which each row has at least one, in blocks of rows.

    What has to be copied, because a column is of views or there are several columns, is copied block by block.
    """
    ends = np.concatenate(([0], np.cumsum(text_sizes(texts))))
    first, block = 0, max(BLOCK // function.n, 1)
    while first < len(texts[0]):
        stop = max(first + 1, int(np.searchsorted(ends, ends[first] + block, side="right")) - 1)
        joined = join_texts([text.slice(first, stop - first) for text in texts])
        offsets, tokens = _read_block(prepare(joined, function), function)
        yield Block(first, stop - first, offsets, Tokens(strings=tokens))
        first = stop


def _bytes_of(buffer: pa.Buffer | None) -> np.ndarray:
    return _read_only(buffer, np.uint8) if buffer is not None and buffer.size else _read_only(b" ", np.uint8)[:0]


def _read_only(buffer: Any, kind: type[np.generic]) -> np.ndarray:
    """Arrow's buffers can be written to or not, as it happens; kernels are compiled for arrays that cannot."""
    found = np.frombuffer(buffer, kind)
    found.flags.writeable = False
    return found


def _read_block(texts: pa.Array, function: TokenFunction) -> tuple[np.ndarray, Texts]:
    ends, data = _ends_and_bytes(texts)
    strings, known = Strings(data, ends), _all_characters()
    rules = Rules(function.keep_urls, function.emoji)
    size = int(ends[-1] - ends[0])
    out = np.empty(size + size // 2 + 8, np.uint8)
    position, offsets = np.zeros(4, np.int64), np.zeros(len(ends), np.int64)
    token_ends = np.zeros(size // 4 + 64, np.int64)
    while True:
        written = Strings(out, token_ends)
        if function.unit == "words":
            code = kernels.read_words(strings, known, rules, position, written, offsets)
        else:
            code = kernels.read_characters(strings, known, position, written, offsets)
        if code == kernels.DONE:
            break
        if code == kernels.DAMAGED:
            raise InternalError(f"row {position[kernels.ROW]} of a block of texts is not UTF-8, though it was checked")
        token_ends = np.concatenate((token_ends, np.zeros(len(token_ends), np.int64)))
    tokens = Texts(out[: position[kernels.BYTES]], token_ends[: position[kernels.TOKENS] + 1])
    if function.stop_words:
        offsets, tokens = _without(offsets, tokens, function.stop_words)
    return (offsets, tokens) if function.n == 1 else _join(offsets, tokens, function)


def _without(offsets: np.ndarray, found: Texts, stop_words: frozenset[str]) -> tuple[np.ndarray, Texts]:
    """All but the stop words."""
    buffers = [None, pa.py_buffer(np.ascontiguousarray(found.ends)), pa.py_buffer(found.data)]
    tokens = pa.Array.from_buffers(pa.large_string(), len(found), buffers)
    stays = pc.invert(pc.is_in(tokens, pa.array(sorted(stop_words), pa.large_string())))
    left = tokens.filter(stays)
    _, ends, data = left.buffers()
    count = np.concatenate(([0], np.cumsum(stays.to_numpy(zero_copy_only=False))))
    return count[offsets], Texts(_bytes_of(data).copy(), np.frombuffer(ends, np.int64)[: len(left) + 1].copy())


def _join(offsets: np.ndarray, found: Texts, function: TokenFunction) -> tuple[np.ndarray, Texts]:
    between = 1 if function.unit == "words" else 0
    run_offsets = np.zeros(len(offsets), np.int64)
    ends = np.ascontiguousarray(found.ends)
    size = kernels.count_runs(ends, offsets, function.n, between, run_offsets)
    out, run_ends = np.empty(size, np.uint8), np.zeros(int(run_offsets[-1]) + 1, np.int64)
    kernels.join_runs(Strings(found.data, ends), offsets, function.n, between, Strings(out, run_ends))
    return run_offsets, Texts(out, run_ends)
