"""How the help looks: readable on light and on dark, and without the types of switches, which take no value."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperGroup

from swoop.cli.console import RED, TEAL


def dress() -> None:
    """Give Typer's help and errors our colours."""
    from typer import rich_utils

    strong = f"bold {TEAL}"
    names = ("OPTION", "SWITCH", "NEGATIVE_OPTION", "NEGATIVE_SWITCH", "COMMANDS_TABLE_FIRST_COLUMN")
    styles = {
        **dict.fromkeys(names, strong),
        **dict.fromkeys(("TYPES", "METAVAR", "HELPTEXT", "USAGE"), ""),
        **dict.fromkeys(("REQUIRED_SHORT", "ERRORS_PANEL_BORDER", "ABORTED"), RED),
        "REQUIRED_LONG": "dim",
    }
    for name, style in styles.items():
        setattr(rich_utils, f"STYLE_{name}", style)
    rich_utils.RICH_HELP = rich_utils.RICH_HELP.replace("[blue]", "[bold]")


def _without_types_of_switches(command: Any, context: Any) -> None:
    for parameter in command.get_params(context):
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""


class Command(TyperCommand):
    """A command."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        _without_types_of_switches(self, ctx)
        super().format_help(ctx, formatter)


class Group(TyperGroup):
    """All commands together."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        _without_types_of_switches(self, ctx)
        super().format_help(ctx, formatter)
