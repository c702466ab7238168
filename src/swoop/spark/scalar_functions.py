"""Swoop's scalar functions for SQL: the tokens of texts, and the similarity of two sets. Columns in, columns out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from swoop.errors import InvalidArgument, InvalidData, InvalidType
from swoop.join.columns import LISTS, STRINGS, large_type
from swoop.join.unusable import why_unusable
from swoop.similarity import find_similarity
from swoop.text.columns import make_tokens
from swoop.text.functions import TokenFunction, char_ngrams, word_ngrams, words


def find_words(text: pa.Array) -> pa.Array:
    """The words of texts, as :func:`swoop.words` makes them; null where the text is null or not UTF-8."""
    return _tokens(text, words("text"))


def find_word_ngrams(text: pa.Array, n: pa.Array) -> pa.Array:
    """Runs of n words, as :func:`swoop.word_ngrams` makes them."""
    return _tokens(text, word_ngrams("text", n=_constant("n", n)))


def find_char_ngrams(text: pa.Array, n: pa.Array) -> pa.Array:
    """Runs of n characters, as :func:`swoop.char_ngrams` makes them."""
    return _tokens(text, char_ngrams("text", n=_constant("n", n)))


def find_similarities(name: pa.Array, one: pa.Array, other: pa.Array) -> pa.Array:
    """How similar two sets of tokens are; null where one of them is null or has a null in it.

    >>> sets = pa.array([["a", "b", "b"], None, []]), pa.array([["b", "c"], ["a"], ["a"]])
    >>> find_similarities(pa.array(["jaccard"] * 3), *sets).to_pylist()
    [0.3333333333333333, None, 0.0]
    """
    try:
        measure = find_similarity(_constant("name", name))
    except (InvalidArgument, InvalidType) as error:
        raise InvalidArgument(f"name: {error}") from None
    sets = [_as_lists(argument, column) for argument, column in (("one", one), ("other", other))]
    elements = [each.flatten() for each in sets]
    if elements[0].type == elements[1].type:
        codes = np.split(_codes(pa.chunked_array(elements).combine_chunks()), [len(elements[0])])
    else:  # tokens of different types are different
        codes = [_codes(elements[0]), len(elements[0]) + _codes(elements[1])]
    stride = sum(map(len, elements)) + 1
    keys = [np.unique(_rows(each) * stride + found) for each, found in zip(sets, codes, strict=True)]
    shared = np.intersect1d(keys[0], keys[1], assume_unique=True)
    sizes = [np.bincount(found // stride, minlength=len(one)) for found in (*keys, shared)]
    different, places = np.unique(np.stack(sizes, 1), axis=0, return_inverse=True)
    values = np.array([measure(*map(int, triple)) for triple in different], np.float64)
    is_null = np.logical_or(*(_has_null(each) for each in sets))
    return pa.array(np.take(values, places.reshape(-1)), mask=is_null)


def _constant(argument: str, given: pa.Array) -> Any:
    """The value of an argument that is the same for all rows."""
    found = pc.unique(given).to_pylist()
    if len(found) > 1:
        raise InvalidArgument(f"{argument} must be a constant, not different for each row: {found[:3]}")
    return found[0] if found else ("jaccard" if argument == "name" else 1)


def _tokens(texts: pa.Array, function: TokenFunction) -> pa.Array:
    if not any(is_string(texts.type) for is_string in (*STRINGS, pa.types.is_null)):
        raise InvalidData(f"text must be a string, not {texts.type}: words are made from strings")
    texts = texts.cast(pa.large_string()) if pa.types.is_null(texts.type) else texts.cast(large_type(texts.type), safe=False)
    rows = len(texts)
    known = {"id": np.zeros(rows, np.int8), "time": np.zeros(rows, np.int8), "text": texts}
    usable = why_unusable(known, tokens=function).is_null()
    counts, parts = [], []
    for _, size, offsets, tokens in make_tokens([texts.filter(usable)], function):
        found = tokens.strings
        buffers = [None, pa.py_buffer(np.ascontiguousarray(found.ends)), pa.py_buffer(found.data)]
        values = pa.Array.from_buffers(pa.large_string(), len(found), buffers)
        at = np.repeat(np.arange(size), np.diff(offsets))
        codes = values.dictionary_encode().indices.to_numpy()
        _, first = np.unique(at * (len(values) + 1) + codes, return_index=True)
        first.sort()
        parts.append(values.take(pa.array(first)))
        counts.append(np.bincount(at[first], minlength=size))
    sizes = np.zeros(rows, np.int64)
    sizes[usable.to_numpy(zero_copy_only=False)] = np.concatenate([np.empty(0, np.int64), *counts])
    ends = pa.array(np.append(0, np.cumsum(sizes)).astype(np.int32))
    values = pa.chunked_array(parts, pa.large_string()).combine_chunks().cast(pa.string())
    return pa.ListArray.from_arrays(ends, values, mask=pc.invert(usable))


def _as_lists(argument: str, column: pa.Array) -> pa.Array:
    """Arrays of tokens: integers with 64 bits, strings as they are."""
    if pa.types.is_null(column.type):
        return column.cast(pa.large_list(pa.large_string()))
    if not any(is_list(column.type) for is_list in LISTS):
        raise InvalidData(f"{argument} must be an array, not {column.type}: the similarity is that of two arrays")
    kind = column.type.value_type
    plain = pa.int64() if pa.types.is_integer(kind) else pa.large_string() if pa.types.is_null(kind) else large_type(kind)
    return column.cast(pa.large_list(plain))


def _codes(tokens: pa.Array) -> np.ndarray:
    """A number for each token, the same for equal ones."""
    return np.asarray(pc.fill_null(tokens.dictionary_encode().indices, 0).to_numpy(), np.int64)


def _rows(sets: pa.Array) -> np.ndarray:
    return np.repeat(np.arange(len(sets)), pc.fill_null(pc.list_value_length(sets), 0).to_numpy())


def _has_null(sets: pa.Array) -> np.ndarray:
    found: np.ndarray = sets.is_null().to_numpy(zero_copy_only=False).copy()
    found[_rows(sets)[sets.flatten().is_null().to_numpy(zero_copy_only=False)]] = True
    return found
