"""Makes the page of the example from its notebook, with the outputs that are saved in it; the switch of colours works."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page and its pictures to the files of the site."""
    notebook = json.loads((Path(config.docs_dir) / "example.ipynb").read_text(encoding="utf-8"))
    pictures: list[bytes] = []
    page = "\n\n".join(_cell(cell, pictures) for cell in notebook["cells"])
    page += "\n\n[This page as a notebook](example.ipynb)\n"
    files.append(File.generated(config, "example.md", content=page))
    for number, picture in enumerate(pictures):
        files.append(File.generated(config, f"images/example-{number}.png", content=picture))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Links that are right where the sources are read, and lead to the page of the site that has the same here."""
    if page.file.src_uri == "example.md":
        return markdown
    return markdown.replace("example.ipynb)", "example.md)").replace("(../README.md)", "(index.md)")


def on_post_page(output: str, **_: Any) -> str:
    """What the theme's switch of colours also switches: without these styles of a highlighter, it ends with an error."""
    return output.replace("</head>", '<style id="hljs-light"></style><style id="hljs-dark"></style></head>', 1)


def _cell(cell: dict[str, Any], pictures: list[bytes]) -> str:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return source
    return "\n\n".join([f"```python\n{source}\n```", *(_output(output, pictures) for output in cell["outputs"])])


def _output(output: dict[str, Any], pictures: list[bytes]) -> str:
    data = output.get("data", {})
    if "image/png" in data:
        pictures.append(base64.b64decode("".join(data["image/png"])))
        width = output.get("metadata", {}).get("image/png", {}).get("width", 600)
        return f'<img src="images/example-{len(pictures) - 1}.png" alt="chart" width="{width}">'
    if "text/html" in data:
        return f'<div class="output">{"".join(data["text/html"])}</div>'
    text = "".join(output.get("text", []) or data.get("text/plain", []))
    return f"```text\n{text.rstrip()}\n```" if text else ""
