"""Token functions: how columns of text become sets of tokens, as values that say so wherever tokens are asked for."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from swoop.errors import InvalidArgument, InvalidType
from swoop.text.reference import join_runs, read_characters, read_words

if TYPE_CHECKING:
    from pyspark.sql import Column


MOST_PARTS = 1000
"""The longest runs of words or characters."""


@dataclass(frozen=True)
class TokenFunction:
    """How texts become tokens. Made by :func:`words`, :func:`word_ngrams` and :func:`char_ngrams`.

    Called with the texts of one row, it gives their tokens.
    """

    unit: Literal["words", "characters"]
    columns: tuple[str, ...]
    n: int = 1
    stop_words: frozenset[str] = frozenset()
    keep_urls: bool = True
    emoji: bool = False
    nfc: bool = False

    def __post_init__(self) -> None:
        if not self.columns:
            raise InvalidArgument("name at least one column of text")
        for column in self.columns:
            if not isinstance(column, str):
                raise InvalidType(f"columns of text are given by their names, not {column!r:.60}")
        if isinstance(self.n, bool) or not isinstance(self.n, int) or not 1 <= self.n <= MOST_PARTS:
            raise InvalidArgument(f"n must be an integer from 1 to {MOST_PARTS}, not {self.n!r}")

    def __call__(self, *texts: str | None) -> list[str] | None:
        """The different tokens of a row, in the order of their first appearance; None if all texts are.

        >>> words("title", "body")("On Joins", "Joins, on streams")
        ['on', 'joins', 'streams']
        """
        there = [text for text in texts if text is not None]
        if not there:
            return None
        text = " ".join(there)
        if self.nfc:
            text = unicodedata.normalize("NFC", text)
        if self.unit == "characters":
            return list(dict.fromkeys(join_runs(read_characters(text), self.n, "")))
        found = [word for word in read_words(text, self.keep_urls, self.emoji) if word not in self.stop_words]
        return list(dict.fromkeys(join_runs(found, self.n, " ")))

    def __str__(self) -> str:
        options = (
            f"n={self.n}, stop_words={sorted(self.stop_words)}, keep_urls={self.keep_urls}, emoji={self.emoji}, nfc={self.nfc}"
        )
        return f"{self.unit}({', '.join(map(repr, self.columns))}, {options})"

    def column(self) -> Column:
        """The tokens as a column of Spark, by Spark's own expressions. Slower than giving the function itself.

        Letters and their cases are those that Spark's Java knows; see docs/text.md. ``nfc`` is not possible there.
        """
        from importlib import import_module

        made: Column = import_module("swoop.spark.preparation").token_column(self)  # above this layer, for those who have Spark
        return made


def words(
    *columns: str, stop_words: Iterable[str] = (), keep_urls: bool = True, emoji: bool = False, nfc: bool = False
) -> TokenFunction:
    """The words of one or more columns of text, in lower case.

    Parameters
    ----------
    columns
        Names of the columns. Where all of them are null, there is no set.
    stop_words
        Words that do not count.
    keep_urls
        An address of the web is one word. With False it is split like everything else.
    emoji
        Each emoji is a word. With False emoji stand between words, like punctuation.
    nfc
        Put texts into the normal form NFC first, so that letters with accents are equal however they were typed.

    Examples
    --------
    >>> words("text", stop_words=["the"])("The Cat, the DOG! https://x.org/a?b=1")
    ['cat', 'dog', 'https://x.org/a?b=1']
    """
    return TokenFunction("words", columns, 1, _stop_words(stop_words, nfc), keep_urls, emoji, nfc)


def word_ngrams(
    *columns: str,
    n: int = 2,
    stop_words: Iterable[str] = (),
    keep_urls: bool = True,
    emoji: bool = False,
    nfc: bool = False,
) -> TokenFunction:
    """Runs of n words, joined by spaces; a text of fewer words is one token.

    >>> word_ngrams("text")("to be or to be")
    ['to be', 'be or', 'or to']
    """
    return TokenFunction("words", columns, n, _stop_words(stop_words, nfc), keep_urls, emoji, nfc)


def char_ngrams(*columns: str, n: int = 3, nfc: bool = False) -> TokenFunction:
    """Runs of n characters, in lower case, with runs of white space as one space; a shorter text is one token.

    >>> char_ngrams("text")("Anna  an")
    ['ann', 'nna', 'na ', 'a a', ' an']
    """
    return TokenFunction("characters", columns, n, nfc=nfc)


def _stop_words(given: Any, nfc: bool) -> frozenset[str]:
    """Stop words as they stand in texts: in lower case, and normalised if texts are."""
    is_collection = isinstance(given, Iterable) and not isinstance(given, str | bytes)
    words = list(given) if is_collection else [given]
    if not is_collection or not all(isinstance(word, str) for word in words):
        raise InvalidType(f"stop_words must be a collection of strings, not {given!r:.60}; leave it out for none")
    return frozenset((unicodedata.normalize("NFC", word) if nfc else word).lower() for word in words)
