"""What README, docs and help say about the command line, and what it has."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from swoop.cli.app import app
from swoop.cli.history import JoinOptions
from swoop.cli.options import number_or_text, pairs_wanted

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PROGRAM: Any = typer.main.get_command(app)
COMMANDS = PROGRAM.commands


def lines_of(text: str) -> set[str]:
    """Indented commands, without what pipes into them."""
    return set(re.findall(r"^    +(?:[^\n]*\| )?swoop ([a-z]+(?: .*)?)$", text, re.MULTILINE))


LINES = sorted(
    {line for page in PAGES for line in lines_of(page.read_text(encoding="utf-8"))}
    | {line for command in COMMANDS.values() for line in lines_of(f"    {command.help}")}
)


def test_every_option_is_on_the_page_of_the_command_line() -> None:
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    named = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", page))
    options = {
        (name, *parameter.opts, *parameter.secondary_opts)
        for name, command in COMMANDS.items()
        for parameter in command.params
        if parameter.param_type_name == "option"
    }
    assert len(options) > 80
    assert {option for option in options if not named & set(option[1:])} == set()


@pytest.mark.parametrize("line", LINES)
def test_commands_that_are_told_can_be_given(line: str) -> None:
    """Nothing is run: options exist, and their values are of the right kind."""
    name, *arguments = shlex.split(line, comments=True)
    given = COMMANDS[name].make_context(name, arguments).params
    if "window" in given:
        join = (given[option] for option in ("similarity", "min_similarity", "copies"))
        JoinOptions(pairs_wanted(given["k"]), number_or_text(given["window"]), *join).check()


def test_commands_are_found() -> None:
    assert len(LINES) > 30
    assert {line.split()[0] for line in LINES} == set(COMMANDS)
