"""Token functions in strings: what is written is what is meant, and nothing is ever run."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swoop.errors import InvalidArgument
from swoop.text.functions import char_ngrams, word_ngrams, words
from swoop.text.parsing import parse_tokens


def test_what_is_written_is_meant() -> None:
    assert parse_tokens("words(text)") == words("text")
    assert parse_tokens(" word_ngrams( title, body, n => 3, emoji => TRUE ) ") == word_ngrams("title", "body", n=3, emoji=True)
    assert parse_tokens("char_ngrams(text, n=4, nfc=true)") == char_ngrams("text", n=4, nfc=True)
    stops = words("the text", "a`b", stop_words=["=> (", "it's"], keep_urls=False)
    assert parse_tokens("""words(`the text`, 'a`b', stop_words => ['=> (', "it's"], keep_urls => false)""") == stops


@given(st.text(min_size=1).filter(lambda name: "\0" not in name), st.integers(1, 1000))
def test_any_name_in_backticks(name: str, n: int) -> None:
    quoted = name.replace("`", "``")
    assert parse_tokens(f"char_ngrams(`{quoted}`, n => {n})") == char_ngrams(name, n=n)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("word(text)", "there is no token function 'word': it must be one of words, word_ngrams, char_ngrams"),
        ("words()", "name at least one column"),
        ("words(text, m => 3)", "unexpected keyword argument 'm'"),
        ("word_ngrams(text, n => 0)", "n must be an integer from 1"),
        ("words(text, stop_words => 3)", "stop_words must be a collection"),
        ("words(text", "tokens must be a column of arrays or a token function"),
        ("words(lower(text))", "tokens must be"),
        ("words(text, emoji => yes)", "tokens must be"),
        ("words(*text)", "tokens must be"),
        ("__import__('os').system('true')", "tokens must be"),
        ("(" * 5000, "tokens must be"),
        ("words(\0)", "tokens must be"),
        ("a; b()", "tokens must be"),
    ],
)
def test_everything_else_is_refused(text: str, said: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        parse_tokens(text)
    assert said in str(refused.value)
    assert "tokens" in str(refused.value)


@given(st.text())
def test_nothing_else_happens(text: str) -> None:
    with suppress(InvalidArgument):
        parse_tokens(text)
