"""The vocabulary: tokens become dense ids, and ids of tokens that no valid set holds are given out again.

An open-addressing table of 8-byte entries: a tag, which is the upper 33 bits of the token's hash, and its id plus one (0:
empty). The tag of an integer from 0 to 2^32 - 1 belongs to no other token, so it decides. All other tokens are wide, which the
lowest bit of their tag tells, and the next bit tells whether they are texts. An integer is its own 64-bit key, so the key
decides. So it does for a text of up to seven bytes, which is its own key as well, with its size and kind in the eighth byte.
A longer text has a hash for key, which is negative; its bytes are kept, and decide.

When a table is rather full, another takes its place, larger if need be. Then all ids are gone through, some at a time, so
that no arrival has to wait for all of them: tokens that valid sets hold are entered into the new table, the ids of the
others are free. Those that are still to come are found in the old table. This goes on between two batches only, when every
token with an id has been put into the index: the index then knows the newest set of each token.
"""

from __future__ import annotations

from typing import Any

from swoop.engine.compile import LOW, int64, jit, kernel, noinline, prefetch, select, uint64
from swoop.engine.layout import Vocabulary, state_of
from swoop.engine.structures import as_words
from swoop.engine.words import fold, load_word, low_bytes, store_word

HEADER = 5  # bytes before a text: four of its length, one of its kind
SIZES_OF_TEXTS = 64  # of the room for a text: 8, 16, ... 256 bytes, then powers of two
MOST_ROOM = 24  # bytes of it beside twice those of the text
_TOKENS_AHEAD, _NEAR = 48, 20  # tokens between a prefetch and its use: of a table's entry, and of a key

_WIDE = 1 << 31
_TEXT = 1 << 32  # of what is wide
_LONG = -(1 << 63)
_SHORT = 7  # bytes of a text that fit into a key
IN_KEY = -1  # instead of the place of a text that does
_FACTOR, _OTHER_FACTOR = -0x5F89E29B87429BD1, 0x1D8E4E27C47D124F  # as many ones as zeros, in no order
ID = _WIDE - 1  # the bits of an entry that are an id plus one; the others are the tag


@jit
def mix(value: int, seed: int) -> int:
    """A one-to-one scrambling of 64 bits (the finaliser of splitmix64)."""
    x = uint64(value) ^ uint64(seed)
    x = (x ^ (x >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> uint64(27))) * uint64(0x94D049BB133111EB)
    return int64(x ^ (x >> uint64(31)))


@jit
def hash_integer(token: int, seed: int) -> int:
    """Of 32 bits: they are the upper half, so that no other token has the same tag; below them is a scrambling of them."""
    if uint64(token) > uint64(LOW):
        return (mix(token, seed) | _WIDE) & ~_TEXT
    x = uint64(token) * uint64(seed)
    x = (x ^ (x >> uint64(32))) * uint64(0x9E3779B97F4A7C15)
    return int64((uint64(token) << uint64(32)) | (x >> uint64(33)))


@jit
def key_of_text(texts: Any, start: int, end: int, kind: int, seed: int) -> int:
    """A short text itself, or the hash of a longer one."""
    size = end - start
    if size > 2 * 8 or start + 8 > texts.size or texts.size < 8:
        return key_of_any_text(texts, start, end, kind, seed)
    first = load_word(texts, start)
    last = load_word(texts, max(end - 8, 0))
    kind_and_size = kind << 3 | size
    short = low_bytes(first, size & _SHORT) | kind_and_size << 56
    return select(size <= _SHORT, short, hash_of_ends(first, last, kind_and_size, seed))


@jit
def hash_of_ends(first: int, last: int, kind_and_size: int, seed: int) -> int:
    """Of a text of eight bytes or more: of its first eight, or a hash of all that is before the last, and its last eight."""
    return fold(fold(first ^ seed, _FACTOR) ^ last, _OTHER_FACTOR ^ kind_and_size) | _LONG


