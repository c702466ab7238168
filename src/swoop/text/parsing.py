"""Token functions as people write them in a string, for those who cannot call one: ``words(title, body, emoji => true)``."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

from swoop.errors import InvalidArgument, InvalidType
from swoop.text.functions import TokenFunction, char_ngrams, word_ngrams, words

FUNCTIONS: dict[str, Callable[..., TokenFunction]] = {"words": words, "word_ngrams": word_ngrams, "char_ngrams": char_ngrams}

_QUOTED_OR_ARROW = re.compile(r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|`((?:[^`]|``)*)`|=>""")
_WORDS = {"true": True, "false": False, "null": None, "none": None}


def parse_tokens(text: str) -> TokenFunction:
    """The token function that a text calls. Columns are names, in backticks if they are no plain names; options are literals.

    >>> str(parse_tokens("word_ngrams(title, `the body`, n => 3)")) == str(word_ngrams("title", "the body", n=3))
    True
    >>> parse_tokens("word(text)")
    Traceback (most recent call last):
    ...
    swoop.errors.InvalidArgument: tokens: there is no token function 'word': it must be one of words, word_ngrams, char_ngrams
    """
    try:
        call = ast.parse(_QUOTED_OR_ARROW.sub(_in_python, text).strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise _refuse(text) from None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise _refuse(text)
    if call.func.id not in FUNCTIONS:
        raise InvalidArgument(f"tokens: there is no token function {call.func.id!r}: it must be one of {', '.join(FUNCTIONS)}")
    columns = [_literal(argument, text, names=True) for argument in call.args]
    options = {option.arg or "**": _literal(option.value, text) for option in call.keywords}
    try:
        return FUNCTIONS[call.func.id](*columns, **options)
    except (InvalidArgument, InvalidType) as error:
        raise InvalidArgument(f"tokens: {error}; got {text!r:.200}") from None
    except TypeError as error:
        raise InvalidArgument(f"tokens: {str(error).partition('()')[2].strip()}; got {text!r:.200}") from None


def _in_python(found: re.Match[str]) -> str:
    """An arrow, or a name in backticks, as Python has it; strings stay what they are."""
    if found[0] == "=>":
        return "="
    return found[1] or repr(found[2].replace("``", "`"))


def _literal(found: ast.expr, text: str, names: bool = False) -> Any:
    if isinstance(found, ast.Name):
        if names:
            return found.id
        if found.id.lower() in _WORDS:
            return _WORDS[found.id.lower()]
    try:
        return ast.literal_eval(found)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        raise _refuse(text) from None


def _refuse(text: str) -> InvalidArgument:
    return InvalidArgument(
        f"tokens must be a column of arrays or a token function such as 'words(text)' or 'char_ngrams(title, body, n => 3)', "
        f"not {text!r:.200}"
    )
