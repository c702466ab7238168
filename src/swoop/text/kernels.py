"""Words and characters of texts, read from UTF-8 as Arrow keeps it. What they are is told by :mod:`swoop.text.reference`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from swoop.engine.compile import int64, jit, kernel, uint64
from swoop.engine.words import BITS, high_bits, load_word, low_bytes, lower_word, store_word, word_bits, zeros_below
from swoop.text.characters import (
    FLAG_LETTERS,
    PICTURE,
    SKIN_TONES,
    SPACE,
    VARIATION_SELECTORS,
    WORD,
    ZERO_WIDTH_JOINER,
)

DONE, FULL, DAMAGED = range(3)
"""All rows were read; there is no room for the next token; a row is not UTF-8."""

ROW, AT, BYTES, TOKENS = range(4)
"""Where reading stands: the row, the byte in it, and how many bytes and tokens were written."""

_FIRST_FLAG, _LAST_FLAG = FLAG_LETTERS[0], FLAG_LETTERS[-1]
_FIRST_TONE, _LAST_TONE = SKIN_TONES[0], SKIN_TONES[-1]
_FIRST_SELECTOR, _LAST_SELECTOR = VARIATION_SELECTORS[0], VARIATION_SELECTORS[-1]


class Strings(NamedTuple):
    """Strings in UTF-8: the n-th is ``data[ends[n]:ends[n + 1]]``."""

    data: Any
    ends: Any


class Characters(NamedTuple):
    """What is known of all characters.

    ``classes``: of each code point. ``lower``: small letters, of the code points up to the last that has one. ``ascii_words``:
    of each byte that is a character of a word by itself, its small letter; of others 0.
    """

    classes: Any
    lower: Any
    ascii_words: Any


class Rules(NamedTuple):
    """What counts as a word besides words."""

    keep_urls: bool
    emoji: bool


class Character(NamedTuple):
    """A code point in lower case and its bytes in the text; 0 if they are not UTF-8, or the text is over."""

    code: int
    size: int


@jit
def tail(data: Any, at: int) -> int:
    """The six bits of a byte that goes on with a character; -1 if it does not."""
    byte = int64(data[uint64(at)])
    return byte & 0x3F if byte & 0xC0 == 0x80 else -1


@jit
def decode(data: Any, at: int, end: int) -> Character:
    """The code point that begins at a byte."""
    if at >= end:
        return Character(0, 0)
    first = int64(data[uint64(at)])
    if first < 0x80:
        return Character(first, 1)
    if first < 0xC2 or first > 0xF4:
        return Character(0, 0)
    size = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    if at + size > end:
        return Character(0, 0)
    code = first & (0x7F >> size)
    for p in range(at + 1, at + size):
        bits = tail(data, p)
        if bits < 0:
            return Character(0, 0)
        code = (code << 6) | bits
    if size == 3 and (code < 0x800 or 0xD800 <= code < 0xE000):
        return Character(0, 0)
    if size == 4 and (code < 0x10000 or code > 0x10FFFF):
        return Character(0, 0)
    return Character(code, size)


@jit
def lowered(data: Any, at: int, end: int, lower: Any) -> Character:
    """The same in lower case."""
    character = decode(data, at, end)
    if character.code < lower.size:
        return Character(int64(lower[uint64(character.code)]), character.size)
    return character


@jit
def encode(code: int, out: Any, at: int) -> int:
    """Write a code point; where the next one goes."""
    if code < 0x80:
        out[uint64(at)] = code
        return at + 1
    if code < 0x800:
        out[uint64(at)] = 0xC0 | (code >> 6)
        out[uint64(at + 1)] = 0x80 | (code & 0x3F)
        return at + 2
    if code < 0x10000:
        out[uint64(at)] = 0xE0 | (code >> 12)
        out[uint64(at + 1)] = 0x80 | ((code >> 6) & 0x3F)
        out[uint64(at + 2)] = 0x80 | (code & 0x3F)
        return at + 3
    out[uint64(at)] = 0xF0 | (code >> 18)
    out[uint64(at + 1)] = 0x80 | ((code >> 12) & 0x3F)
    out[uint64(at + 2)] = 0x80 | ((code >> 6) & 0x3F)
    out[uint64(at + 3)] = 0x80 | (code & 0x3F)
    return at + 4


@jit
def letter_at(data: Any, at: int, end: int) -> int:
    """A byte, as a small letter if it is a letter; 0 behind the end."""
    if at >= end:
        return 0
    byte = int64(data[uint64(at)])
    return byte | 0x20 if 0x41 <= byte <= 0x5A else byte


@jit
def size_of_beginning(data: Any, at: int, end: int) -> int:
    """How long the beginning of an address of the web is; 0 if there is none."""
    first = letter_at(data, at, end)
    if first == 0x77:  # www.
        for p in range(1, 3):
            if letter_at(data, at + p, end) != 0x77:
                return 0
        return 4 if letter_at(data, at + 3, end) == 0x2E else 0
    if first != 0x68 or letter_at(data, at + 1, end) != 0x74 or letter_at(data, at + 2, end) != 0x74:  # htt
        return 0
    if letter_at(data, at + 3, end) != 0x70:  # p
        return 0
    p = 5 if letter_at(data, at + 4, end) == 0x73 else 4  # s
    is_address = letter_at(data, at + p, end) == 0x3A and letter_at(data, at + p + 1, end) == 0x2F
    return p + 3 if is_address and letter_at(data, at + p + 2, end) == 0x2F else 0


_MOST_WORDS = BITS // 2 + 1
"""Words of so many bytes."""

_HTTP, _WWW = (int.from_bytes(begin, "little") for begin in (b"http", b"www"))


class Reached(NamedTuple):
    """Where reading stands: the byte, the tokens, and the bytes that were written."""

    at: int
    tokens: int
    to: int


@jit
def read_ascii_words(data: Any, end: int, keep_urls: bool, out: Any, token_ends: Any, reached: Reached) -> Reached:
    """Read the words among 64 bytes, or up to the end of the text, that consist of ASCII and are seen to end there.

    Stops before what may be an address of the web, and before what is not ASCII. (The arrays come one by one: in structures,
    they would be counted for each 64 bytes.)
    """
    at, tokens, to = reached.at, reached.tokens, reached.to
    left = min(end - at, BITS)
    high = min(zeros_below(high_bits(data, at)), left)
    words = word_bits(data, at)
    if high < BITS:
        words &= (1 << high) - 1
    while words != 0:
        first = zeros_below(words)
        size = zeros_below(~int64(uint64(words) >> uint64(first)))
        begin, stop = at + first, at + first + size
        if first + size == high and stop != end:  # it may go on
            return Reached(begin, tokens, to)
        word = lower_word(load_word(data, begin))
        if keep_urls and (low_bytes(word, 3) == _WWW or low_bytes(word, 4) == _HTTP):
            return Reached(begin, tokens, to)
        store_word(out, to, word)
        for p in range(8, size, 8):
            store_word(out, to + p, lower_word(load_word(data, begin + p)))
        to += size
        tokens += 1
        token_ends[uint64(tokens)] = to
        words &= words + (words & -words)
    return Reached(at + high, tokens, to)


@kernel
def read_words(texts: Strings, characters: Characters, rules: Rules, position: Any, written: Strings, offsets: Any) -> int:
    """Read the words of texts, from ``position`` on.

    ``written.data`` has half as much room again as the texts, as no character grows more in lower case, and room for a word of
    the machine. ``offsets[n + 1]`` becomes how many words there are up to row n.
    """
    data, ends, out, token_ends = texts.data, texts.ends, written.data, written.ends
    classes, lower, ascii_words = characters.classes, characters.lower, characters.ascii_words
    keep_urls, emoji = rules.keep_urls, rules.emoji
    tokens, begin = position[TOKENS], position[BYTES]
    for row in range(position[ROW], ends.size - 1):
        end = ends[row + 1]
        at = max(position[AT], ends[row])
        while at < end:
            if tokens + _MOST_WORDS >= token_ends.size:
                return stop_reading(FULL, position, row, at, begin, tokens)
            if data[uint64(at)] < 0x80 and at + BITS + 8 <= data.size:
                reached = read_ascii_words(data, end, keep_urls, out, token_ends, Reached(at, tokens, begin))
                is_ahead = reached.at > at
                at, tokens, begin = reached.at, reached.tokens, reached.to
                if is_ahead:
                    continue
            to = begin
            beginning = size_of_beginning(data, at, end) if keep_urls else 0
            if beginning > 0:
                character = lowered(data, at + beginning, end, lower)
                if character.size > 0 and classes[uint64(character.code)] & SPACE == 0:
                    for p in range(beginning):
                        to = encode(letter_at(data, at + p, end), out, to)
                    at += beginning
                    while character.size > 0 and classes[uint64(character.code)] & SPACE == 0:
                        to = encode(character.code, out, to)
                        at += character.size
                        character = lowered(data, at, end, lower)
            if to == begin:
                while at < end and ascii_words[uint64(data[uint64(at)])]:  # most characters, which need no decoding
                    out[uint64(to)] = ascii_words[uint64(data[uint64(at)])]
                    at += 1
                    to += 1
            character = lowered(data, at, end, lower)
            while character.size > 0 and classes[uint64(character.code)] & WORD:
                to = encode(character.code, out, to)
                at += character.size
                character = lowered(data, at, end, lower)
            if at < end and character.size == 0:
                return stop_reading(DAMAGED, position, row, at, begin, tokens)
            if to == begin and emoji:
                size = size_of_emoji(data, at, end, classes)
                for p in range(at, at + size):
                    out[uint64(to)] = data[uint64(p)]
                    to += 1
                at += size
            if to > begin:
                tokens += 1
                token_ends[uint64(tokens)] = to
                begin = to
            else:
                at += character.size
        offsets[row + 1] = tokens
    return stop_reading(DONE, position, int64(ends.size) - 1, 0, begin, tokens)


@jit
def stop_reading(code: int, position: Any, row: int, at: int, written: int, tokens: int) -> int:
    """Note where reading stands."""
    position[ROW] = row
    position[AT] = at
    position[BYTES] = written
    position[TOKENS] = tokens
    return code


@jit
def size_of_emoji(data: Any, at: int, end: int, classes: Any) -> int:
    """How many bytes the emoji has that begins at a byte; 0 if there is none."""
    first = decode(data, at, end)
    second = decode(data, at + first.size, end)
    if _FIRST_FLAG <= first.code <= _LAST_FLAG and _FIRST_FLAG <= second.code <= _LAST_FLAG:
        return first.size + second.size
    if classes[uint64(first.code)] & PICTURE == 0:
        return 0
    size = first.size
    while True:
        code = decode(data, at + size, end)
        if _FIRST_SELECTOR <= code.code <= _LAST_SELECTOR or _FIRST_TONE <= code.code <= _LAST_TONE:
            size += code.size
            continue
        if code.code != ZERO_WIDTH_JOINER:
            return size
        joined = decode(data, at + size + code.size, end)
        if joined.size == 0 or classes[uint64(joined.code)] & PICTURE == 0:
            return size
        size += code.size + joined.size


@kernel
def read_characters(texts: Strings, characters: Characters, position: Any, written: Strings, offsets: Any) -> int:
    """Read characters likewise, each a token, with one space for each run of white space between others."""
    data, ends, out, token_ends = texts.data, texts.ends, written.data, written.ends
    classes, lower = characters.classes, characters.lower
    tokens, to = position[TOKENS], position[BYTES]
    for row in range(position[ROW], ends.size - 1):
        end = ends[row + 1]
        at = max(position[AT], ends[row])
        while at < end:
            if tokens + 2 >= token_ends.size:
                return stop_reading(FULL, position, row, at, to, tokens)
            begin = at
            character = lowered(data, at, end, lower)
            while character.size > 0 and classes[uint64(character.code)] & SPACE:
                at += character.size
                character = lowered(data, at, end, lower)
            if at == end:
                break
            if character.size == 0:
                return stop_reading(DAMAGED, position, row, at, to, tokens)
            if at > begin and tokens > offsets[row]:
                to = encode(0x20, out, to)
                tokens += 1
                token_ends[uint64(tokens)] = to
            to = encode(character.code, out, to)
            tokens += 1
            token_ends[uint64(tokens)] = to
            at += character.size
        offsets[row + 1] = tokens
    return stop_reading(DONE, position, int64(ends.size) - 1, 0, to, tokens)


@kernel
def count_letters(texts: Strings, letter: tuple[int, int], other: tuple[int, int]) -> int:
    """How often two letters of two bytes stand in texts."""
    data, ends = texts.data, texts.ends
    (a, then_a), (b, then_b) = letter, other
    count = int64(0)
    for p in range(ends[0], ends[ends.size - 1] - 1):
        byte, then = data[uint64(p)], data[uint64(p + 1)]
        count += ((byte == a) & (then == then_a)) | ((byte == b) & (then == then_b))
    return count


@kernel
def count_runs(ends: Any, offsets: Any, n: int, between: int, run_offsets: Any) -> int:
    """How many runs of n tokens the rows have, up to each; and how many bytes all have, with ``between`` bytes in between."""
    total = int64(0)
    for row in range(offsets.size - 1):
        first, last = offsets[row], offsets[row + 1]
        runs = max(last - first - n + 1, min(last - first, 1))
        run_offsets[row + 1] = run_offsets[row] + runs
        for at in range(first, first + runs):
            stop = min(at + n, last)
            total += ends[stop] - ends[at] + between * (stop - at - 1)
    return total


@kernel
def join_runs(tokens: Strings, offsets: Any, n: int, between: int, joined: Strings) -> None:
    """Put runs of n tokens together, with a space in between if ``between`` is 1."""
    data, ends, out, run_ends = tokens.data, tokens.ends, joined.data, joined.ends
    run = to = int64(0)
    for row in range(offsets.size - 1):
        first, last = offsets[row], offsets[row + 1]
        runs = max(last - first - n + 1, min(last - first, 1))
        for at in range(first, first + runs):
            for token in range(at, min(at + n, last)):
                if token > at and between:
                    out[uint64(to)] = 0x20
                    to += 1
                for p in range(ends[token], ends[token + 1]):
                    out[uint64(to)] = data[uint64(p)]
                    to += 1
            run += 1
            run_ends[uint64(run)] = to


def lower_table() -> np.ndarray:
    """Small letters of all code points up to the last that has another one; those of several code points are left alone."""
    last = 0x1E943  # no letter behind it has two cases
    table = np.arange(last + 1, dtype=np.int32)
    for code in range(last + 1):
        small = chr(code).lower()
        if len(small) == 1:
            table[code] = ord(small)
    return table


def ascii_table(classes: np.ndarray, lower: np.ndarray) -> np.ndarray:
    """The small letters of ASCII that words have; 0 for all other bytes."""
    table = np.zeros(256, np.uint8)
    table[:128] = np.where(classes[:128] & WORD, lower[:128], 0)
    return table
