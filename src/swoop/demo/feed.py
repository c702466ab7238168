"""A simulated feed of posts: chatter, retweets, edited copies, a spam wave, a breaking story; some late, some out of order.

The same seed gives the same feed. Posts are made for spans of time, so a feed can run at any speed.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import random
from collections import deque
from dataclasses import asdict, dataclass
from pathlib import Path

_PEOPLE = "ana ben carla dev ella femi gita hugo ines jan kofi lena milo nora omar pia quin rosa sami tara"
_PLACES = "Vienna Lagos Lima Oslo Porto Quito Riga Seoul Turin Utrecht Bergen Cork Dakar Graz Kyoto Leeds"

_OPENINGS = (
    "{adverb} the best {food} in {place} is sold at that {shop}",
    "my {animal} {did} the {thing} again",
    "does anyone else find the {transport} to {place} {quality}",
    "reading about {topic} on the {transport}",
    "{person} taught me {skill} in {place}",
    "it is {weather} here and I forgot my {thing}",
    "{period} plans: {skill} and {food}",
    "just heard {person} talk about {topic}",
    "the {spot} of {place} looks {quality} today",
    "looking for a {shop} that fixes a {thing}",
    "{person} and I argued about {topic} for an hour",
    "new {animal} next door, they call it {food}",
)
_ENDINGS = (
    "and now I want {food}",
    "which is more than {person} ever said about {topic}",
    "so meet me at the {spot} before {period}",
    "never again by {transport}",
    "still better than {skill} when it is {weather}",
    "ask the {animal}, it was {quality}",
    "my {thing} disagrees",
    "that is how a {period} should begin",
    "{adverb} a {quality} idea",
    "I blame the {shop} in {place}",
    "no {food} was harmed",
    "but who would trade a {thing} for {topic}",
)
_WORDS = {
    "person": _PEOPLE,
    "place": _PLACES,
    "adverb": "honestly surprisingly officially probably clearly somehow allegedly finally",
    "food": "ramen pierogi mango dumplings espresso baklava gnocchi paella churros kimchi falafel strudel tamales risotto",
    "shop": "bakery kiosk bookshop diner market café workshop garage tavern cinema",
    "spot": "harbour museum bridge station library park tower stadium lighthouse observatory",
    "animal": "cat dog parrot hedgehog ferret rabbit tortoise goat",
    "did": "stole broke hid painted delivered unplugged guarded ate",
    "thing": "umbrella keyboard bicycle charger notebook guitar telescope jacket kettle passport camera ladder",
    "period": "week month weekend morning evening Monday Friday spring winter",
    "transport": "tram ferry night-train bus cable-car metro",
    "quality": "brilliant dreadful peaceful noisy wonderful odd crowded magical slow tidy",
    "topic": "volcanoes compilers jazz mushrooms chess glaciers typography beekeeping opera satellites cartography fencing",
    "skill": "juggling origami rowing knitting baking sailing calligraphy whistling",
    "weather": "raining foggy boiling windy snowing sunny hailing",
}
_SPAM = "{shout} You were chosen for a FREE {{prize}}, claim it {when} at www.prizes-4u.example"
_PRIZES = ("phone", "cruise", "voucher")
_STORY = (
    "BREAKING: earthquake of magnitude 5.8 shakes Lisbon, felt as far as Porto, {count} calls to the fire service so far",
    "Earthquake of magnitude 5.8 shakes Lisbon: trains to Porto stopped, says {person}, {count} calls so far",
    "Lisbon after the earthquake: {count} people in the streets, trains to Porto stopped, no one hurt",
)
_REMARKS = ("", "", "", " wow", " lol", " so true", " #{topic}", " (via @{person})")


@dataclass(frozen=True)
class Post:
    """A post: when it was written, and by whom."""

    id: int
    time: str
    author: str
    text: str


class Feed:
    """Posts as they arrive.

    Parameters
    ----------
    start
        The time of the first post.
    seed
        Seed of the random numbers.
    rate
        Posts per second, on average; it varies by half.
    """

    def __init__(self, start: dt.datetime, seed: int = 1, rate: float = 120.0) -> None:
        self._start, self._rate = start, rate
        self._rng = random.Random(seed)
        self._recent: deque[str] = deque(maxlen=400)
        self._count = 0
        self._waiting: list[tuple[float, Post]] = []  # written, but still on their way

    def between(self, begin: float, end: float) -> list[Post]:
        """The posts that arrive within a span of seconds after the start, in the order of arrival."""
        rng = self._rng
        swell = 1 + 0.5 * math.sin(begin / 7) + (0.6 if self._in_story(begin) else 0)
        arriving = []
        for _ in range(round(self._rate * swell * (end - begin))):
            written = begin + (end - begin) * rng.random()
            post = self._post(written)
            luck = rng.random()
            if luck < 0.006:  # some phones were in a tunnel
                self._waiting.append((written + rng.uniform(6, 20), post))
            else:
                arriving.append((written + (rng.random() if luck < 0.2 else 0.0), post))
        arriving += [late for late in self._waiting if late[0] < end]
        self._waiting = [late for late in self._waiting if late[0] >= end]
        return [post for _, post in sorted(arriving, key=lambda arrival: arrival[0])]

    def _post(self, seconds: float) -> Post:
        time = (self._start + dt.timedelta(seconds=seconds)).isoformat(timespec="milliseconds")
        if self._rng.random() < 0.0004:
            time = "just now"  # from a sloppy client
        text = self._text(seconds)
        self._recent.append(text)
        self._count += 1
        return Post(self._count, time, self._pick("person"), text)

    def _in_spam(self, seconds: float) -> bool:
        return 14 <= seconds % 75 < 28

    def _in_story(self, seconds: float) -> bool:
        return 36 <= seconds % 75 < 52

    def _text(self, seconds: float) -> str:
        rng = self._rng
        luck = rng.random()
        if self._in_spam(seconds) and luck < 0.03:  # one wave, one campaign: the same text, with another word now and then
            return self._fill(_SPAM).format(prize=_PRIZES[int(seconds // 75) % len(_PRIZES)])
        if self._in_story(seconds) and luck < 0.04:
            return self._fill(rng.choice(_STORY)) + self._fill(rng.choice(_REMARKS))
        if luck > 0.995 and self._recent:
            return self._fill("RT @{person}: ") + rng.choice(self._recent)
        if luck > 0.99 and self._recent:
            return self._edited(rng.choice(self._recent))
        parts = [rng.choice(_OPENINGS), *rng.sample(_ENDINGS, 2)]
        return ", ".join(map(self._fill, parts)) + self._fill(rng.choice(_REMARKS))

    def _edited(self, text: str) -> str:
        """The text with one word replaced by another of its kind, or removed."""
        words = text.split()
        place = self._rng.randrange(len(words))
        sorts = [name for name, known in _WORDS.items() if words[place] in known.split()]
        words[place : place + 1] = [self._pick(name) for name in sorts[:1]]
        return " ".join(words)

    def _pick(self, name: str) -> str:
        return self._rng.choice(_WORDS[name].split())

    def _fill(self, template: str) -> str:
        rng = self._rng
        return template.format(
            **{name: self._pick(name) for name in _WORDS},
            count=rng.choice([60, 90, 120]),
            shout=rng.choice(["CONGRATULATIONS!", "LUCKY YOU!", "WINNER!"]),
            when=rng.choice(["now", "now", "today", "before midnight"]),
        )


def write_posts(folder: Path, number: int, posts: list[Post]) -> None:
    """Write posts to a file of JSON lines that appears complete or not at all."""
    unfinished = folder / f".{number:06}.json"
    unfinished.write_text("".join(json.dumps(asdict(post), ensure_ascii=False) + "\n" for post in posts), encoding="utf-8")
    unfinished.rename(folder / f"{number:06}.json")
