"""The vocabulary: tokens become dense numbers, and numbers of tokens that no valid set holds are given out again.

An open-addressing table of 8-byte entries: 32 bits of the token's hash and its number plus one (0: empty). An integer token is
its own 64-bit key, so the key decides; a text token has its hash for key, and its bytes decide.

When a table is rather full, another takes its place, larger if need be. Then all numbers are gone through, some at a time, so
that no arrival has to wait for all of them: tokens that valid sets hold are entered into the new table, the numbers of the
others are free. Those that are still to come are found in the former table. This goes on between two batches only, when every
token with a number has been put into the index: the index then knows the newest set of each token.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from swoop.engine._jit import array_at, int64, jit, kernel, prefetch, uint64
from swoop.engine.state import SLOT, state_of

HEADER = 5  # bytes before a text: four of its length, one of its kind
SIZES_OF_TEXTS = 64  # of the room for a text: 8, 16, ... 256 bytes, then powers of two
_AHEAD = 20  # tokens between a prefetch and its use

_LOW = (1 << 32) - 1


class Vocabulary(NamedTuple):
    """``words`` are the texts as numbers of 8 bytes."""

    table: Any
    former: Any
    token_key: Any
    token_text: Any
    free_tokens: Any
    texts: Any
    words: Any
    free_texts: Any


@jit
def vocabulary_of(state: Any) -> Vocabulary:
    return Vocabulary(
        array_at(state.table, state.table_size, np.int64),
        array_at(state.former, state.former_size, np.int64),
        array_at(state.token_key, state.token_key_size, np.int64),
        array_at(state.token_text, state.token_text_size, np.int64),
        array_at(state.free_tokens, state.free_tokens_size, np.int32),
        array_at(state.texts, state.texts_size, np.uint8),
        array_at(state.texts, state.texts_size >> 3, np.int64),
        array_at(state.free_texts, state.free_texts_size, np.int64),
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
def has_room(state: Any) -> bool:
    """Whether one more token can be entered into the table and given a number."""
    return state.entries < state.most_entries and (state.free_token_count > 0 or state.tokens < state.token_key_size)


@jit
def new_number(state: Any, vocabulary: Vocabulary) -> int:
    if state.free_token_count > 0:
        state.free_token_count -= 1
        return int64(vocabulary.free_tokens[state.free_token_count])
    state.tokens += 1
    return state.tokens - 1


@jit
def free_number(state: Any, vocabulary: Vocabulary, number: int) -> None:
    vocabulary.free_tokens[state.free_token_count] = number
    state.free_token_count += 1
    if vocabulary.token_text.size > 0 and vocabulary.token_text[number] >= 0:
        free_text(vocabulary, vocabulary.token_text[number])
        vocabulary.token_text[number] = -1


@jit
def number_of_integer(table: Any, vocabulary: Vocabulary, hashed: int, token: int, limit: int) -> int:
    """The number of a token in the table, if it is below a limit; else minus the empty place behind it, less one."""
    mask = int64(table.size - 1)
    tag = hashed & ~_LOW
    at = hashed & mask
    while True:
        entry = table[uint64(at)]
        if entry == 0:
            return -at - 1
        number = (entry & _LOW) - 1
        is_like = (entry & ~_LOW) == tag and number < limit and vocabulary.token_key[uint64(number)] == token
        if is_like and (vocabulary.token_text.size == 0 or vocabulary.token_text[uint64(number)] < 0):
            return number
        at = (at + 1) & mask


@jit
def number_of_text(
    table: Any, vocabulary: Vocabulary, hashed: int, given: Any, start: int, end: int, kind: int, limit: int
) -> int:
    """The same of a text."""
    mask = int64(table.size - 1)
    tag = hashed & ~_LOW
    at = hashed & mask
    while True:
        entry = table[uint64(at)]
        if entry == 0:
            return -at - 1
        number = (entry & _LOW) - 1
        if (entry & ~_LOW) == tag and number < limit and vocabulary.token_key[uint64(number)] == hashed:
            stored = vocabulary.token_text[uint64(number)]
            if stored >= 0 and same_text(vocabulary.texts, stored, given, start, end, kind):
                return number
        at = (at + 1) & mask


@kernel
def intern_integers(memory: Any) -> int:
    """Turn ``batch_keys`` into token numbers in ``batch_tokens``, as far as there is room for new ones. Returns how many."""
    state = state_of(memory)
    vocabulary = vocabulary_of(state)
    keys = array_at(state.batch_keys, state.batch_keys_size, np.int64)
    numbers = array_at(state.batch_tokens, state.batch_tokens_size, np.int32)
    table, former, token_key = vocabulary.table, vocabulary.former, vocabulary.token_key
    mask = int64(table.size - 1)
    seed = state.seed
    for p in range(keys.size):
        if p + 2 * _AHEAD < keys.size:
            prefetch(table, mix(keys[p + 2 * _AHEAD], seed) & mask)
        if p + _AHEAD < keys.size:
            prefetch(token_key, (table[uint64(mix(keys[p + _AHEAD], seed) & mask)] & _LOW) - 1)
        token = keys[p]
        hashed = mix(token, seed)
        found = number_of_integer(table, vocabulary, hashed, token, _LOW)
        if found < 0:
            place = -found - 1
            if former.size > 0:
                found = number_of_integer(former, vocabulary, hashed, token, state.unsettled)
            if found < 0:
                if not has_room(state):
                    return p
                found = new_number(state, vocabulary)
                token_key[found] = token
                enter(state, table, place, hashed, found)
        numbers[p] = found
    return int64(keys.size)


@kernel
def intern_texts(memory: Any) -> int:
    """Turn the texts of ``batch_texts`` (they end at ``batch_ends``) into token numbers likewise."""
    state = state_of(memory)
    vocabulary = vocabulary_of(state)
    given = array_at(state.batch_texts, state.batch_texts_size, np.uint8)
    ends = array_at(state.batch_ends, state.batch_ends_size, np.int64)
    numbers = array_at(state.batch_tokens, state.batch_tokens_size, np.int32)
    table, former = vocabulary.table, vocabulary.former
    kind = state.text_kind
    for p in range(ends.size - 1):
        start, end = ends[p], ends[p + 1]
        hashed = hash_text(given, start, end, kind, state.seed)
        found = number_of_text(table, vocabulary, hashed, given, start, end, kind, _LOW)
        if found < 0:
            place = -found - 1
            if former.size > 0:
                found = number_of_text(former, vocabulary, hashed, given, start, end, kind, state.unsettled)
            if found < 0:
                if not has_room(state) or state.texts_end + room_of(end - start) > state.texts_size:
                    return p
                found = new_number(state, vocabulary)
                vocabulary.token_key[found] = hashed
                vocabulary.token_text[found] = store_text(state, vocabulary, given, start, end, kind)
                enter(state, table, place, hashed, found)
        numbers[p] = found
    return int64(ends.size - 1)


@jit
def enter(state: Any, table: Any, place: int, hashed: int, number: int) -> None:
    table[uint64(place)] = (hashed & ~_LOW) | (number + 1)
    state.entries += 1


@jit
def size_of_room(size: int) -> int:
    """The number of the smallest size of room that takes a text."""
    units = (size + HEADER + 7) >> 3
    if units <= 32:
        return units - 1
    large = 31
    while (1 << (large - 26)) < units:
        large += 1
    return large


@jit
def room_of(size: int) -> int:
    """How many bytes a text takes."""
    number = size_of_room(size)
    return 8 * (number + 1) if number < 32 else 8 << (number - 26)


@jit
def store_text(state: Any, vocabulary: Vocabulary, given: Any, start: int, end: int, kind: int) -> int:
    """Store a text where one of about the same size was, or behind all others. Returns where."""
    size = end - start
    free = vocabulary.free_texts[size_of_room(size) : size_of_room(size) + 1]
    at = free[0] - 1
    if at >= 0:
        free[0] = vocabulary.words[at >> 3]
    else:
        at = state.texts_end
        state.texts_end += room_of(size)
    texts = vocabulary.texts
    for byte in range(4):
        texts[at + byte] = (size >> (8 * byte)) & 255
    texts[at + 4] = kind
    for p in range(size):
        texts[at + HEADER + p] = given[start + p]
    return at


@jit
def free_text(vocabulary: Vocabulary, at: int) -> None:
    """Put the room of a text before that which was freed last; ``free_texts`` has places plus one (0: none)."""
    number = size_of_room(text_size(vocabulary.texts, at))
    vocabulary.words[at >> 3] = vocabulary.free_texts[number]
    vocabulary.free_texts[number] = at + 1


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
def recycle(memory: Any, steps: int) -> None:
    """Go through so many of the numbers that are not settled yet, from the highest on.

    Tokens that valid sets hold are entered into the table, the numbers of the others are free.
    """
    state = state_of(memory)
    vocabulary = vocabulary_of(state)
    slots = array_at(state.slots, state.slots_size, SLOT)
    table = vocabulary.table
    mask = int64(table.size - 1)
    last = max(state.unsettled - steps, 0)
    for number in range(state.unsettled - 1, last - 1, -1):
        if number >= _AHEAD:
            prefetch(table, hash_of(state, vocabulary, number - _AHEAD) & mask)
        if not is_held(state, slots, number):
            free_number(state, vocabulary, number)
            continue
        hashed = hash_of(state, vocabulary, number)
        place = hashed & mask
        while table[uint64(place)] != 0:
            place = (place + 1) & mask
        enter(state, table, place, hashed, number)
    state.unsettled = last