@noinline
def key_of_any_text(texts: Any, start: int, end: int, kind: int, seed: int) -> int:
    """The same for any text, wherever it stands."""
    size = end - start
    kind_and_size = kind << 3 | size
    if size <= _SHORT:
        short = kind_and_size << 56
        for p in range(size):
            short |= int64(texts[start + p]) << (8 * p)
        return short
    hashed = load_word(texts, start)
    for p in range(start + 8, end - 8, 8):
        hashed = fold(hashed ^ seed, _FACTOR) ^ load_word(texts, p)
    return hash_of_ends(hashed, load_word(texts, end - 8), kind_and_size, seed)


@jit
def hash_text(key: int, seed: int) -> int:
    return mix(key, seed) | _WIDE | _TEXT


@jit
def has_room(vocabulary: Vocabulary, tokens: int) -> bool:
    """Whether so many more tokens can be entered into the table and given ids."""
    free = vocabulary.free_id_count + vocabulary.token_key.size - vocabulary.id_count
    return bool(vocabulary.entries + tokens <= vocabulary.most_entries and tokens <= free)


@jit
def new_id(vocabulary: Vocabulary) -> int:
    if vocabulary.free_id_count > 0:
        vocabulary.free_id_count -= 1
        return int64(vocabulary.free_ids[vocabulary.free_id_count])
    vocabulary.id_count += 1
    return vocabulary.id_count - 1


@jit
def is_text(vocabulary: Vocabulary, token_id: int) -> bool:
    """Whether an id is that of a text."""
    return vocabulary.token_text.size > 0 and vocabulary.token_text[token_id] != 0


@jit
def free_id(vocabulary: Vocabulary, token_id: int) -> None:
    vocabulary.free_ids[vocabulary.free_id_count] = token_id
    vocabulary.free_id_count += 1
    if is_text(vocabulary, token_id):
        if vocabulary.token_text[token_id] != IN_KEY:
            free_text(vocabulary, vocabulary.token_text[token_id] - 1)
        vocabulary.token_text[token_id] = 0


@jit
def next_like(table: Any, hashed: int, limit: int, at: int) -> int:
    """The first place from ``at`` on with this tag and an id below a limit, or that is empty."""
    mask = table.size - 1
    tag = hashed & ~ID
    at &= mask
    while table[at] != 0 and uint64((table[at] ^ tag) - 1) >= uint64(limit):
        at = (at + 1) & mask
    return at


@jit
def id_at(table: Any, at: int) -> int:
    return (table[at] & ID) - 1


@jit
def place_of_integer(table: Any, vocabulary: Vocabulary, hashed: int, token: int, limit: int) -> int:
    """The place of a token in the table, if its id is below a limit; else the empty place behind it."""
    at = next_like(table, hashed, limit, hashed)
    if hashed & _WIDE == 0:
        return at
    while table[at] != 0:
        token_id = id_at(table, at)
        if vocabulary.token_key[token_id] == token:
            return at
        at = next_like(table, hashed, limit, at + 1)
    return at


@jit
def is_same_text(vocabulary: Vocabulary, token_id: int, key: int, given: Any, start: int, end: int, kind: int) -> bool:
    """Whether an id, which is that of a text, is that of this text."""
    if vocabulary.token_key[token_id] != key:
        return False
    return key >= 0 or same_text(vocabulary, token_id, given, start, end, kind)


@jit
def place_of_text(
    table: Any, vocabulary: Vocabulary, hashed: int, key: int, given: Any, start: int, end: int, kind: int, limit: int
) -> int:
    """The same of a text."""
    at = next_like(table, hashed, limit, hashed)
    while table[at] != 0 and not is_same_text(vocabulary, id_at(table, at), key, given, start, end, kind):
        at = next_like(table, hashed, limit, at + 1)
    return at


