"""How to install an extra that is missing."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from urllib.parse import unquote, urlsplit


def how_to_install(extra: str) -> str:
    """The command that installs an extra from the clone or the wheel that this Swoop was installed from.

    Swoop is on no package index yet, so its name alone would not do.
    """
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        origin = json.loads(distribution("swoop-join").read_text("direct_url.json") or "{}")
    except PackageNotFoundError:
        origin = {}
    path = unquote(urlsplit(origin.get("url", "")).path)
    if not path or not Path(path).exists():  # it was moved since, or never here
        return f"pip install '/path/to/clone[{extra}]'"
    editable = "--editable " if origin.get("dir_info", {}).get("editable") else ""
    return f"pip install {editable}{shlex.quote(f'{path}[{extra}]')}"
