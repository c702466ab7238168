"""Vega and Vega-Lite for the charts, from the package vl-convert, which carries them. Nothing is fetched."""

from __future__ import annotations

import subprocess
import sys
import threading

SNIPPET = "window.vegaEmbed = vegaEmbed;"
PROGRAM = f"import sys, vl_convert; sys.stdout.buffer.write(vl_convert.javascript_bundle({SNIPPET!r}).encode())"

_lock = threading.Lock()
_made: list[bytes] = []


def bundle() -> bytes:
    """The script, made at the first call of the process, which takes a second or two."""
    with _lock:
        if not _made:
            _made.append(_make())
        return _made[0]


def _make() -> bytes:
    # vl-convert keeps Python's global lock while it works, and the stream beside the page should not stand still
    try:
        return subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, check=True, timeout=120).stdout  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        import vl_convert

        return vl_convert.javascript_bundle(SNIPPET).encode()
