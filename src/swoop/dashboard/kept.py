"""A kept page: one HTML file that shows a moment without a server.

Styles, scripts and the state are in the file, and its policy lets only these very styles and scripts through, by their hashes.
The state is JSON without a ``<``, so nothing in it can end the element that it is in.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping
from typing import Any

POLICY = (
    "default-src 'none'; script-src {scripts}; style-src {styles}; base-uri 'none'; form-action 'none'; "
    "require-trusted-types-for 'script'; trusted-types default"
)
IMPORT = re.compile(r'^import (?:\* as (?P<all>\w+)|(?P<some>\{[^}]*\})) from "\./(?P<name>\w+)\.js";$', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const) (?P<name>\w+))", re.MULTILINE)
STYLE = re.compile(r'^<link rel="stylesheet" href="/static/(?P<name>\w+\.css)">\n', re.MULTILINE)
SCRIPT = re.compile(r'^<script (?:type="module" )?src="/static/\w+\.js"></script>\n', re.MULTILINE)
ICON = re.compile(r'^<link rel="icon"[^>]*>\n', re.MULTILINE)
TITLE = re.compile(r"<title>[^<]*</title>")


def kept_page(moment: Mapping[str, Any], static: Mapping[str, bytes], charts: bytes | None) -> bytes:
    """The page as one file.

    Parameters
    ----------
    moment
        What is shown, as JSON: the ``state`` of the page, and the explanations of its ``pairs`` and ``families``.
    static
        The files of the page, by name.
    charts
        The script that draws charts; None: there are none.
    """
    index = static["index.html"].decode()
    styles = "\n".join(static[found["name"]].decode() for found in STYLE.finditer(index))
    theme, page = _inert(static["theme.js"].decode()), _inert(in_one(static, "page"))
    drawing = [] if charts is None else [_inert(charts.decode())]
    policy = POLICY.format(scripts=" ".join(_hash(script) for script in (theme, *drawing, page)), styles=_hash(styles))
    title = html.escape(str(moment["state"]["title"]))
    head = (
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f"<title>{title}</title>\n<style>{styles}</style>\n<script>{theme}</script>\n"
    )
    # surrogates, which some ids have, are no UTF-8; in JSON they are escaped
    state = json.dumps(moment, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    tail = [f'<script type="application/json" id="kept">{state}</script>']
    tail += [f'<script type="module">{script}</script>' for script in (*drawing, page)]
    for pattern in (STYLE, SCRIPT, ICON):
        index = pattern.sub("", index)
    before, after = TITLE.split(index)
    body, end = after.rsplit("</body>", 1)
    text = before + head + body.lstrip("\n") + "\n".join(tail) + "\n</body>" + end
    return text.encode("utf-8", "replace")


def in_one(static: Mapping[str, bytes], name: str) -> str:
    """A module of the page and all that it imports as one script: each is a function that gives what it exports."""
    done: dict[str, str] = {}

    def add(name: str) -> None:
        if name in done:
            return
        text = static[f"{name}.js"].decode()
        for found in IMPORT.finditer(text):
            add(found["name"])
        exported = [found["name"] for found in EXPORT.finditer(text)]
        text = IMPORT.sub(lambda found: f"const {found['all'] or _renamed(found['some'])} = of_{found['name']};", text)
        text = EXPORT.sub("", text)
        done[name] = f"const of_{name} = (() => {{\n{text}return {{ {', '.join(exported)} }};\n}})();\n"

    add(name)
    return "".join(done.values())


def _renamed(names: str) -> str:
    """What is imported, as it is taken out of an object: ``{ a as b }`` is ``{ a: b }`` there."""
    return names.replace(" as ", ": ")


def _inert(script: str) -> str:
    """A script that cannot end the element it is in, nor begin a comment there; both can only be in its strings."""
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--").replace("\r\n", "\n")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
