"""What differs between texts is marked and visible, however long they are, and nothing else is changed."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from swoop.marking import contents, marked, shortened, words_of
from swoop.unseen import printable

texts = st.text(st.sampled_from("ab c,é\u0939\u093f"), max_size=300)


@given(texts, texts)
def test_a_short_text_is_shown_as_it_is(text: str, other: str) -> None:
    parts = marked(text, words_of(other), 300)
    assert "".join(part.text for part in parts) == text
    own = {word for part in parts if part.differs for word in words_of(part.text)}
    assert own == words_of(text) - words_of(other)


@example(7, 0, 60)
@given(st.integers(0, 400), st.integers(0, 400), st.sampled_from([60, 280, 500]))
def test_a_difference_is_visible(before: int, after: int, longest: int) -> None:
    text = "the same " * before + "odd" + " the same" * after
    parts = marked(text, frozenset(["the", "same"]), longest)
    shown = "".join(part.text for part in parts)
    assert [part.text for part in parts if part.differs] == ["odd"]
    assert len(shown) <= longest + 10
    assert shown.startswith(text[:5])
    for piece in shown.split("…"):
        assert piece.strip() in text


def test_many_differences_and_words_without_end() -> None:
    assert len("".join(part.text for part in marked("one two " * 1000, frozenset(["one"]), 280))) < 300
    assert len("".join(part.text for part in marked("x" * 9000, frozenset(), 280))) < 300
    assert marked("", frozenset(), 280) == []
    assert words_of("See HTTPS://A.b/C?d, \u0939\u093f\u0928\u094d\u0926\u0940") == {
        "see",
        "https://a.b/c?d,",
        "\u0939\u093f\u0928\u094d\u0926\u0940",
    }


@given(st.text(st.sampled_from("ab \u200b\u202e"), max_size=300), texts, st.sampled_from([40, 60, 280]))
def test_names_of_hidden_characters_stay_whole(text: str, other: str, longest: int) -> None:
    for part in marked(printable(text), words_of(printable(other)), longest):
        assert "U+20" not in re.sub(r"<U\+20(0B|2E)>", "", part.text)
        assert part.text.count("<") == part.text.count(">")


def test_a_hidden_character_is_marked_as_a_word() -> None:
    hidden, plain = printable("zero\u200bwidth"), "zerowidth"
    assert [*marked(hidden, words_of(plain), 280)] == [(hidden, True)]
    assert [part.text for part in marked(hidden, words_of("zero width"), 280) if part.differs] == ["<U+200B>"]
    assert [part.text for part in marked(hidden, words_of(printable("\u200bzero")), 280) if part.differs] == ["width"]


words = st.text("ab", max_size=40)


@given(words, words, words, words, st.integers(8, 30))
def test_long_words_that_differ_look_different(begin: str, one: str, other: str, end: str, longest: int) -> None:
    pair = begin + one + end, begin + other + end
    shown = [shortened(word, longest, sorted(pair)) for word in pair]
    assert (shown[0] == shown[1]) == (pair[0] == pair[1])
    assert all(len(short) <= longest for short in shown)
    for word, short in zip(pair, shown, strict=True):
        assert short == word or all(piece in word for piece in short.split("…"))


@given(words, words, st.integers(61, 400), st.integers(61, 400))
def test_long_words_within_texts_do_as_well(one: str, other: str, before: int, after: int) -> None:
    texts = [f"see {'x' * before}{middle}{'x' * after} " + "now " * 60 for middle in (one, other)]
    shown = [marked(text, words_of(against), 280) for text, against in zip(texts, reversed(texts), strict=True)]
    if one + "x" * after == other + "x" * after:
        assert shown[0] == shown[1]
    else:
        differing = [[part.text for part in parts if part.differs] for parts in shown]
        assert [len(each) for each in differing] == [1, 1]
        assert differing[0] != differing[1]


def test_contents_are_counted() -> None:
    found = contents([(1, 10, None), (2, 11, "b"), (3, 12, "a"), (4, 13, "a")])
    assert [(content.id, content.text, content.count) for content in found] == [(3, "a", 2), (1, None, 1), (2, "b", 1)]
