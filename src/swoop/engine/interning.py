"""The vocabulary as Python sees it: how large its table is, when ids are recycled, and how tokens get their ids.

A table is left for another when 3/8 of its places are taken, and takes 7/16 at most. The next one is so large that tokens of
valid sets take a sixth of it at most, or a quarter if the window is filling.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from swoop.engine.memory import Memory, power_of_two
from swoop.engine.thresholds import Thresholds
from swoop.engine.tokens import BYTES, INTEGER, STRING, Tokens
from swoop.engine.vocabulary import HEADER, IN_KEY, MOST_ROOM, SIZES_OF_TEXTS, intern_integers, intern_texts, recycle
from swoop.errors import CapacityExceeded, InternalError


class Interning:
    """What gives tokens their ids, in the memory of an engine. ``taken`` counts the rare paths."""

    def __init__(self, memory: Memory, thresholds: Thresholds, seed: int, taken: Counter[str]) -> None:
        self._memory, self._thresholds, self._taken = memory, thresholds, taken
        self._state, self._vocabulary = memory.state, memory.state.vocabulary
        self._token_ids = memory.new("batch.token_ids", 0)  # of the tokens of a batch
        memory.resize(("vocabulary.block_hashes",), 2 * thresholds.block)
        memory.resize(("vocabulary.block_empty", "vocabulary.block_others"), thresholds.block)
        self._vocabulary.seed = seed
        self._vocabulary.wanted = thresholds.least_table
        self.replace_table(self._new_table(thresholds.least_table))
        self._make_ids(1)

    def make_room(self, tokens: int, text_bytes: int) -> None:
        """Recycle some ids, and ensure room for so many new tokens. All tokens with ids are in the index."""
        memory, vocabulary, thresholds = self._memory, self._vocabulary, self._thresholds
        vocabulary.asked = tokens
        if not vocabulary.old_table.size and vocabulary.entries > vocabulary.table.size * 3 // 8:
            self._prepare_table(tokens)
        if vocabulary.old_table.size:
            self.recycle(max(thresholds.least_steps, thresholds.pace * tokens))
        while vocabulary.entries + tokens > vocabulary.most_entries:  # at once
            if vocabulary.old_table.size:
                self.recycle(vocabulary.migration_cursor)
            else:
                self.replace_table(self._new_table(max(self._size_of_next_table(), self._table_for(tokens))))
        self._make_ids(vocabulary.id_count + max(0, tokens - vocabulary.free_id_count))
        if text_bytes > 0 or memory["vocabulary.token_text"].size:
            self._make_text_room(tokens, text_bytes)

    def _prepare_table(self, tokens: int) -> None:
        """Clear a part of the next table, as memory takes its time when touched first; when all is clear, it takes over."""
        memory, vocabulary = self._memory, self._vocabulary
        if vocabulary.cleared == 0 and vocabulary.next_table.size != self._size_of_next_table():
            memory.replace("vocabulary.next_table", self._new_table(self._size_of_next_table()))
        start, size = vocabulary.cleared, vocabulary.next_table.size
        least = self._thresholds.least_cleared
        stop = start + max(least, 2 * self._thresholds.pace * tokens * size // vocabulary.table.size)
        memory["vocabulary.next_table"][start:stop] = 0
        vocabulary.cleared = stop
        if stop >= size:
            self.replace_table(memory["vocabulary.next_table"])

    def _size_of_next_table(self) -> int:
        vocabulary = self._vocabulary
        if self._state.base + self._state.oldest == vocabulary.oldest_then:  # nothing has expired: all tokens stay
            return power_of_two(4 * vocabulary.entries)
        return max(vocabulary.wanted, vocabulary.table.size)

    def replace_table(self, table: np.ndarray) -> None:
        """Begin with an empty table, for which all ids are to be gone through. The old table is complete."""
        memory, vocabulary = self._memory, self._vocabulary
        self._taken["table replaced"] += 1
        memory.install(
            {
                "vocabulary.old_table": memory["vocabulary.table"],
                "vocabulary.table": table,
                "vocabulary.next_table": memory.new("vocabulary.next_table", 0),
            },
            {
                "vocabulary.migration_cursor": vocabulary.id_count,
                "vocabulary.free_id_count": 0,
                "vocabulary.old_entries": vocabulary.entries,
                "vocabulary.entries": 0,
                "vocabulary.most_entries": table.size * 7 // 16,
                "vocabulary.cleared": 0,
                "vocabulary.oldest_then": self._state.base + self._state.oldest,
            },
        )

    def recycle(self, steps: int) -> None:
        """Go through so many ids. In the end it is known how many tokens valid sets hold; the old table is kept as room
        for the coming one.
        """
        memory, vocabulary = self._memory, self._vocabulary
        recycle(memory.words, steps)
        self._taken["token ids recycled"] += 1
        if vocabulary.migration_cursor:
            return
        wanted = self._table_for(max(vocabulary.entries, vocabulary.asked))
        memory.install(
            {
                "vocabulary.next_table": memory["vocabulary.old_table"],
                "vocabulary.old_table": memory.new("vocabulary.old_table", 0),
            },
            {"vocabulary.wanted": wanted},
        )
        if wanted <= vocabulary.table.size // 4:
            self.replace_table(self._new_table(wanted))

    @property
    def size(self) -> int:
        """How many tokens have an id. While ids are gone through, at most so many."""
        return self._vocabulary.entries + min(self._vocabulary.old_entries, self._vocabulary.migration_cursor)

    def _make_ids(self, token_ids: int) -> None:
        """Make room for so many token ids. Those for which there is a key are given out, so keys grow last."""
        memory, side_count = self._memory, self._state.side_count
        size = memory["vocabulary.token_key"].size
        if token_ids <= size:
            return
        if token_ids * side_count > 2**31 - 1:
            raise CapacityExceeded("the window holds more than 2**31 different tokens; use a shorter window")
        self._taken["token ids grown"] += 1
        new = max(memory.grown(token_ids), self._thresholds.token_ids)
        memory.resize(("vocabulary.free_ids",), new)
        memory.resize(("probe.membership",), new // 64 + 1)
        memory.resize(("index.slots",), new * side_count)
        memory["index.slots"]["newest"][size * side_count :] = -1
        memory.resize(("vocabulary.token_key",), new)

    def _make_text_room(self, tokens: int, text_bytes: int) -> None:
        """Make room for so many new texts with so many bytes. A text takes up to 24 bytes and twice its own.

        Whether there are texts at all is seen from ``token_text``, so it comes last.
        """
        memory = self._memory
        memory.resize(("vocabulary.free_texts",), SIZES_OF_TEXTS)
        needed = self._vocabulary.texts_end + 2 * text_bytes + MOST_ROOM * tokens
        if needed > memory["vocabulary.texts"].size:
            self._taken["texts grown"] += 1
            memory.resize(("vocabulary.texts",), (needed + needed // 4) // 8 * 8 + 8)
        memory.resize(("vocabulary.token_text",), memory["vocabulary.token_key"].size)

    def intern(self, tokens: Tokens, least: int) -> int:
        """Put the ids of the tokens into the batch: of as many as find room, and at least of so many."""
        memory = self._memory
        text_bytes = sum(len(texts.data) + len(texts) for texts in (tokens.strings, tokens.byte_strings))
        if self._token_ids.size < len(tokens):
            self._token_ids = memory.new("batch.token_ids", len(tokens) + len(tokens) // 8)
        token_ids = self._token_ids[: len(tokens)]
        if tokens.kinds is None:
            self.make_room(min(len(tokens), max(least, self._thresholds.room) + self._thresholds.block), text_bytes)
            memory.replace("batch.token_ids", token_ids)
            done = self._intern_kind(tokens)
            memory.replace("batch.token_ids", token_ids[:done])
            return done
        self.make_room(len(tokens), text_bytes)
        for part, kind in (
            (Tokens(integers=tokens.integers), INTEGER),
            (Tokens(strings=tokens.strings), STRING),
            (Tokens(byte_strings=tokens.byte_strings), BYTES),
        ):
            memory.replace("batch.token_ids", memory.new("batch.token_ids", len(part)))
            if self._intern_kind(part) < len(part):
                raise InternalError(f"there was no room for the ids of {len(part)} tokens")
            token_ids[tokens.places(kind)] = memory["batch.token_ids"]
        memory.replace("batch.token_ids", token_ids)
        return len(token_ids)

    def _intern_kind(self, tokens: Tokens) -> int:
        """Tokens of one kind."""
        memory = self._memory
        if len(tokens.integers):
            memory.replace("batch.keys", np.ascontiguousarray(tokens.integers))
            return intern_integers(memory.words)
        for kind, texts in ((STRING, tokens.strings), (BYTES, tokens.byte_strings)):
            if len(texts):
                memory.replace("batch.texts", np.ascontiguousarray(texts.data))
                memory.replace("batch.ends", np.ascontiguousarray(texts.ends))
                self._state.batch.text_kind = kind
                return intern_texts(memory.words)
        return 0

    def drop_room(self) -> None:
        """Let the room for the ids of a batch go."""
        self._token_ids = self._memory.new("batch.token_ids", 0)

    def tokens(self, token_ids: np.ndarray) -> Tokens:
        """The tokens with the given ids."""
        keys, starts, texts = (self._memory[f"vocabulary.{name}"] for name in ("token_key", "token_text", "texts"))
        if starts.size == 0:
            return Tokens(integers=keys[token_ids])
        known: dict[int, Any] = {}
        for token_id in np.unique(token_ids).tolist():
            start = int(starts[token_id])
            key = int(keys[token_id])
            if start == 0:
                known[token_id] = key
                continue
            if start == IN_KEY:
                kind, size = divmod(key >> 56, 8)
                text = key.to_bytes(8, "little")[:size]
            else:
                body, kind = start - 1 + HEADER, int(texts[start + 3])
                text = texts[body : body + int.from_bytes(texts[start - 1 : start + 3].tobytes(), "little")].tobytes()
            known[token_id] = text if kind == BYTES else text.decode("utf-8", "surrogatepass")
        return Tokens.of([known[token_id] for token_id in token_ids.tolist()])

    def _new_table(self, places: int) -> np.ndarray:
        return self._memory.new("vocabulary.table", places)

    def _table_for(self, tokens: int) -> int:
        return max(self._thresholds.least_table, power_of_two(6 * tokens))
