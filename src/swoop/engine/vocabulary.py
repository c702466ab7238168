"""The vocabulary: tokens become dense numbers, and numbers of tokens that no valid set holds are given out again.

An open-addressing table of 8-byte entries: 32 bits of the token's hash and its number plus one (0: empty). An integer token is
its own 64-bit key, so the key decides; a text token has its hash for key, and its bytes decide. Numbers are recycled between
two batches only, when every token in the table has been put into the index: the index then knows the newest set of each token.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from swoop.engine._jit import array_at, int64, jit, kernel, prefetch, uint64
from swoop.engine.state import SLOT, state_of

HEADER = 5  # bytes before a text: four of its length, one of its kind
_AHEAD = 12  # tokens between a prefetch and its use

_LOW = (1 << 32) - 1


class Vocabulary(NamedTuple):
    table: Any
    token_key: Any
    token_text: Any
    free_tokens: Any
    texts: Any


@jit
def vocabulary_of(state: Any) -> Vocabulary:
    return Vocabulary(
        array_at(state.table, state.table_size, np.int64),
        array_at(state.token_key, state.token_key_size, np.int64),
        array_at(state.token_text, state.token_text_size, np.int64),
        array_at(state.free_tokens, state.free_tokens_size, np.int32),
        array_at(state.texts, state.texts_size, np.uint8),
    )


@jit
def mix(value: int, seed: int) -> int:
    """A one-to-one scrambling of 64 bits (the finaliser of splitmix64)."""
    x = uint64(value) ^ uint64(seed)
    x = (x ^ (x >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> uint64(27))) * uint64(0x94D049BB133111EB)
    return int64(x ^ (x >> uint64(31)))


@jit
def hash_text(texts: Any, start: int, end: int, kind: int, seed: int) -> int:
    x = uint64(seed) ^ uint64(kind)
    for p in range(start, end):
        x = (x ^ uint64(texts[p])) * uint64(0x100000001B3)
    return mix(int64(x), end - start)


@jit
def new_number(state: Any, vocabulary: Vocabulary) -> int:
    if state.free_token_count > 0:
        state.free_token_count -= 1
        return int64(vocabulary.free_tokens[state.free_token_count])
    state.tokens += 1
    return state.tokens - 1


@kernel
def intern_integers(memory: Any) -> None:
    """Turn ``batch_keys`` into token numbers in ``batch_tokens``; Python has made room for all of them."""
    state = state_of(memory)
    vocabulary = vocabulary_of(state)
    keys = array_at(state.batch_keys, state.batch_keys_size, np.int64)
    numbers = array_at(state.batch_tokens, state.batch_tokens_size, np.int32)
    table, token_key, token_text = vocabulary.table, vocabulary.token_key, vocabulary.token_text
    mask = int64(table.size - 1)
    has_texts = token_text.size > 0
    seed = state.seed
    for p in range(keys.size):
        if p + 2 * _AHEAD < keys.size:
            prefetch(table, mix(keys[p + 2 * _AHEAD], seed) & mask)
        if p + _AHEAD < keys.size:
            prefetch(token_key, (table[uint64(mix(keys[p + _AHEAD], seed) & mask)] & _LOW) - 1)
        token = keys[p]
        hashed = mix(token, seed)
        tag = hashed & ~_LOW
        at = hashed & mask
        while True:
            entry = table[uint64(at)]
            if entry == 0:
                number = new_number(state, vocabulary)
                token_key[number] = token
                if has_texts:
                    token_text[number] = -1
                table[at] = tag | (number + 1)
                break
            if (entry & ~_LOW) == tag:
                number = (entry & _LOW) - 1
                if token_key[uint64(number)] == token and (not has_texts or token_text[number] < 0):
                    break
            at = (at + 1) & mask
        numbers[p] = number


@kernel
def intern_texts(memory: Any) -> None:
    """Turn the texts of ``batch_texts`` (they end at ``batch_ends``) into token numbers in ``batch_tokens``."""
    state = state_of(memory)
    vocabulary = vocabulary_of(state)
    given = array_at(state.batch_texts, state.batch_texts_size, np.uint8)
    ends = array_at(state.batch_ends, state.batch_ends_size, np.int64)
    numbers = array_at(state.batch_tokens, state.batch_tokens_size, np.int32)
    table, token_key, token_text, texts = (
        vocabulary.table,
        vocabulary.token_key,
        vocabulary.token_text,
        vocabulary.texts,
    )
    mask = int64(table.size - 1)
    kind = state.text_kind
    for p in range(ends.size - 1):
        start, end = ends[p], ends[p + 1]
        hashed = hash_text(given, start, end, kind, state.seed)
        tag = hashed & ~_LOW
        at = hashed & mask
        while True:
            entry = table[at]
            if entry == 0:
                number = new_number(state, vocabulary)
                token_key[number] = hashed
                token_text[number] = state.texts_end
                state.texts_end = store_text(texts, state.texts_end, given, start, end, kind)
                table[at] = tag | (number + 1)
                break
            if (entry & ~_LOW) == tag:
                number = (entry & _LOW) - 1
                stored = token_text[number]
                if token_key[number] == hashed and stored >= 0 and same_text(texts, stored, given, start, end, kind):
                    break
            at = (at + 1) & mask
        numbers[p] = number


@jit
def store_text(texts: Any, at: int, given: Any, start: int, end: int, kind: int) -> int:
    size = end - start
    for byte in range(4):
        texts[at + byte] = (size >> (8 * byte)) & 255
    texts[at + 4] = kind
    for p in range(size):
        texts[at + HEADER + p] = given[start + p]
    return at + HEADER + size


@jit
def text_size(texts: Any, at: int) -> int:
    return int64(texts[at]) | (int64(texts[at + 1]) << 8) | (int64(texts[at + 2]) << 16) | (int64(texts[at + 3]) << 24)


@jit
def same_text(texts: Any, at: int, given: Any, start: int, end: int, kind: int) -> bool:
    size = end - start
    if texts[at + 4] != kind or text_size(texts, at) != size:
        return False
    for p in range(size):
        if texts[at + HEADER + p] != given[start + p]:
            return False
    return True


@jit
def is_held(state: Any, slots: Any, number: int) -> bool:
    """Whether some valid set holds the token."""
    for side in range(state.streams):
        if slots[number * state.streams + side].newest >= state.oldest:
            return True
    return False


@jit
def hash_of(state: Any, vocabulary: Vocabulary, number: int) -> int:
    """The hash of a token in the table: that of a text is its key."""
    is_text = vocabulary.token_text.size > 0 and vocabulary.token_text[number] >= 0
    return vocabulary.token_key[number] if is_text else mix(vocabulary.token_key[number], state.seed)


@kernel
def recycle(memory: Any) -> int:
    """Enter the tokens that valid sets hold into the cleared table and free the numbers of the others.

    Returns how many are held.
    """
    state = state_of(memory)
    vocabulary = vocabulary_of(state)
    slots = array_at(state.slots, state.slots_size, SLOT)
    table, token_text = vocabulary.table, vocabulary.token_text
    mask = int64(table.size - 1)
    has_texts = token_text.size > 0
    held = 0
    state.free_token_count = 0
    for number in range(state.tokens - 1, -1, -1):
        if number >= _AHEAD:
            prefetch(table, hash_of(state, vocabulary, number - _AHEAD) & mask)
        if not is_held(state, slots, number):
            vocabulary.free_tokens[state.free_token_count] = number
            state.free_token_count += 1
            if has_texts:
                token_text[number] = -1
            continue
        held += 1
        hashed = hash_of(state, vocabulary, number)
        at = hashed & mask
        while table[uint64(at)] != 0:
            at = (at + 1) & mask
        table[at] = (hashed & ~_LOW) | (number + 1)
    return held


@kernel
def move_texts(memory: Any, target: Any) -> int:
    """Copy the texts of the tokens in the table to another array, without gaps. Returns where they end."""
    state = state_of(memory)
    vocabulary = vocabulary_of(state)
    end = 0
    for number in range(state.tokens):
        start = vocabulary.token_text[number]
        if start >= 0:
            vocabulary.token_text[number] = end
            for p in range(start, start + HEADER + text_size(vocabulary.texts, start)):
                target[end] = vocabulary.texts[p]
                end += 1
    return end
