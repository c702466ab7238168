"""A first look: a small stream of posts, and its most similar pairs as they come and go.

Run it with ``make demo`` or ``python examples/quickstart.py``.
"""

from __future__ import annotations

import datetime as dt
import random

import swoop

CHATTER = [
    "coffee first then the world",
    "my cat sleeps on the keyboard again",
    "rain all day and no umbrella",
    "new record on the morning run",
    "who else is watching the match tonight",
    "the train is late as always",
    "made bread for the first time",
    "monday again already",
]
SPAM = "win a free phone today click the link now"
STORY = "bridge closed after storm police say no injuries"


def posts(count: int) -> list[tuple[dt.datetime, str]]:
    """Ordinary chatter; from the middle on a spam wave with small edits, and a story that people retell."""
    chance = random.Random(4)
    time = dt.datetime(2024, 5, 1, 12)
    found = []
    for number in range(count):
        time += dt.timedelta(seconds=chance.expovariate(1 / 3))
        if number > count // 3 and chance.random() < 0.15:
            words = SPAM.split()
            words[chance.randrange(len(words))] = chance.choice(["friend", "hurry", "really", "best"])
        elif number > count // 2 and chance.random() < 0.1:
            words = [*STORY.split(), chance.choice(["sad", "wow", "scary", "again"])]
        else:
            words = [*chance.choice(CHATTER).split(), *chance.sample(range(1000, 9999), 4)]
        found.append((time, " ".join(map(str, words))))
    return found


def main() -> None:
    """Insert the posts one by one; show the top-k now and then, and why the best pair is similar."""
    stream = posts(600)
    join = swoop.TopKJoin(k=5, window="2 minutes", similarity="jaccard", track_changes=True)
    print(f"{len(stream)} posts, the 5 most similar pairs of the last 2 minutes:\n")
    for number, (time, text) in enumerate(stream, 1):
        join.insert(text.split(), time, id=text)
        if number % 150 == 0:
            print(f"{time:%H:%M:%S}, after {number} posts")
            for pair in join.topk():
                print(f"  {pair.similarity:.2f}  {str(pair.newer)[:52]:52}  {str(pair.older)[:52]}")
            print()
    best = join.topk()[0]
    explanation = join.explain(best)
    print("The best pair shares:", " ".join(sorted(map(str, explanation.shared))))
    changes = join.changes()
    entered = sum(change.kind == "enter" for change in changes)
    print(f"Along the way {entered} pairs entered the top 5, each change with its exact time, also between arrivals.")
    stats = join.stats
    print(f"{stats.sets} sets, {stats.window_size} in the window, {stats.stock_size} pairs in stock.")


if __name__ == "__main__":
    main()
