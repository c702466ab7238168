"""The vocabulary as Python sees it: how large its table is, when numbers are recycled, and how tokens get their numbers.

A table is left for another when 3/8 of its places are taken, and takes 7/16 at most. The next one is so large that tokens of
valid sets take a sixth of it at most, or a quarter if the window is filling.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from swoop.engine import layout as st
from swoop.engine.memory import EMPTY, Arrays, power_of_two
from swoop.engine.tokens import BYTES, INTEGER, STRING, Tokens
from swoop.engine.vocabulary import SIZES_OF_TEXTS, intern_integers, intern_texts, recycle
from swoop.errors import CapacityExceeded, InternalError


class Interning(Arrays):
    """The part of an engine that gives tokens their numbers."""

    _taken: Counter[str]
    _cleared: int  # places of the coming table
    _former_entries: int  # tokens in the former table
    _oldest_then: int  # the oldest valid set when the table was new

    def _start_vocabulary(self) -> None:
        block = self.thresholds.block
        self._resize("block_hashes", 2 * block)
        self._resize("block_empty", block)
        self._resize("block_others", block)
        self._numbers = EMPTY["batch_tokens"]  # of the tokens of a batch
        self._wanted = self.thresholds.least_table
        self._asked = 0  # tokens for which there is to be room
        self._replace_table(self._new_table(self._wanted))
        self._make_numbers(1)

    def _make_token_room(self, tokens: int, text_bytes: int) -> None:
        """Recycle some numbers, and ensure room for so many new tokens. All tokens with numbers are in the index."""
        state, thresholds = self._state, self.thresholds
        self._asked = tokens
        if not self._arrays["former"].size and state["entries"] > self._arrays["table"].size * 3 // 8:
            self._prepare_table(tokens)
        if self._arrays["former"].size:
            self._recycle(max(thresholds.least_steps, thresholds.pace * tokens))
        while state["entries"] + tokens > state["most_entries"]:  # at once
            if self._arrays["former"].size:
                self._recycle(int(state["unsettled"]))
            else:
                self._replace_table(self._new_table(max(self._size_of_next_table(), self._table_for(tokens))))
        self._make_numbers(int(state["tokens"]) + max(0, tokens - int(state["free_token_count"])))
        if text_bytes > 0 or self._arrays["token_text"].size:
            self._make_text_room(tokens, text_bytes)

    def _prepare_table(self, tokens: int) -> None:
        """Clear a part of the coming table, as memory takes its time when touched first; when all is clear, it takes over."""
        if self._cleared == 0 and self._arrays["coming"].size != self._size_of_next_table():
            self._replace("coming", self._new_table(self._size_of_next_table()))
        start, size = self._cleared, self._arrays["coming"].size
        least = self.thresholds.least_cleared
        stop = start + max(least, 2 * self.thresholds.pace * tokens * size // self._arrays["table"].size)
        self._arrays["coming"][start:stop] = 0
        self._cleared = stop
        if stop >= size:
            self._replace_table(self._arrays["coming"])

    def _size_of_next_table(self) -> int:
        if self._state["base"] + self._state["oldest"] == self._oldest_then:  # nothing has expired: all tokens stay
            return power_of_two(4 * int(self._state["entries"]))
        return max(self._wanted, self._arrays["table"].size)

    def _replace_table(self, table: np.ndarray) -> None:
        """Begin with an empty table, for which all numbers are to be gone through. The former table is complete."""
        state = self._state
        self._taken["table replaced"] += 1
        self._install(
            {"former": self._arrays["table"], "table": table, "coming": EMPTY["coming"]},
            {
                "unsettled": int(state["tokens"]),
                "free_token_count": 0,
                "entries": 0,
                "most_entries": table.size * 7 // 16,
            },
            {
                "_former_entries": int(state["entries"]),
                "_cleared": 0,
                "_oldest_then": int(state["base"] + state["oldest"]),
            },
        )

    def _recycle(self, steps: int) -> None:
        """Go through so many numbers. In the end it is known how many tokens valid sets hold; the former table is kept as room
        for the coming one.
        """
        recycle(self._memory, steps)
        self._taken["numbers recycled"] += 1
        if self._state["unsettled"]:
            return
        wanted = self._table_for(max(int(self._state["entries"]), self._asked))
        self._install({"coming": self._arrays["former"], "former": EMPTY["former"]}, attributes={"_wanted": wanted})
        if wanted <= self._arrays["table"].size // 4:
            self._replace_table(self._new_table(wanted))

    @property
    def vocabulary_size(self) -> int:
        """How many tokens have a number. While numbers are gone through, at most so many."""
        return int(self._state["entries"]) + min(self._former_entries, int(self._state["unsettled"]))

    def _make_numbers(self, numbers: int) -> None:
        """Make room for so many token numbers. Those for which there is a key are given out, so keys grow last."""
        streams = int(self._state["streams"])
        size = self._arrays["token_key"].size
        if numbers <= size:
            return
        if numbers * streams > 2**31 - 1:
            raise CapacityExceeded("the window holds more than 2**31 different tokens; use a shorter window")
        self._taken["token numbers grown"] += 1
        new = max(self._grown(numbers), self.thresholds.numbers)
        self._resize("free_tokens", new)
        self._resize("membership", new // 64 + 1)
        self._resize("slots", new * streams)
        self._arrays["slots"]["newest"][size * streams :] = -1
        self._resize("token_key", new)

    def _make_text_room(self, tokens: int, text_bytes: int) -> None:
        """Make room for so many new texts with so many bytes. A text takes up to 24 bytes and twice its own.

        Whether there are texts at all is seen from ``token_text``, so it comes last.
        """
        self._resize("free_texts", SIZES_OF_TEXTS)
        needed = int(self._state["texts_end"]) + 2 * text_bytes + 24 * tokens
        if needed > self._arrays["texts"].size:
            self._taken["texts grown"] += 1
            self._resize("texts", (needed + needed // 4) // 8 * 8 + 8)
        self._resize("token_text", self._arrays["token_key"].size)

    def _intern(self, tokens: Tokens, least: int) -> int:
        """Put the numbers of the tokens into ``batch_tokens``: of as many as find room, and at least of so many."""
        text_bytes = sum(len(texts.data) + len(texts) for texts in (tokens.strings, tokens.byte_strings))
        if self._numbers.size < len(tokens):
            self._numbers = self._zeros(len(tokens) + len(tokens) // 8, st.ARRAYS["batch_tokens"])
        numbers = self._numbers[: len(tokens)]
        if tokens.kinds is None:
            self._make_token_room(min(len(tokens), max(least, self.thresholds.room) + self.thresholds.block), text_bytes)
            self._replace("batch_tokens", numbers)
            done = self._intern_part(tokens)
            self._replace("batch_tokens", numbers[:done])
            return done
        self._make_token_room(len(tokens), text_bytes)
        for part, kind in (
            (Tokens(integers=tokens.integers), INTEGER),
            (Tokens(strings=tokens.strings), STRING),
            (Tokens(byte_strings=tokens.byte_strings), BYTES),
        ):
            self._replace("batch_tokens", self._zeros(len(part), st.ARRAYS["batch_tokens"]))
            if self._intern_part(part) < len(part):
                raise InternalError(f"there was no room for the numbers of {len(part)} tokens")
            numbers[tokens.places(kind)] = self._arrays["batch_tokens"]
        self._replace("batch_tokens", numbers)
        return len(numbers)

    def _intern_part(self, tokens: Tokens) -> int:
        """Tokens of one kind."""
        if len(tokens.integers):
            self._replace("batch_keys", np.ascontiguousarray(tokens.integers))
            return intern_integers(self._memory)
        for kind, texts in ((STRING, tokens.strings), (BYTES, tokens.byte_strings)):
            if len(texts):
                self._replace("batch_texts", np.ascontiguousarray(texts.data))
                self._replace("batch_ends", np.ascontiguousarray(texts.ends))
                self._state["text_kind"] = kind
                return intern_texts(self._memory)
        return 0

    def _new_table(self, places: int) -> np.ndarray:
        return self._zeros(places, st.ARRAYS["table"])

    def _table_for(self, tokens: int) -> int:
        return max(self.thresholds.least_table, power_of_two(6 * tokens))