@noinline
def id_of_text(vocabulary: Vocabulary, hashed: int, key: int, given: Any, start: int, end: int, kind: int) -> int:
    """The id of a text, a new one if it has none. There must be room for that."""
    table, old_table = vocabulary.table, vocabulary.old_table
    place = place_of_text(table, vocabulary, hashed, key, given, start, end, kind, ID)
    found = id_at(table, place)
    if found < 0 and old_table.size > 0:
        place_then = place_of_text(old_table, vocabulary, hashed, key, given, start, end, kind, vocabulary.migration_cursor)
        found = id_at(old_table, place_then)
    return found if found >= 0 else enter_text(vocabulary, place, hashed, key, given, start, end, kind)


@jit
def enter_text(vocabulary: Vocabulary, place: int, hashed: int, key: int, given: Any, start: int, end: int, kind: int) -> int:
    """Give a new text an id."""
    token_id = new_id(vocabulary)
    vocabulary.token_key[token_id] = key
    vocabulary.token_text[token_id] = IN_KEY if key >= 0 else store_text(vocabulary, given, start, end, kind) + 1
    enter(vocabulary, place, hashed, token_id)
    return token_id


@jit
def id_of_integer(vocabulary: Vocabulary, hashed: int, token: int) -> int:
    """The id of an integer, a new one if it has none. There must be room for that."""
    table, old_table = vocabulary.table, vocabulary.old_table
    place = place_of_integer(table, vocabulary, hashed, token, ID)
    found = id_at(table, place)
    if found < 0 and old_table.size > 0:
        found = id_at(old_table, place_of_integer(old_table, vocabulary, hashed, token, vocabulary.migration_cursor))
    return found if found >= 0 else enter_integer(vocabulary, place, hashed, token)


@jit
def enter_integer(vocabulary: Vocabulary, place: int, hashed: int, token: int) -> int:
    """Give a new integer an id."""
    token_id = new_id(vocabulary)
    vocabulary.token_key[token_id] = token
    enter(vocabulary, place, hashed, token_id)
    return token_id


@kernel
def intern_integers(memory: Any) -> int:
    """Turn ``batch.keys`` into token ids in ``batch.token_ids``, as far as there is room for new ones. Returns how many."""
    state = state_of(memory)
    vocabulary = state.vocabulary
    keys, token_ids = state.batch.keys, state.batch.token_ids
    if keys.size > 0 and hash_integer(keys[0], vocabulary.seed) & _WIDE:  # then most are
        return intern_one_by_one(vocabulary, keys, token_ids)
    return intern_in_blocks(vocabulary, keys, token_ids)


@jit
def intern_one_by_one(vocabulary: Vocabulary, keys: Any, token_ids: Any) -> int:
    table = vocabulary.table
    mask = table.size - 1
    seed = vocabulary.seed
    last = keys.size - 1
    for p in range(keys.size):
        prefetch(table, hash_integer(keys[min(p + _TOKENS_AHEAD, last)], seed) & mask)
        near = hash_integer(keys[min(p + _NEAR, last)], seed)
        prefetch(vocabulary.token_key, id_at(table, near & mask))
        if not has_room(vocabulary, 1):
            return p
        token = keys[p]
        token_ids[p] = id_of_integer(vocabulary, hash_integer(token, seed), token)
    return int64(keys.size)


@jit
def kept_hash(hashes: Any, p: int) -> int:
    return int64(hashes[p & (hashes.size - 1)])


@jit
def hash_ahead(vocabulary: Vocabulary, keys: Any, p: int) -> None:
    """Keep the hash of the token at position p, and ask for its first place."""
    table, hashes = vocabulary.table, vocabulary.block_hashes
    hashed = hash_integer(keys[p], vocabulary.seed)
    hashes[p & (hashes.size - 1)] = hashed
    prefetch(table, hashed & (table.size - 1))


