"""How the help looks: readable on light and dark backgrounds, and without types for switches, which take no value."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperGroup

from swoop.look import RED, TEAL


def apply_theme() -> None:
    """Use our colours in Typer's help and errors."""
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


def _hide_switch_types(command: Any, context: Any) -> None:
    for parameter in command.get_params(context):
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""


class Command(TyperCommand):
    """A command without types for its switches."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        _hide_switch_types(self, ctx)
        super().format_help(ctx, formatter)


class Group(TyperGroup):
    """The group of all commands."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        _hide_switch_types(self, ctx)
        super().format_help(ctx, formatter)
