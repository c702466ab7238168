"""Files appear whole or not at all, once, on any disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from swoop.live import files
from swoop.live.files import Folder


def test_a_write_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    """A full disk would otherwise be filled by what is left of each attempt."""
    where = Folder(tmp_path / "folder")
    where.write("before", b"1")
    for change in (where.write, where.create):
        with pytest.raises(TypeError):
            change("name", None)  # type: ignore[arg-type]
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["before"]


def test_disks_without_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is created once, and whole."""

    def link(source: str, target: str) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(files.os, "link", link)
    where = Folder(tmp_path / "folder")
    assert [where.create("name", b"1"), where.create("name", b"2")] == [True, False]
    assert where.read("name").to_pybytes() == b"1"
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["name"]


def test_exclusive_files_without_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*paths: str) -> None:
        raise PermissionError("this file system has no links")

    monkeypatch.setattr("os.link", no_links)
    assert Folder(tmp_path).create("a", b"1")
    assert not Folder(tmp_path).create("a", b"2")
    assert (tmp_path / "a").read_bytes() == b"1"
    assert [file.name for file in tmp_path.iterdir()] == ["a"]
