"""Inferring which column is which: by name, else by type, and only where that is unambiguous."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Literal

from swoop.cli.guard import WrongUsage

Kind = Literal["timestamp", "integer", "number", "string", "array", "other"]

IDS = ("id", "_id", "uuid", "guid", "key")
TIMES = (
    *("time", "ts", "timestamp", "date", "datetime", "day", "when", "epoch", "event_time", "publish_date"),
    *("created", "created_at", "updated_at", "published", "published_at", "posted", "posted_at"),
)
TEXTS = (
    *("text", "title", "headline", "headlines", "headline_text", "body", "message", "content", "post", "tweet"),
    *("description", "comment"),
)
TOKENS = ("tokens", "items", "words", "basket", "goods", "products", "terms")


@dataclass(frozen=True)
class Columns:
    """The columns of an input. The words of several ``text`` columns count together; with ``tokens`` they are only shown."""

    id: str | None = None
    time: str | None = None
    text: tuple[str, ...] = ()
    tokens: str | None = None
    stream: str | None = None
    notes: tuple[str, ...] = field(default=(), compare=False)

    def named(self) -> list[tuple[str, str]]:
        """Option and column name, for each column that is set."""
        options = [("--id", self.id), ("--time", self.time), ("--tokens", self.tokens), ("--stream", self.stream)]
        return [(option, name) for option, name in options if name is not None] + [("--text", name) for name in self.text]


def infer(named: Columns, kinds: dict[str, Kind]) -> Columns:
    """The columns that were named, with the others inferred. ``notes`` say what was inferred.

    >>> infer(Columns(), {"id": "integer", "ts": "timestamp", "headline": "string"}).notes
    ("using 'id' as id", "using 'ts' as time", "using 'headline' as text")
    """
    for option, name in named.named():
        check(option, name, kinds)
    chosen = named
    if chosen.id is None:
        chosen = _with(chosen, "id", _infer_id(_free(chosen, kinds)))
        if chosen.id is None:
            chosen = replace(chosen, notes=(*chosen.notes, "no id column found: using row numbers from 0 as ids"))
    if chosen.time is None:
        chosen = _with(chosen, "time", _infer_time(_free(chosen, kinds), kinds))
    if chosen.tokens is None and not chosen.text:
        chosen = _infer_content(chosen, kinds)
    return chosen


def check(option: str, name: str, kinds: dict[str, Kind]) -> None:
    """Refuse a column that does not exist or has the wrong type."""
    if name not in kinds:
        near = get_close_matches(name, kinds, n=1, cutoff=0.6)
        hint = f". Did you mean {near[0]!r}?" if near else ""
        raise WrongUsage(f"there is no column {name!r} for {option}; columns: {_list(kinds)}{hint}")
    if option == "--tokens" and kinds[name] != "array":
        raise WrongUsage(f"column {name!r} is not an array, so it cannot be --tokens; for text, use --text {name}")
    if option == "--text" and kinds[name] == "array":
        raise WrongUsage(f"column {name!r} is an array, so it cannot be --text; use --tokens {name}")


def _list(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))


def _free(chosen: Columns, kinds: dict[str, Kind]) -> dict[str, Kind]:
    taken = {name for _, name in chosen.named()}
    return {name: kind for name, kind in kinds.items() if name not in taken}


def _with(chosen: Columns, role: str, name: str | None) -> Columns:
    if name is None:
        return chosen
    notes = (*chosen.notes, f"using {name!r} as {role}")
    if role == "text":
        return replace(chosen, text=(name,), notes=notes)
    if role == "tokens":
        return replace(chosen, tokens=name, notes=notes)
    return replace(chosen, id=name, notes=notes) if role == "id" else replace(chosen, time=name, notes=notes)


def _by_name(names: Sequence[str], free: dict[str, Kind], fits: Callable[[Kind], bool]) -> list[str]:
    return [name for name, kind in free.items() if name.lower() in names and fits(kind)]


def _infer_id(free: dict[str, Kind]) -> str | None:
    usable = {name: kind for name, kind in free.items() if kind in ("integer", "string")}
    for names in ([n for n in usable if n.lower() == known] for known in IDS):
        if len(names) == 1:
            return names[0]
    ending = [name for name in usable if re.search(r"(_id|[a-z]I[dD])$", name)]
    return ending[0] if len(ending) == 1 else None


def _infer_time(free: dict[str, Kind], kinds: dict[str, Kind]) -> str:
    named = _by_name(TIMES, free, lambda kind: kind in ("timestamp", "integer", "number", "string"))
    typed = [name for name, kind in free.items() if kind == "timestamp"]
    ending = [name for name in free if re.search(r"(_(at|on|time|date|ts)|[a-z](Time|Date|At))$", name)]
    several = named or typed or ending
    for names in (several, [name for name in several if name in typed]):
        if len(names) == 1:
            return names[0]
    if several:
        raise WrongUsage(f"each of {_list(several)} could be the time; choose one with --time")
    raise WrongUsage(f"no column looks like the time; name it with --time. Columns: {_list(kinds)}")


def _infer_content(chosen: Columns, kinds: dict[str, Kind]) -> Columns:
    """The tokens column if there is one, and text columns."""
    free = _free(chosen, kinds)
    arrays = [name for name, kind in free.items() if kind == "array"]
    strings = [name for name, kind in free.items() if kind == "string"]
    texts = _by_name(TEXTS, free, lambda kind: kind == "string")
    named = _by_name(TOKENS, free, lambda kind: kind == "array")
    for names in (named, [] if texts else arrays):
        if len(names) == 1:
            chosen = _with(chosen, "tokens", names[0])
            if len(texts) == 1:
                chosen = replace(chosen, text=(texts[0],), notes=(*chosen.notes, f"showing {texts[0]!r}"))
            return chosen
    for names in (texts, [] if arrays else strings):
        if len(names) == 1:
            return _with(chosen, "text", names[0])
    several = texts or arrays or strings
    if len(several) > 1:
        both = f"; --text {several[0]} --text {several[1]} uses the words of both" if several is not arrays else ""
        raise WrongUsage(f"each of {_list(several)} could be compared; choose with --text or --tokens{both}")
    raise WrongUsage(f"no column looks like text or tokens; name one with --text or --tokens. Columns: {_list(kinds)}")
