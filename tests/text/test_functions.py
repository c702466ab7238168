"""Token functions, and the definition of words.

Tests of swoop.text.characters, swoop.text.reference.
"""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest

import swoop
from swoop.errors import InvalidArgument, InvalidType
from swoop.text.characters import PICTURE, SPACE, WORD, classes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Cat, the DOG!", ["the", "cat", "dog"]),
        ("Ümlaut naïve_1 日本", ["ümlaut", "naïve_1", "日本"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("ภาษาไทย ที่นี่", ["ภาษาไทย", "ที่นี่"]),
        ("cafe\u0301 au lait", ["cafe\u0301", "au", "lait"]),
        ("ΟΔΟΣ ΣΑΣ", ["οδος", "σας"]),
        ("Բարի լույս, ԵՐԵՎԱՆ։", ["բարի", "լույս", "երեվան"]),
        ("שָׁלוֹם עוֹלָם", ["שָׁלוֹם", "עוֹלָם"]),
        ("ক্ষমা, ২০২৪", ["ক্ষমা", "২০২৪"]),
        ("வணக்கம் உலகமே!", ["வணக்கம்", "உலகமே"]),
        ("ሰላም ለዓለም፣ ነህ፧", ["ሰላም", "ለዓለም", "ነህ"]),
        ("早上好！𠮷野家，〇二三。", ["早上好", "𠮷野家", "〇二三"]),
        ("İstanbul", ["i̇stanbul"]),
        ("see https://x.org/a?b=1 now", ["see", "https://x.org/a?b=1", "now"]),
        ("HTTP://X.org\u00a0WWW.Y.de", ["http://x.org", "www.y.de"]),
        ("http:// www. xhttp://a", ["http", "www", "xhttp", "a"]),
        ("", []),
        ("... !?", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert swoop.words("text")(text) == expected


def test_options() -> None:
    assert swoop.words("a", keep_urls=False)("https://x.org") == ["https", "x", "org"]
    assert swoop.words("a", stop_words=["The", "a"])("The cat and a dog") == ["cat", "and", "dog"]
    assert swoop.words("a", emoji=True)("ok 👩‍💻❤️ 🇩🇪🇫🇷👍🏽😀😀!") == ["ok", "👩‍💻", "❤️", "🇩🇪", "🇫🇷", "👍🏽", "😀"]
    assert swoop.words("a", nfc=True)("cafe\u0301 café") == ["café"]
    assert swoop.words("a", nfc=True, stop_words=["Cafe\u0301"])("cafe\u0301 café x") == ["x"]
    assert swoop.words("a", "b")(None, "On Joins") == ["on", "joins"]
    assert swoop.words("a", "b")(None, None) is None


def test_ngrams() -> None:
    assert swoop.word_ngrams("a")("to be or to be") == ["to be", "be or", "or to"]
    assert swoop.word_ngrams("a", n=3)("Hello you") == ["hello you"]
    assert swoop.word_ngrams("a", stop_words=["or"])("to be or not") == ["to be", "be not"]
    assert swoop.char_ngrams("a")("Anna  an") == ["ann", "nna", "na ", "a a", " an"]
    assert swoop.char_ngrams("a", n=1)(" aba\t") == ["a", "b"]
    assert swoop.char_ngrams("a")("ab") == ["ab"]
    assert swoop.char_ngrams("a")("") == swoop.word_ngrams("a")("") == []


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: swoop.words(), InvalidArgument),
        (lambda: swoop.words(1), InvalidType),  # type: ignore[arg-type]
        (lambda: swoop.char_ngrams("a", n=0), InvalidArgument),
        (lambda: swoop.word_ngrams("a", n=True), InvalidArgument),
        (lambda: swoop.char_ngrams("a", n=10**30), InvalidArgument),
        (lambda: swoop.words("a", stop_words="the"), InvalidType),
        (lambda: swoop.words("a", stop_words=b"the"), InvalidType),
        (lambda: swoop.words("a", stop_words=None), InvalidType),  # type: ignore[arg-type]
        (lambda: swoop.words("a", stop_words=["a", 1]), InvalidType),  # type: ignore[list-item]
    ],
)
def test_what_makes_no_sense_is_refused(make: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        make()


def test_functions_are_values() -> None:
    assert swoop.words("a", stop_words=["b", "c"]) == swoop.words("a", stop_words=["C", "B"])
    assert len({swoop.words("a"), swoop.words("a"), swoop.word_ngrams("a")}) == 2


def test_classes_are_those_of_unicode() -> None:
    for code, found in enumerate(classes()):
        character = chr(code)
        is_word = unicodedata.category(character)[0] in "LMN" or character == "_"
        expected = (WORD if is_word else 0) | (SPACE if character.isspace() else 0)
        assert found & ~PICTURE == expected
        assert not found & PICTURE or character.lower() == character
