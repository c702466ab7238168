"""Docstrings as Markdown for the site: references of Sphinx become links or code, ``::`` a colon, and doctests examples."""

from __future__ import annotations

import re
from typing import Any

import griffe

ROLE = re.compile(r":(?:class|func|meth|mod|attr):`~?([\w.]+)`")
EXAMPLES = re.compile(r"(?m)^Examples\n-+$")
TOGETHER = re.compile(r"(?m)^(\w+(?:, \w+)+)\n((?:[ \t]+\S.*\n?)+)")
LITERAL = re.compile(r"(?m)(?:^[ \t]*::|(:):)\n(?=\s*\n)")


def as_markdown(text: str) -> str:
    r"""A docstring as Markdown.

    >>> as_markdown("See :class:`swoop.TopKJoin` and :meth:`changes`.")
    'See [`swoop.TopKJoin`][] and `changes`.'
    >>> as_markdown("start, end\n    Times.\n")
    'start\n    Times.\nend\n    Times.\n'
    """
    if ">>>" in text and not EXAMPLES.search(text):
        text = text.replace(">>>", "Examples\n--------\n>>>", 1)
    text = TOGETHER.sub(_one_by_one, text)
    text = ROLE.sub(lambda found: f"[`{found[1]}`][]" if found[1].startswith("swoop.") else f"`{found[1]}`", text)
    return LITERAL.sub(lambda found: (found[1] or "") + "\n", text)


def _one_by_one(found: re.Match[str]) -> str:
    """Parameters that are described together, each with the description: so each gets its own type and default."""
    return "".join(f"{name}\n{found[2].rstrip()}\n" for name in found[1].split(", "))


class Markdown(griffe.Extension):
    """Changes each docstring when it is read."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)
