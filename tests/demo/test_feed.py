"""The simulated feed is believable: it has what a real one has, and the same seed gives the same posts."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

from swoop.demo.feed import Feed, Post, write_posts

BEGIN = dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC)


def posts(seconds: int, seed: int = 1) -> list[list[Post]]:
    feed = Feed(BEGIN, seed)
    return [feed.between(second, second + 1) for second in range(seconds)]


def test_the_same_seed_gives_the_same_feed() -> None:
    assert posts(5) == posts(5)
    assert posts(5) != posts(5, seed=2)


def test_it_has_what_real_feeds_have() -> None:
    by_second = posts(75)
    everything = [post for part in by_second for post in part]
    assert len({post.id for post in everything}) == len(everything) > 5000
    sizes = [len(part) for part in by_second]
    assert max(sizes) > 2 * min(sizes)
    spam = [any("FREE" in post.text for post in part) for part in by_second]
    assert not any(spam[:14])
    assert all(spam[15:27])
    assert any("Lisbon" in post.text for post in by_second[40])
    assert any(post.text.startswith("RT @") for post in everything)
    unreadable = [post for post in everything if post.time == "just now"]
    assert 0 < len(unreadable) < 20
    times = [dt.datetime.fromisoformat(post.time) for post in everything if post.time != "just now"]
    assert times != sorted(times)
    behind = [latest - time for latest, time in zip(_running_maximum(times), times, strict=True)]
    late = [delay for delay in behind if delay > dt.timedelta(seconds=5)]
    assert 5 < len(late) < 100


def _running_maximum(times: list[dt.datetime]) -> list[dt.datetime]:
    found: list[dt.datetime] = []
    for time in times:
        found.append(max(time, found[-1]) if found else time)
    return found


def test_files_appear_whole(tmp_path: Path) -> None:
    (part,) = posts(1)
    write_posts(tmp_path, 7, part)
    (file,) = tmp_path.iterdir()
    assert file.name == "000007.json"
    assert [json.loads(line)["text"] for line in file.read_text(encoding="utf-8").splitlines()] == [post.text for post in part]
