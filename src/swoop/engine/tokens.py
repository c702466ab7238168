"""Tokens as columns: integers, strings and byte strings, each kind in flat arrays, with their common order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

INTEGER, STRING, BYTES = range(3)
Token = int | str | bytes


def _no_integers() -> np.ndarray:
    return np.empty(0, np.int64)


@dataclass(frozen=True)
class Texts:
    """Byte strings in one array; the n-th is ``data[ends[n]:ends[n + 1]]``."""

    data: np.ndarray = field(default_factory=lambda: np.empty(0, np.uint8))
    ends: np.ndarray = field(default_factory=lambda: np.zeros(1, np.int64))

    def __len__(self) -> int:
        return len(self.ends) - 1

    @classmethod
    def of(cls, texts: Sequence[bytes]) -> Texts:
        ends = np.zeros(len(texts) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)), out=ends[1:])
        return cls(np.frombuffer(b"".join(texts), np.uint8), ends)

    def slice(self, start: int, stop: int) -> Texts:
        first, last = self.ends[start], self.ends[stop]
        return Texts(self.data[first:last], self.ends[start : stop + 1] - first)

    def to_list(self) -> list[bytes]:
        data, ends = self.data.tobytes(), self.ends.tolist()
        return [data[a:b] for a, b in pairwise(ends)]


_NO_TEXTS = Texts()


@dataclass(frozen=True)
class Tokens:
    """A column of tokens. ``kinds`` tells the kind of each, and is None where all are of one kind."""

    integers: np.ndarray = field(default_factory=_no_integers)
    strings: Texts = _NO_TEXTS
    byte_strings: Texts = _NO_TEXTS
    kinds: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.integers) + len(self.strings) + len(self.byte_strings)

    @classmethod
    def of(cls, tokens: Iterable[Token]) -> Tokens:
        """Sort out Python objects, which are of the right types."""
        integers: list[int] = []
        strings: list[bytes] = []
        byte_strings: list[bytes] = []
        kinds = bytearray()
        for token in tokens:
            if isinstance(token, str):
                strings.append(token.encode("utf-8", "surrogatepass"))
                kinds.append(STRING)
            elif isinstance(token, bytes):
                byte_strings.append(token)
                kinds.append(BYTES)
            else:
                integers.append(token)
                kinds.append(INTEGER)
        mixed = bool(integers) + bool(strings) + bool(byte_strings) > 1
        return cls(
            np.array(integers, np.int64) if integers else _no_integers(),
            Texts.of(strings),
            Texts.of(byte_strings),
            np.frombuffer(bytes(kinds), np.int8) if mixed else None,
        )

    def part(self, kind: int) -> Any:
        return (self.integers, self.strings, self.byte_strings)[kind]

    def places(self, kind: int) -> Any:
        """Where the tokens of a kind stand in the column."""
        return slice(None) if self.kinds is None else np.flatnonzero(self.kinds == kind)

    def slice(self, start: int, stop: int) -> Tokens:
        if self.kinds is None:
            return Tokens(
                self.integers[start:stop],
                self.strings.slice(start, stop) if len(self.strings) else _NO_TEXTS,
                self.byte_strings.slice(start, stop) if len(self.byte_strings) else _NO_TEXTS,
            )
        before = [int((self.kinds[:start] == kind).sum()) for kind in range(3)]
        within = [int((self.kinds[start:stop] == kind).sum()) for kind in range(3)]
        (a, b), (c, d), (e, f) = [(a, a + n) for a, n in zip(before, within, strict=True)]
        return Tokens(self.integers[a:b], self.strings.slice(c, d), self.byte_strings.slice(e, f), self.kinds[start:stop])

    def to_list(self) -> list[Token]:
        """The tokens as Python objects."""
        column = np.empty(len(self), object)
        column[self.places(INTEGER) if len(self.integers) else slice(0)] = self.integers.tolist()
        for kind, texts in ((STRING, self.strings), (BYTES, self.byte_strings)):
            if len(texts):
                values = texts.to_list()
                column[self.places(kind)] = (
                    [text.decode("utf-8", "surrogatepass") for text in values] if kind == STRING else values
                )
        return column.tolist()
