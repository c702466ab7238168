"""What differs between two texts, and excerpts of long ones that show it: for all parts of Swoop that show texts.

Texts are compared by their words, whatever tokens their similarity is based on.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from os.path import commonprefix
from typing import Any, NamedTuple

CONTEXT = 40  # characters around a difference that are shown of a long text
BEGINNING = 80  # of a long text, by which people recognise it
WORD = 60  # characters of a long word

_NAMED = re.compile(r"<U\+[0-9A-F]{4,6}>")  # a hidden character in a printable text
_NAME = 10  # characters of such a name


class Part(NamedTuple):
    """A part of a text, and whether it consists of words that the other text does not have."""

    text: str
    differs: bool


@cache
def _word() -> re.Pattern[str]:
    """An address of the web, the name of a hidden character, or a run of letters, marks, digits and ``_``."""
    marks = "".join(chr(code) for code in range(0x300, 0x20000) if unicodedata.category(chr(code))[0] == "M")
    return re.compile(rf"(?:https?://|www\.)\S+|{_NAMED.pattern}|[\w{marks}]+", re.IGNORECASE)


def words_of(text: str) -> frozenset[str]:
    """The different words of a text, in lower case."""
    return frozenset(word.lower() for word in _word().findall(text))


def marked(text: str, others: frozenset[str], longest: int) -> list[Part]:
    """A text in parts: words that the other one does not have, and what is between them.

    A text of more than ``longest`` characters is cut to about as many: its beginning and the surroundings of differences. Its
    long words are shortened.

    >>> marked("Big fire in Perth", frozenset(["big", "fire"]), 99)
    [Part(text='Big fire ', differs=False), Part(text='in Perth', differs=True)]
    >>> "".join(part.text for part in marked("so " * 99 + "odd" + " so" * 99, frozenset(["so"]), 40))
    'so so so so so so so … so so so odd so so …'
    """
    text, runs = _runs(text, others, WORD if len(text) > longest else None)
    found: list[Part] = []
    done = 0
    for begin, end in [(0, len(text))] if len(text) <= longest else _visible(text, runs, longest):
        if begin > done:
            found.append(Part(" … ", False))
        at = begin
        for first, last in runs:
            first, last = max(first, begin), min(last, end)
            if first < last:
                found += [Part(text[at:first], False), Part(text[first:last], True)]
                at = last
        found.append(Part(text[at:end], False))
        done = end
    found.append(Part(" …" if done < len(text) else "", False))
    return [part for part in found if part.text]


def left_out(text: str, others: frozenset[str], parts: Sequence[Part]) -> int:
    """How many differences of a text are not in the parts that are shown of it.

    >>> text, others = "so " * 99 + "odd" + " so" * 99 + " even", frozenset(["so"])
    >>> left_out(text, others, marked(text, others, 40)), left_out(text, others, marked(text, others, 999))
    (1, 0)
    """
    return max(0, len(_runs(text, others)[1]) - sum(part.differs for part in parts))


def marked_together(texts: Sequence[str], longest: int) -> list[list[Part]]:
    """Texts of one family in parts: each is marked against the first, and the first against what all others share.

    >>> [[part.text for part in parts if part.differs] for parts in marked_together(["win a car", "win a bus", "win it"], 99)]
    [['a car'], ['bus'], ['it']]
    """
    words = [words_of(text) for text in texts]
    shared = frozenset.intersection(*words[1:]) if len(words) > 1 else frozenset().union(*words)
    return [marked(text, words[0] if place else shared, longest) for place, text in enumerate(texts)]


def how_same(newer: str, older: str) -> str | None:
    """Whether one of two texts is enough for people: they are equal, or differ in no word; None if they do.

    >>> how_same("Win a phone!", "win a PHONE"), how_same("Win a phone", "Win a car")
    ('same words', None)
    """
    if newer == older:
        return "same text"
    return "same words" if words_of(newer) == words_of(older) else None


def shortened(word: str, longest: int, others: Sequence[str] = ()) -> str:
    """A long word without its middle; where one of the others would look the same, with the place where they begin to differ.

    ``others``, which are sorted, may contain the word itself.

    >>> shortened("https://example.com/posts/2024/05/01/1207", 20)
    'https://ex…5/01/1207'
    >>> shortened("a" * 50 + "b" + "a" * 50, 20, ["a" * 101])
    'aaaaaa…aaabaa…aaaaaa'
    """
    return word if len(word) <= longest else _pieces(word, word, longest, others)


def _pieces(word: str, known_as: str, longest: int, others: Sequence[str]) -> str:
    """The pieces of a long word that are shown. Among others, it is ``known_as`` what may be in lower case."""
    end = (longest - 1) // 2
    begin = longest - 1 - end
    place = bisect_left(others, known_as)
    near = [other for other in others[max(0, place - 1) : place + 2] if other != known_as and len(other) > longest]
    alike = [commonprefix((known_as, other)) for other in near if other[-end:] == known_as[-end:]]  # noqa: RUF071, of letters
    differs = max(map(len, alike), default=0)
    if differs < begin:
        return f"{word[:begin]}…{word[-end:]}"
    third = (longest - 2) // 3
    first = max(third, differs - third // 2)
    last = first + third
    before = "…" if first > third else ""
    after = f"…{word[-third:]}" if last < len(word) - third else word[last:]
    return f"{word[:third]}{before}{word[first:last]}{after}"


def _runs(text: str, others: frozenset[str], longest: int | None = None) -> tuple[str, list[tuple[int, int]]]:
    """A text whose words have at most so many characters, and where words are that are not among the others; neighbours are
    one run.
    """
    known = [] if longest is None else sorted(other for other in others if len(other) > longest)
    shown: list[str] = []
    runs: list[tuple[int, int]] = []
    done = at = 0
    follows = False
    for found in _word().finditer(text):
        word, low = found[0], found[0].lower()
        piece = word if longest is None or len(word) <= longest else _pieces(word, low, longest, known)
        shown += [text[done : found.start()], piece]
        begin = at + found.start() - done
        done, at = found.end(), begin + len(piece)
        own = low not in others
        if own and follows:
            runs[-1] = (runs[-1][0], at)
        elif own:
            runs.append((begin, at))
        follows = own
    return "".join(shown) + text[done:], runs


def _visible(text: str, runs: list[tuple[int, int]], longest: int) -> list[tuple[int, int]]:
    """The spans of a long text that are shown."""
    start = min(BEGINNING, longest // 2)
    spans, left = [(0, start)], longest - start
    for first, last in runs:
        begin, end = max(first - min(CONTEXT, left // 2), 0), min(last + CONTEXT, len(text))
        before = spans[-1]
        if (
            begin <= before[1] + CONTEXT // 2 and last <= before[1] + left
        ):  # leaving out so little would be longer than showing it
            spans[-1] = (before[0], max(before[1], min(end, before[1] + left)))
            left -= spans[-1][1] - before[1]
        else:
            begin = max(begin, before[1])
            spans.append((begin, min(end, begin + left)))
            left -= spans[-1][1] - begin
        if left <= CONTEXT // 2:
            break
    else:
        spans[-1] = (spans[-1][0], min(spans[-1][1] + left, len(text)))
    return [_whole_words(text, begin, end) for begin, end in spans]


def _whole_words(text: str, begin: int, end: int) -> tuple[int, int]:
    """A span that begins and ends between words, if there is such a place near by."""
    if begin:
        space = text.find(" ", begin, begin + CONTEXT // 2)
        begin = space + 1 if space >= 0 else begin
    if end < len(text):
        space = text.rfind(" ", max(end - CONTEXT // 2, begin + 1), end + 1)
        end = space if space >= 0 else end
    return _whole_name(text, begin), _whole_name(text, end)


def _whole_name(text: str, at: int) -> int:
    """A place that is not within the name of a hidden character."""
    begin = text.rfind("<", max(0, at - _NAME), at)
    found = _NAMED.match(text, begin) if begin >= 0 else None
    return begin if found and found.end() > at else at


@dataclass(frozen=True)
class Content:
    """A text that records have, how many have it, and the first of them in the order that was given."""

    id: Any
    time: Any
    text: str | None
    count: int = 1


def contents(examples: Iterable[tuple[Any, Any, str | None]]) -> list[Content]:
    """The different texts of records, which are given as id, time and text; the most frequent first.

    >>> [(content.text, content.count) for content in contents([(1, 10, "ab"), (2, 11, "ac"), (3, 12, "ac")])]
    [('ac', 2), ('ab', 1)]
    """
    found: dict[str | None, Content] = {}
    for name, time, text in examples:
        known = found.get(text)
        found[text] = Content(name, time, text) if known is None else replace(known, count=known.count + 1)
    return sorted(found.values(), key=lambda content: -content.count)
