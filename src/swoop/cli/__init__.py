"""The command line: ``swoop run``, ``stream``, ``explain``, ``bench``, ``demo`` and ``doctor``.

Nothing heavy is imported until a command needs it, so that ``swoop --help`` answers at once.
"""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """What the program ``swoop`` calls."""
    from swoop.cli.app import app
    from swoop.cli.help import dress

    dress()
    app(prog_name="swoop")
