"""The engine is compiled while Spark starts, by each command that needs both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from swoop.cli import demo, on_spark, stream
from swoop.cli.app import app
from swoop.cli.compiling import begin_to_compile
from swoop.cli.progress import Steps
from swoop.join import warmup


@pytest.mark.parametrize(
    ("master", "in_driver", "is_compiled", "begins"),
    [
        (None, True, True, True),  # loads what is there
        ("spark://host:7077", True, False, True),
        (None, False, False, True),
        ("local[4]", False, False, True),
        ("local[4]", False, True, False),  # would only take time from others
        ("spark://host:7077", False, False, False),
        ("sc://host", False, False, False),
    ],
)
def test_who_compiles(
    master: str | None, in_driver: bool, is_compiled: bool, begins: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, bool]] = []
    monkeypatch.setattr(warmup, "is_compiled", lambda **joins: is_compiled)
    monkeypatch.setattr(warmup, "warm", lambda **joins: asked.append(joins))
    begin_to_compile(master, in_driver, pairs=True, families=False)(Steps())
    assert asked == [{"pairs": True, "families": False}] * begins


def test_a_failure_is_left_to_whoever_needs_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**joins: bool) -> None:
        raise MemoryError

    monkeypatch.setattr(warmup, "warm", fail)
    begin_to_compile(None, in_driver=True, pairs=True)(Steps())


PAIRS, FAMILIES, ALL = "pairs", "families", "all_pairs"


@pytest.mark.parametrize(
    ("arguments", "master", "in_driver", "joins"),
    [
        (("demo", "--no-page"), None, True, {PAIRS, FAMILIES}),
        (("stream", "FOLDER", "--once"), None, True, {PAIRS}),
        (("stream", "FOLDER", "-k", "all", "--min-similarity", "0.5"), None, True, {ALL}),
        (("stream", "FOLDER", "--families", "0.5", "--cells", "3", "--master", "local[2]"), "local[2]", False, {FAMILIES}),
        (("run", "FOLDER", "--spark"), None, False, {PAIRS, FAMILIES}),  # copies are counted as families
        (("run", "FOLDER", "--spark", "--copies", "each"), None, False, {PAIRS}),
        (("run", "FOLDER", "--spark", "--families", "0.5"), None, False, {FAMILIES}),
    ],
)
def test_every_command_with_spark_compiles_meanwhile(
    arguments: tuple[str, ...],
    master: str | None,
    in_driver: bool,
    joins: set[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "posts.jsonl").write_text('{"id": 1, "time": 1, "text": "a"}\n')
    asked: list[Any] = []

    def start(*arguments: Any, **settings: Any) -> Any:
        asked.append("Spark")
        raise KeyboardInterrupt

    def begin(master: str | None, in_driver: bool, **joins: bool) -> None:
        asked.append((master, in_driver, {name for name, is_wanted in joins.items() if is_wanted}))

    for module in (demo, on_spark, stream):
        monkeypatch.setattr(module, "begin_to_compile", begin)
        monkeypatch.setattr(module, "spark_session", start)
    done = CliRunner().invoke(app, [str(tmp_path) if argument == "FOLDER" else argument for argument in arguments])
    assert done.exit_code == 130, done.output
    assert asked == [(master, in_driver, joins), "Spark"]
