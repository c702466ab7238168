"""Calls that are refused: with an error that says why, and as if they had never been made."""

from __future__ import annotations

from typing import Any

import pytest

import swoop


def refuses(join: swoop.TopKJoin, error: type[Exception], message: str, call: Any) -> None:
    before = list(join.topk()), join.stats, repr(join._clock.__dict__)
    with pytest.raises(error, match=message):
        call()
    assert (list(join.topk()), join.stats, repr(join._clock.__dict__)) == before
    join._check()
