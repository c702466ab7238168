"""Vega and Vega-Lite for the charts, as bundled with the package vl-convert. Nothing is downloaded."""

from __future__ import annotations

import subprocess
import sys
import threading

SNIPPET = "window.vegaEmbed = vegaEmbed;"
PROGRAM = f"import sys, vl_convert; sys.stdout.buffer.write(vl_convert.javascript_bundle({SNIPPET!r}).encode())"

_lock = threading.Lock()
_cached: list[bytes] = []


def bundle() -> bytes:
    """The script, built at the first call in a process, which takes a second or two."""
    with _lock:
        if not _cached:
            _cached.append(_make())
        return _cached[0]


def _make() -> bytes:
    # vl-convert holds Python's global lock while it works, which would stall the stream beside the page
    try:
        return subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, check=True, timeout=120).stdout  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        import vl_convert

        return vl_convert.javascript_bundle(SNIPPET).encode()
