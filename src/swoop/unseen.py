"""Characters that are invisible, or that are obeyed where they are displayed. They are named, so that texts that differ look
different: on the terminal, on the page, in notebooks, charts and reports.

Unicode's properties say which these are, so new versions of Python add new ones.
"""

from __future__ import annotations

import re
import unicodedata

_SPACE = re.compile(r"[\t\n\v\f\r\x85\u2028\u2029]")

_SEEN = re.compile("[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd\U00013430-\U0001345f]")
"""Of the category of formats, but signs: numbers and abbreviations of Arabic, Syriac and Kaithi, and how hieroglyphs stand."""

_NAMES = re.compile("FILLER|VARIATION SELECTOR|GRAPHEME JOINER|VOWEL INHERENT|PATTERN BLANK")
"""What the names of letters, marks and symbols say that are not seen. Fillers that are punctuation are."""

_RESERVED = re.compile("[\u2065\ufff0-\ufff8\U000e0000-\U000e0fff\ufdd0-\ufdef]")
"""What has no name yet and will show nothing when it has one, or is no character."""

_SELECTORS = "\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef"
_JOINERS = "\u200c\u200d"
_IN_PLACE = re.compile(
    rf"(?<=[^\x00-\x7f{_SELECTORS}{_JOINERS}])[{_SELECTORS}]|(?<=[^\x00-\x7f{_JOINERS}])[{_JOINERS}]|(?<=[0-9#*])\ufe0f(?=\u20e3)"
)
"""Selectors and joiners behind what they change: emoji, ideographs and words of many languages are written with them."""


def named(characters: str) -> str:
    r"""The names of characters.

    >>> named("a\t")
    '<U+0061><U+0009>'
    """
    return "".join(f"<U+{ord(character):04X}>" for character in characters)


def is_unseen(character: str) -> bool:
    """Whether a character shows nothing by itself, or is obeyed."""
    kind = unicodedata.category(character)
    if kind in ("Cc", "Cs", "Zl", "Zp"):
        return True
    if kind == "Cf":
        return not _SEEN.match(character)
    if kind == "Cn":
        return bool(_RESERVED.match(character)) or ord(character) & 0xFFFE == 0xFFFE
    return kind in ("Lo", "Mn", "So") and bool(_NAMES.search(unicodedata.name(character, "")))


class _Shown(dict[int, str]):
    """What stands for each character, by its number; found when it is first asked for."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        shown = self[code] = named(character) if is_unseen(character) else character
        return shown


_SHOWN = _Shown()


def printable(text: str) -> str:
    r"""A text on one line, in which everything is visible: characters that would be obeyed or hidden are named instead.

    >>> printable("win\ta \x1b[31mphone\u202e, pay\ufe0f \u2764\ufe0f")
    'win a <U+001B>[31mphone<U+202E>, pay<U+FE0F> ❤️'
    """
    if text.isascii() and text.isprintable():
        return text
    text = _SPACE.sub(" ", text)
    parts, end = [], 0
    for found in _IN_PLACE.finditer(text):
        parts += [text[end : found.start()].translate(_SHOWN), found[0]]
        end = found.end()
    return "".join(parts) + text[end:].translate(_SHOWN)


def printable_lines(text: str) -> str:
    r"""The same for a text that may have several lines.

    >>> printable_lines("win\ta\nphone\u202e")
    'win a\nphone<U+202E>'
    """
    return "\n".join(map(printable, text.split("\n")))


def clipped(text: str, longest: int) -> str:
    """The beginning of a text, with an ellipsis if that is not all.

    >>> clipped("swoop", 4), clipped("swoop", 5)
    ('swo…', 'swoop')
    """
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
