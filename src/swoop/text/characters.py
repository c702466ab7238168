"""Characters: what is part of a word, what is white space, what is an emoji, by the Unicode data of Python."""

from __future__ import annotations

import unicodedata
from functools import cache

WORD, SPACE, PICTURE = 1, 2, 4
"""Classes of characters: letters, marks, digits and ``_``; white space; pictures, which begin an emoji."""

ZERO_WIDTH_JOINER = 0x200D
FLAG_LETTERS = range(0x1F1E6, 0x1F200)
SKIN_TONES = range(0x1F3FB, 0x1F400)
VARIATION_SELECTORS = range(0xFE0E, 0xFE10)

_ASSIGNED = (range(0x40000), range(0xE0000, 0xE1000))
"""Where Unicode has characters; there are none elsewhere, but for private ones, which are in no class."""

_PICTURES = (
    "a9 ae 203c 2049 2122 2139 2194-2199 21a9-21aa 231a-231b 2328 2388 23cf 23e9-23f3 23f8-23fa 25aa-25ab 25b6 25c0 "
    "25fb-25fe 2600-2605 2607-2612 2614-2685 2690-2705 2708-2712 2714 2716 271d 2721 2728 2733-2734 2744 2747 274c 274e "
    "2753-2755 2757 2763-2767 2795-2797 27a1 27b0 27bf 2934-2935 2b05-2b07 2b1b-2b1c 2b50 2b55 3030 303d 3297 3299 "
    "1f000-1f0ff 1f10d-1f10f 1f12f 1f16c-1f171 1f17e-1f17f 1f18e 1f191-1f19a 1f1ad-1f1e5 1f201-1f20f 1f21a 1f22f 1f232-1f23a "
    "1f23c-1f23f 1f249-1f3fa 1f400-1f53d 1f546-1f64f 1f680-1f6ff 1f774-1f77f 1f7d5-1f7ff 1f80c-1f80f 1f848-1f84f 1f85a-1f85f "
    "1f888-1f88f 1f8ae-1f8ff 1f90c-1f93a 1f93c-1f945 1f947-1faff 1fc00-1fffd"
)
"""Unicode's property Extended_Pictographic, which Python does not know."""


def picture_ranges() -> list[range]:
    """The code points of the pictures, without the circled M, which has a small letter."""
    ends = (part.split("-") for part in _PICTURES.split())
    return [range(int(end[0], 16), int(end[-1], 16) + 1) for end in ends]


@cache
def classes() -> bytes:
    """The class of each code point."""
    table = bytearray(0x110000)
    for codes in _ASSIGNED:
        for code in codes:
            character = chr(code)
            if unicodedata.category(character)[0] in "LMN":
                table[code] = WORD
            elif character.isspace():
                table[code] = SPACE
    table[ord("_")] = WORD
    for codes in picture_ranges():
        for code in codes:
            table[code] |= PICTURE
    return bytes(table)
