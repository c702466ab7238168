"""A source as a stream's handle is one: believable posts in a plain join."""

from __future__ import annotations

import datetime as dt
import random
import re
from types import SimpleNamespace
from typing import Any

import swoop
from swoop.results import Changes, Explanation, Pair, SkybandStep

START = dt.datetime(2024, 5, 1, 12, 0, tzinfo=dt.UTC)
OPENINGS = ["Congratulations!", "Hello dear friend,", "URGENT:", "Last chance today:", "Good news,", "Only for you:"]
BAITS = [
    "you have won a free phone, claim it within the hour at the link below",
    "we have a cheap loan for you without any papers, just answer this message",
    "your parcel waits at the customs office, pay the small fee to get it today",
    "earn two thousand a week from your own kitchen, ask me how it works",
]
TALK = re.findall(
    r"\w+",
    "the train to the coast was late again but the light over the harbour made up for it and we walked home along the old wall "
    "with bread cheese apples and far too much coffee talking about books music the election rain football gardens and whether "
    "the neighbours cat really does understand every word that is said to it in the evening on the stairs",
)


class Posts:
    """Posts, one per second of their own time, with waves of spam in them."""

    def __init__(self, k: int = 8, window: str = "2 min", seed: int = 1) -> None:
        self.join = swoop.TopKJoin(k=k, window=window, track_changes=True)
        self.rng = random.Random(seed)
        self.said: dict[int, str] = {}
        self.rows = 0
        self.counts = {"late": 3, "rejected": 1}
        self.is_active = True
        self.failure: BaseException | None = None

    def post(self, text: str | None = None, seconds: float | None = None) -> int:
        """Let a post arrive; its number."""
        number, self.rows = self.rows, self.rows + 1
        text = self.invented() if text is None else text
        time = START + dt.timedelta(seconds=number if seconds is None else seconds)
        self.said[number] = text
        self.join.insert(sorted(set(re.findall(r"\w+", text.lower()))), time, id=number)
        return number

    def invented(self) -> str:
        if self.rng.random() < 0.2:
            words = self.rng.choice(BAITS).split()
            for _ in range(self.rng.randrange(4)):
                words[self.rng.randrange(len(words))] = self.rng.choice(TALK)
            return f"{self.rng.choice(OPENINGS)} {' '.join(words)}"
        return " ".join(self.rng.sample(TALK, self.rng.randrange(6, 16))).capitalize() + "."

    def changes(self) -> Changes:
        return self.join.changes()

    def topk(self) -> Any:
        return self.join.topk()

    def texts(self, pair: Pair) -> tuple[str | None, str | None]:
        return self.said.get(int(pair.newer)), self.said.get(int(pair.older))

    def explain(self, pair: Pair) -> Explanation:
        return self.join.explain(pair)

    def skyband(self) -> list[SkybandStep]:
        return self.join.skyband()

    @property
    def spec(self) -> Any:
        return self.join  # which has the same attributes

    @property
    def stats(self) -> Any:
        stats = self.join.stats
        names = ("sets", "window_size", "stock_size", "vocabulary_size", "memory_bytes")
        watermark = START + dt.timedelta(seconds=max(self.rows - 1, 0)) if self.rows else None
        own = {"rows": self.rows, **self.counts, "batch_seconds": 0.0427, "watermark": watermark}
        return SimpleNamespace(**own, **{name: getattr(stats, name) for name in names})
