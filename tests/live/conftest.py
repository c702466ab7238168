"""The time that folders of results go by."""

from __future__ import annotations

import pytest

from swoop.live import folders
from tests.support.result_folders import Clock


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(folders, "time", found)
    return found