@jit
def intern_in_blocks(vocabulary: Vocabulary, keys: Any, token_ids: Any) -> int:
    """Some tokens at a time: first all are looked for in the first place, which takes no branch that cannot be predicted. Then
    those whose first place was empty are entered there, and those that found another token there are looked for elsewhere.
    """
    table = vocabulary.table
    mask = table.size - 1
    hashes, empty, others = vocabulary.block_hashes, vocabulary.block_empty, vocabulary.block_others
    block, last = empty.size, keys.size - 1
    for p in range(min(_TOKENS_AHEAD, keys.size)):
        hash_ahead(vocabulary, keys, p)
    for start in range(0, keys.size, block):
        end = min(start + block, keys.size)
        if not has_room(vocabulary, end - start):
            return start
        empty_count = other_count = 0
        for p in range(start, end):
            hash_ahead(vocabulary, keys, min(p + _TOKENS_AHEAD, last))
            hashed = kept_hash(hashes, p)
            entry = table[hashed & mask]
            token_id = (entry ^ (hashed & ~ID)) - 1
            token_ids[p] = token_id
            empty[empty_count] = p
            others[other_count] = p
            is_empty = 1 if entry == 0 else 0
            is_found = uint64(token_id | (hashed & _WIDE)) < uint64(ID)
            empty_count += is_empty
            other_count += (0 if is_found else 1) - is_empty
        for e in range(empty_count):
            p = int64(empty[e])
            hashed, token = kept_hash(hashes, p), keys[p]
            place = hashed & mask
            if table[place] == 0 and vocabulary.old_table.size == 0:
                token_ids[p] = enter_integer(vocabulary, place, hashed, token)
            else:
                token_ids[p] = id_of_integer(vocabulary, hashed, token)
        for o in range(other_count):
            p = int64(others[o])
            token_ids[p] = id_of_integer(vocabulary, kept_hash(hashes, p), keys[p])
    return int64(keys.size)


@kernel
def intern_texts(memory: Any) -> int:
    """Turn the texts of ``batch.texts`` (they end at ``batch.ends``) into token ids likewise, some at a time.

    First their keys and places are found, and memory is asked for. Most are then found in their first place. The bytes of long
    ones are compared in the end.
    """
    state = state_of(memory)
    vocabulary = state.vocabulary
    given, ends, token_ids = state.batch.texts, state.batch.ends, state.batch.token_ids
    table, old_table = vocabulary.table, vocabulary.old_table
    hashes, long_texts = vocabulary.block_hashes, vocabulary.block_others  # keys are behind the hashes
    block = long_texts.size
    mask, old_mask = table.size - 1, max(old_table.size - 1, 0)
    kind, seed = state.batch.text_kind, vocabulary.seed
    count = ends.size - 1
    for first in range(0, count, block):
        size = min(block, count - first)
        if not has_room(vocabulary, size) or not has_text_room(vocabulary, size, ends[first + size] - ends[first]):
            return first
        for p in range(size):
            key = key_of_text(given, ends[first + p], ends[first + p + 1], kind, seed)
            hashed = hash_text(key, seed)
            hashes[p], hashes[block + p] = hashed, key
            prefetch(table, hashed & mask)
            prefetch(old_table, hashed & old_mask)
        for p in range(size):
            found = id_at(table, hashes[p] & mask)
            prefetch(vocabulary.token_key, found)
            prefetch(vocabulary.token_text, found)
        long_count = 0
        for p in range(size):
            hashed, key = hashes[p], hashes[block + p]
            found = (table[hashed & mask] ^ (hashed & ~ID)) - 1
            if uint64(found) >= uint64(ID) or vocabulary.token_key[found] != key:
                found = id_of_text(vocabulary, hashed, key, given, ends[first + p], ends[first + p + 1], kind)
            token_ids[first + p] = found
            long_texts[long_count] = p
            long_count += select(key < 0, 1, 0)
            prefetch(vocabulary.texts, vocabulary.token_text[found])
        for n in range(long_count):
            p = int64(long_texts[n])
            start, end = ends[first + p], ends[first + p + 1]
            if not same_text(vocabulary, int64(token_ids[first + p]), given, start, end, kind):
                token_ids[first + p] = id_of_text(vocabulary, hashes[p], hashes[block + p], given, start, end, kind)
    return int64(count)


