"""The command line: ``swoop run``, ``stream``, ``explain``, ``bench``, ``demo`` and ``doctor``.

What is here: the commands and their options (``app``, ``options``), one module per command, and what they share: reading
inputs (``sources``, ``kafka_options``, ``standard_input``), Spark (``session``), the terminal (``console``, ``render``,
``views``, ``unequal``).

What you may touch: how commands read and look. They only pass options on; results are decided in the layers below. Keep heavy
imports inside functions, so that ``swoop --help`` answers at once.
"""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """The entry point of the program ``swoop``."""
    from swoop.cli.app import app
    from swoop.cli.console import tolerate
    from swoop.cli.help import apply_theme

    apply_theme()
    for stream in (sys.stdout, sys.stderr):
        tolerate(stream)
    app(prog_name="swoop")
