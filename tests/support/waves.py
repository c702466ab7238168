"""A source of families as a stream's handle is one: two waves among chatter, in plain families."""

from __future__ import annotations

import datetime as dt
import re
from types import SimpleNamespace
from typing import Any

import swoop
from swoop.results import Family, FamilyChange, FamilyChanges, FamilyList, Id

START = dt.datetime(2024, 5, 1, 12, 0, tzinfo=dt.UTC)
SAME = "Win a phone, it is free, claim it at the link below"
EDITED = "Your parcel waits at the customs office, pay the small fee {word} to get it this week without any further delay"


class Waves:
    """Posts, one per second of their own time: of the same text, of a text that is edited, and others."""

    def __init__(self, window: Any = "2 min") -> None:
        self.families_of = swoop.Families(0.7, window)
        self.said: dict[Id, tuple[dt.datetime, str]] = {}
        self.rows = 0
        self.is_active = True
        self.failure: BaseException | None = None

    @property
    def time(self) -> dt.datetime:
        """That of the last post."""
        return START + dt.timedelta(seconds=max(self.rows - 1, 0))

    def post(self, text: str | None = None) -> int:
        """Let a post arrive; its number."""
        number, self.rows = self.rows, self.rows + 1
        word = ("today", "tonight")[number // 3 % 2]
        chatter = f"only the {number} th time that {number}s was said by {number}x"
        text = text if text is not None else (SAME, EDITED.format(word=word), chatter)[number % 3]
        self.said[number] = (self.time, text)
        self.families_of.insert(sorted(set(re.findall(r"\w+", text.lower()))), self.time, id=number)
        return number

    def run(self, posts: int) -> None:
        for _ in range(posts):
            self.post()

    def families(self, n: int | None = None, order: Any = "size") -> FamilyList:
        return self.families_of.families(n, order)

    def members(self, family: Id | Family) -> list[Id]:
        return self.families_of.members(family)

    def examples(self, family: Id | Family, n: int = 3) -> list[tuple[Any, Any, str | None]]:
        """The newest members first."""
        return [(name, *self.said[name]) for name in reversed(self.members(family)[-n:])]

    def texts(self, change: FamilyChange) -> tuple[str | None, str | None]:
        assert change.sets is not None
        return self.said[change.sets[0]][1], self.said[change.sets[1]][1]

    def changes(self) -> FamilyChanges:
        return self.families_of.changes()

    @property
    def stats(self) -> Any:
        stats = self.families_of.stats
        own = {"rows": self.rows, "late": 3, "rejected": 1, "held": 0, "watermark": self.time if self.rows else None}
        return SimpleNamespace(
            **own, window_size=stats.window_size, families=stats.families, memory_bytes=stats.memory_bytes, changes=0
        )