@jit
def has_text_room(vocabulary: Vocabulary, texts: int, size: int) -> bool:
    """Whether so many more texts of so many bytes can be stored."""
    return bool(vocabulary.texts_end + 2 * size + MOST_ROOM * texts <= vocabulary.texts.size)


@jit
def enter(vocabulary: Vocabulary, place: int, hashed: int, token_id: int) -> None:
    vocabulary.table[place] = (hashed & ~ID) | (token_id + 1)
    vocabulary.entries += 1


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
    room_class = size_of_room(size)
    return 8 * (room_class + 1) if room_class < 32 else 8 << (room_class - 26)


@jit
def store_text(vocabulary: Vocabulary, given: Any, start: int, end: int, kind: int) -> int:
    """Store a text where one of about the same size was, or behind all others. Returns where."""
    size = end - start
    free = size_of_room(size)
    at = vocabulary.free_texts[free] - 1
    if at >= 0:
        vocabulary.free_texts[free] = as_words(vocabulary.texts)[at >> 3]
    else:
        at = vocabulary.texts_end
        vocabulary.texts_end += room_of(size)
    store_word(vocabulary.texts, at, size | kind << 32)
    for p in range(size):
        vocabulary.texts[at + HEADER + p] = given[start + p]
    return at


@jit
def free_text(vocabulary: Vocabulary, at: int) -> None:
    """Put the room of a text before that which was freed last; ``free_texts`` has places plus one (0: none)."""
    room_class = size_of_room(text_size(vocabulary.texts, at))
    as_words(vocabulary.texts)[at >> 3] = vocabulary.free_texts[room_class]
    vocabulary.free_texts[room_class] = at + 1


@jit
def text_size(texts: Any, at: int) -> int:
    return load_word(texts, at) & LOW


@jit
def same_text(vocabulary: Vocabulary, token_id: int, given: Any, start: int, end: int, kind: int) -> bool:
    """Whether an id, which is that of a long text, is that of this one."""
    texts, at, size = vocabulary.texts, vocabulary.token_text[token_id] - 1, end - start
    if low_bytes(load_word(texts, at), HEADER) != size | kind << 32:
        return False
    body, last = at + HEADER - start, end - 8
    for p in range(start, last, 8):
        if load_word(texts, body + p) != load_word(given, p):
            return False
    return load_word(texts, body + last) == load_word(given, last)


@jit
def is_held(state: Any, slots: Any, token_id: int) -> bool:
    """Whether some valid set holds the token."""
    for side in range(state.side_count):
        if slots[token_id * state.side_count + side].newest >= state.oldest:
            return True
    return False


@jit
def hash_of(vocabulary: Vocabulary, token_id: int) -> int:
    """The hash of a token in the table."""
    key, seed = vocabulary.token_key[token_id], vocabulary.seed
    return hash_text(key, seed) if is_text(vocabulary, token_id) else hash_integer(key, seed)


@kernel
def recycle(memory: Any, steps: int) -> None:
    """Go through so many of the ids that are not migrated yet, from the highest on.

    Tokens that valid sets hold are entered into the table, the ids of the others are free.
    """
    state = state_of(memory)
    vocabulary = state.vocabulary
    slots = state.index.slots
    table = vocabulary.table
    mask = table.size - 1
    last = max(vocabulary.migration_cursor - steps, 0)
    for token_id in range(vocabulary.migration_cursor - 1, last - 1, -1):
        if token_id >= _TOKENS_AHEAD:
            prefetch(table, hash_of(vocabulary, token_id - _TOKENS_AHEAD) & mask)
        if not is_held(state, slots, token_id):
            free_id(vocabulary, token_id)
            continue
        hashed = hash_of(vocabulary, token_id)
        place = hashed & mask
        while table[place] != 0:
            place = (place + 1) & mask
        enter(vocabulary, place, hashed, token_id)
    vocabulary.migration_cursor = last
