"""What is told about installing extras can be done: from where Swoop was installed, since no package index has it."""

from __future__ import annotations

import importlib.metadata as metadata
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from swoop.installing import how_to_install


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    folder = tmp_path / "my clone"
    folder.mkdir()
    return folder


def installed_from(origin: dict[str, Any] | None, monkeypatch: pytest.MonkeyPatch) -> None:
    text = None if origin is None else json.dumps(origin)
    monkeypatch.setattr(metadata, "distribution", lambda name: SimpleNamespace(read_text=lambda file: text))


def test_from_the_clone_or_the_wheel(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed_from({"url": clone.as_uri(), "dir_info": {}}, monkeypatch)
    assert how_to_install("spark") == f"pip install '{clone}[spark]'"
    installed_from({"url": clone.as_uri(), "dir_info": {"editable": True}}, monkeypatch)
    assert how_to_install("spark") == f"pip install --editable '{clone}[spark]'"
    wheel = clone / "swoop.whl"
    wheel.touch()
    installed_from({"url": wheel.as_uri(), "archive_info": {}}, monkeypatch)
    assert how_to_install("dashboard,spark") == f"pip install '{wheel}[dashboard,spark]'"


def test_where_it_came_from_is_not_known(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for origin in (None, {"url": (clone / "moved").as_uri()}, {"url": "https://example.com/swoop.git", "vcs_info": {}}):
        installed_from(origin, monkeypatch)
        assert how_to_install("spark") == "pip install '/path/to/clone[spark]'"

    def missing(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", missing)
    assert how_to_install("all") == "pip install '/path/to/clone[all]'"
