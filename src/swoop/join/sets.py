"""The tokens of a set as callers give them: checked, and sorted by kind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from swoop.engine.tokens import BYTES, INTEGER, STRING, Tokens
from swoop.errors import InvalidArgument, InvalidType
from swoop.similarity import MAX_SET_SIZE

_SMALLEST, _LARGEST = -(2**63), 2**63 - 1


def read_set(tokens: Any) -> list[Any]:
    """The tokens of a set as a list of ``int``, ``str`` and ``bytes``."""
    if isinstance(tokens, str | bytes | bytearray):
        raise InvalidType(
            f"tokens must be a collection of tokens, not the single {type(tokens).__name__} {tokens!r:.60}; "
            "split it first, for example with .split()"
        )
    if isinstance(tokens, np.ndarray):
        tokens = tokens.tolist()
    try:
        checked = list(tokens)
    except TypeError:
        raise InvalidType(
            f"tokens must be a collection of str, bytes or int, not {tokens!r:.60} of type {type(tokens).__name__}"
        ) from None
    kinds = set(map(type, checked))
    if not kinds <= {int, str, bytes}:
        checked = [_read_token(token) for token in checked]
        kinds = set(map(type, checked))
    if len(checked) > MAX_SET_SIZE:
        raise InvalidArgument(f"a set can have at most {MAX_SET_SIZE} tokens, not {len(checked)}")
    if int in kinds or len(kinds) > 1:
        for token in checked:
            if type(token) is int and not _SMALLEST <= token <= _LARGEST:
                raise InvalidArgument(f"the token {token} does not fit into 64 bits; pass it as a string")
    return checked


def _read_token(token: Any) -> Any:
    if isinstance(token, str):
        return str(token)
    if isinstance(token, bytes):
        return bytes(token)
    if isinstance(token, np.integer) or (isinstance(token, int) and not isinstance(token, bool)):
        return int(token)
    raise InvalidType(f"tokens must be str, bytes or int, not {token!r:.60} of type {type(token).__name__}")


def single_kind(tokens: list[Any]) -> tuple[int, list[Any]] | None:
    """The kind of the tokens and the tokens as the engine takes them, or None if they are of several kinds."""
    kinds = set(map(type, tokens))
    if kinds <= {int}:
        return INTEGER, tokens
    if kinds == {str}:
        try:
            return STRING, [token.encode() for token in tokens]
        except UnicodeEncodeError:
            return STRING, [token.encode("utf-8", "surrogatepass") for token in tokens]
    return (BYTES, tokens) if kinds == {bytes} else None


def flatten(sets: Sequence[Iterable[Any]]) -> tuple[np.ndarray, Tokens]:
    """Offsets and tokens of several checked sets."""
    offsets = np.zeros(len(sets) + 1, np.int64)
    np.cumsum([len(tokens) for tokens in sets], out=offsets[1:])  # type: ignore[arg-type]
    return offsets, Tokens.of(token for tokens in sets for token in tokens)
