"""From texts to tokens in plain Python: the definition, to which all faster ways are compared.

Texts are put into lower case as a whole, so that a capital sigma at the end of a word becomes the right small one. Then they
are read from the left, without going back:

- an address of the web begins with ``http://``, ``https://`` or ``www.``, goes on to the next white space, and is one word;
- a word is a run of letters, marks, digits and ``_``, of any script;
- an emoji is two flag letters, or a picture with what changes its look and what is joined to it.

Everything else stands between words.
"""

from __future__ import annotations

from collections.abc import Iterator

from swoop.text.characters import (
    FLAG_LETTERS,
    PICTURE,
    SKIN_TONES,
    SPACE,
    VARIATION_SELECTORS,
    WORD,
    ZERO_WIDTH_JOINER,
    classes,
)

ADDRESSES = ("http://", "https://", "www.")


def read_words(text: str, keep_urls: bool, emoji: bool) -> Iterator[str]:
    """The words of a text, in order, as often as they appear.

    >>> list(read_words("See WWW.X.org/a, naïve_1 日本", True, False))
    ['see', 'www.x.org/a,', 'naïve_1', '日本']
    """
    text = text.lower()
    at = 0
    while at < len(text):
        end = at
        if keep_urls:
            end = _end_of_address(text, at)
        if end == at:
            end = _end_of_word(text, at)
        if end == at and emoji:
            end = _end_of_emoji(text, at)
        if end > at:
            yield text[at:end]
        at = max(end, at + 1)


def _is(text: str, at: int, what: int) -> bool:
    return at < len(text) and bool(classes()[ord(text[at])] & what)


def _end_of_address(text: str, at: int) -> int:
    for begin in ADDRESSES:
        if text.startswith(begin, at):
            end = at + len(begin)
            while end < len(text) and not _is(text, end, SPACE):
                end += 1
            return end if end > at + len(begin) else at
    return at


def _end_of_word(text: str, at: int) -> int:
    while _is(text, at, WORD):
        at += 1
    return at


def _end_of_emoji(text: str, at: int) -> int:
    if ord(text[at]) in FLAG_LETTERS and at + 1 < len(text) and ord(text[at + 1]) in FLAG_LETTERS:
        return at + 2
    if not _is(text, at, PICTURE):
        return at
    at += 1
    while at < len(text):
        if ord(text[at]) in VARIATION_SELECTORS or ord(text[at]) in SKIN_TONES:
            at += 1
        elif ord(text[at]) == ZERO_WIDTH_JOINER and _is(text, at + 1, PICTURE):
            at += 2
        else:
            break
    return at


def read_characters(text: str) -> list[str]:
    r"""The characters of a text in lower case, with runs of white space as one space, and none at the ends.

    >>> "".join(read_characters("  Anna \t an "))
    'anna an'
    """
    return list(" ".join(text.lower().split()))


def join_runs(parts: list[str], n: int, between: str) -> list[str]:
    """Runs of n parts put together; all of fewer parts is one run.

    >>> join_runs(["to", "be", "or"], 2, " "), join_runs(["to"], 2, " "), join_runs([], 2, " ")
    (['to be', 'be or'], ['to'], [])
    """
    if len(parts) < n:
        return [between.join(parts)] if parts else []
    return [between.join(parts[at : at + n]) for at in range(len(parts) - n + 1)]
