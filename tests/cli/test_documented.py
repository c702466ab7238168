"""What README, docs and help say about the command line, and what it has."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import typer

from swoop.cli.app import app
from swoop.cli.options import join_spec
from tests.support.setup import JQ, lacking

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
    context = COMMANDS[name].make_context(name, arguments)
    if "window" in context.params:
        wanted = ("k", "window", "similarity", "min_similarity", "copies", "families")
        join_spec(context, *(context.params[option] for option in wanted))


@pytest.mark.parametrize(
    ("alert", "said"),
    [
        (
            {"kind": "enter", "similarity": 0.75, "newer_text": 'win "a" car', "older_text": "win a bike"},
            '0.75: win "a" car ~ win a bike',
        ),
        ({"kind": "born", "size": 20, "text": "win a phone"}, "20 records: win a phone"),
        ({"kind": "left out", "left_out": 3}, "3 more alerts"),
    ],
)
def test_the_script_that_tells_a_chat(alert: dict[str, Any], said: str, tmp_path: Path) -> None:
    if shutil.which("jq") is None:
        lacking(JQ)
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    (script,) = re.findall(r"```sh\n(#!/bin/sh\n.*?)```", page, re.DOTALL)
    (tmp_path / "curl").write_text("#!/bin/sh\ncat\n")  # what it would send
    (tmp_path / "curl").chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-c", script], input=json.dumps(alert), env={"PATH": path}, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == {"text": said}


def test_commands_are_found() -> None:
    assert len(LINES) > 30
    assert {line.split()[0] for line in LINES} == set(COMMANDS)
