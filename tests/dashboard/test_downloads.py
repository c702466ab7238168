"""What people take away: results, all changes, and a page that needs no server.

Tests of swoop.dashboard.change_log, swoop.dashboard.downloads, swoop.dashboard.headline, swoop.dashboard.kept.
"""

from __future__ import annotations

import datetime as dt
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from playwright.sync_api import Browser, expect
from pyarrow import csv

import swoop
from swoop.dashboard import Board, Page, serve
from swoop.dashboard.change_log import ChangeLog
from swoop.results import Change, FamilyChange
from swoop.spreadsheets import for_spreadsheets
from tests.dashboard.conftest import Watched
from tests.support.posts import Posts
from tests.support.still import Still, pair
from tests.support.waves import Waves

HOSTILE = "</script><script>alert(1)</script> <!-- <img src=x onerror=alert(2)> \u202egnorw\u202c \u2028 {word} two three four"


@pytest.fixture(scope="module")
def posts() -> Posts:
    found = Posts(k=6)
    for _ in range(60):
        found.post()
    for word in ("ten", "nine"):
        found.post(HOSTILE.format(word=word))
    return found


@pytest.fixture(scope="module")
def page(posts: Posts) -> Iterator[Page]:
    waves = Waves()
    waves.run(30)
    with serve(posts, title="</title><script>alert(3)</script>", origin="posts.jsonl") as found:
        found.show(waves)
        found.board.take_changes(posts.changes())
        found.board.take_changes(waves.changes())
        yield found


def table(page: Page, what: str, format: str) -> Any:
    answer = httpx.get(f"{page.url}download/{what}.{format}", timeout=60)
    assert answer.status_code == 200
    assert answer.headers["content-disposition"] == f'attachment; filename="swoop-{what}.{format}"'
    assert "content-security-policy" in answer.headers
    return (csv.read_csv if format == "csv" else pq.read_table)(io.BytesIO(answer.content))


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_the_result_and_all_changes(page: Page, posts: Posts, format: str) -> None:
    rows = table(page, "result", format).to_pylist()
    assert [(row["similarity"], row["newer"], row["older"]) for row in rows] == [
        (one.similarity, one.newer, one.older) for one in posts.topk()
    ]
    assert [(row["newer_text"], row["older_text"]) for row in rows] == [posts.texts(one) for one in posts.topk()]
    assert sum("alert(1)" in row["newer_text"] for row in rows) == 1
    again = Posts(k=6)
    for text in posts.said.values():
        again.post(text)
    expected = [(change.kind, change.pair.newer, change.pair.older) for change in again.changes()]
    changes = table(page, "changes", format).to_pylist()
    assert [(row["kind"], row["newer"], row["older"]) for row in changes] == expected
    assert table(page, "families", format).num_rows == 2
    assert set(table(page, "family-changes", format)["kind"].to_pylist()) == {"born", "grew"}


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_kept_columns(format: str) -> None:
    join = swoop.TopKJoin(k=2, window="1 hour", track_changes=True)
    when = dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC)
    kept = {
        "text": ["win a phone"] * 2,
        "tags": [["a", "b"], []],
        "raw": [b"\xff", None],
        "at": [when, when],
        "x": [{"y": 1.5}, None],
    }
    join.insert_many({"tokens": [["a"], ["a"]], "time": [when, when], **kept}, keep=list(kept))
    with serve(join) as page:
        page.board.take_changes(join.changes())
        for what in ("result", "changes"):
            found = table(page, what, format)
            assert len(set(found.column_names)) == len(found.column_names)
            (row,) = found.to_pylist()
            assert (row["newer_text"], row["older_tags"]) == ("win a phone", '["a", "b"]' if format == "csv" else ["a", "b"])


def test_what_is_not_there_is_said() -> None:
    with serve(Still([])) as page, httpx.Client(base_url=page.url) as client:
        answer = client.get("download/changes.csv")
        assert answer.status_code == 404
        assert "pass page.board.take_changes" in answer.json()["detail"]
        assert client.get("download/families.csv").json()["detail"] == "the page shows no families"
        assert client.get("download/result.exe").status_code == 404
        assert client.get("download/result.csv").status_code == 200  # without pairs, but there


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 40), max_size=30), st.integers(1, 50))
def test_a_log_has_all_changes_in_their_order(sizes: list[int], part: int) -> None:
    log, told = ChangeLog(part=part), 0
    for size in sizes:
        log.put([Change(told + n, "enter", pair(told + n)) for n in range(size)])
        told += size
    kept = log.read()
    if not told:
        assert kept is None
        return
    assert kept is not None
    assert kept.complete
    assert kept.rows == told
    assert [time for table in kept.parts for time in table["time"].to_pylist()] == list(range(told))


@given(st.lists(st.integers(0, 9) | st.sampled_from(["a", "b", b"c", b"\xff", 2**63]), min_size=1, max_size=8))
@example([1, "a", 2, "b", 3])
@example([1, b"c", 2**63])
@settings(max_examples=40, deadline=None)
def test_ids_of_several_types_stay_together(names: list[int | str | bytes]) -> None:
    log, told = ChangeLog(part=1), []
    for number, name in enumerate(names):
        join = swoop.TopKJoin(k=1, window=10, track_changes=True)
        join.insert(["x"], number, id=name)
        join.insert(["x"], number, id=name)
        log.put(join.changes())
        told.append(name)
    found = log.read()
    assert found is not None
    assert found.complete
    if len({type(name) for name in names}) > 1 or 2**63 in names:
        told = [name.decode(errors="backslashreplace") if isinstance(name, bytes) else str(name) for name in names]
    assert [name for table in found.parts for name in table["newer"].to_pylist()] == told


def test_changes_of_families_say_when_and_what() -> None:
    log = ChangeLog()
    log.put([FamilyChange(5, "born", 1, None, 2, 2, 3, "b")])
    found = log.read()
    assert found is not None
    assert next(found.parts).to_pylist() == [
        {"time": 5, "kind": "born", "family": "1", "into": None, "size": 2, "total": 2, "first_seen": 3, "representative": "b"}
    ]


def test_spreadsheets_find_no_formulas() -> None:
    texts = ["=1+1", "+49 1", "-x", "@a", "\tx", "\rx", "-5", "+1.5e3", "1", "a=b", "", None]
    safe = [f"'{text}" for text in texts[:6]] + texts[6:]  # type: ignore[operator]
    for kind in (pa.string(), pa.large_string()):
        found = for_spreadsheets(pa.table({"text": pa.array(texts, kind), "n": range(-6, 6)}))
        assert found.to_pydict() == {"text": safe, "n": list(range(-6, 6))}


def test_no_changes_take_no_memory() -> None:
    log = ChangeLog()
    for _ in range(10):
        log.put([])
    assert log._waiting == []


def test_a_log_is_bounded_and_says_what_is_missing() -> None:
    log = ChangeLog(most=100_000, part=10)
    reading = None
    for number in range(4000):
        log.put([Change(number, "enter", pair(number))])
        if number == 100:
            reading = log.read()
    kept = log.read()
    assert kept is not None
    assert log._written[-1][1] <= 100_000
    assert not kept.complete
    times = [time for table in kept.parts for time in table["time"].to_pylist()]
    assert times == list(range(4000 - len(times), 4000))
    assert 20 < len(times) == kept.rows
    assert reading is not None  # who began to read before still gets all of it
    assert [time for table in reading.parts for time in table["time"].to_pylist()] == list(range(101))
    log.put([Change("no time", "enter", pair(1))])  # type: ignore[arg-type]
    kept = log.read()
    assert kept is not None
    assert kept.rows == 1  # of another stream, whose times are of another type
    log.put([Change(object(), "enter", pair(1))])  # type: ignore[arg-type]
    assert log.read().rows == 1  # type: ignore[union-attr]


def test_lists_of_changes_of_families() -> None:
    log = ChangeLog()
    log.put([FamilyChange(5, "merged", b"\xff", "x", 2, 3), FamilyChange(6, "ended", 7)])
    kept = log.read()
    assert kept is not None
    rows = pa.concat_tables(kept.parts).to_pylist()
    assert [(row["time"], row["family"], row["into"]) for row in rows] == [(5, "0xff", "x"), (6, "7", None)]


def test_the_name_of_a_file_says_if_changes_are_missing(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page.board._logs["changes"], "_complete", False)
    answer = httpx.get(f"{page.url}download/changes.csv", timeout=60)
    assert answer.headers["content-disposition"] == 'attachment; filename="swoop-last-changes.csv"'


def test_what_the_page_says_that_it_shows() -> None:
    board = Board(origin="x" * 500)
    assert board.state["about"][0].startswith("xxx")
    assert len(board.state["about"][0]) <= 80
    board = Board()
    for source, said in [
        (
            swoop.TopKJoin(k=None, window=5, min_similarity=0.5, similarity="dice"),
            ["all pairs from 0.5", "window of 5", "dice"],
        ),
        (swoop.TopKJoin(k=1000, window="36 hours", min_similarity=0.25), ["top 1,000 from 0.25", "last 36 hours", "jaccard"]),
        (swoop.TopKJoin(k=1, window="1 day"), ["top 1", "last 1 day", "jaccard"]),
        (Still([]), []),
    ]:
        board.show(source)
        board.refresh()
        assert board.state["about"] == said


def test_a_kept_page_shows_the_moment_without_a_server(browser: Browser, page: Page, posts: Posts, tmp_path: Path) -> None:
    answer = httpx.get(f"{page.url}download/page.html", timeout=60)
    assert answer.headers["content-disposition"] == 'attachment; filename="swoop.html"'
    (tmp_path / "kept.html").write_bytes(answer.content)
    state = answer.text.partition('id="kept">')[2].partition("</script>")[0]
    assert len(json.loads(state)["pairs"]) == 6
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    watched = Watched(context.new_page())
    tab = watched.tab
    key = page.board.state["order"][1]
    tab.goto(f"{(tmp_path / 'kept.html').as_uri()}#pair-{key}")
    expect(tab.locator("#why section").first.locator("li").first).to_be_visible()  # the link works there, too
    tab.keyboard.press("Escape")
    expect(tab.locator(".similarity").first).to_have_text(f"{posts.topk()[0].similarity:.3f}")
    expect(tab.locator(".family")).to_have_count(2)
    expect(tab.locator("#status")).to_have_text("kept")
    expect(tab.get_by_role("alert")).to_contain_text("This page was kept")
    expect(tab.locator("#title")).to_have_text("</title><script>alert(3)</script>")
    expect(tab.locator("#about")).to_contain_text("posts.jsonl")
    expect(tab.locator("#timeline canvas")).to_be_visible(timeout=15_000)
    expect(tab.locator("#save")).to_be_hidden()
    card = tab.locator(".pair", has_text="alert(1)").first
    expect(card).to_contain_text("<img src=x onerror=alert(2)>")
    tab.locator(".family").first.locator(".ask").click()
    expect(tab.locator("#why")).to_contain_text("10 records in the window")
    tab.keyboard.press("Escape")
    assert tab.evaluate("document.querySelectorAll('img, main script').length") == 0
    # a script that somebody gets into the page does not run: its hash is not in the policy
    adding = "const added = document.createElement('script'); added.text = 'window.ran = 1'; document.body.append(added)"
    tab.evaluate(f"() => {{ try {{ {adding} }} catch {{}} }}")
    assert tab.evaluate("window.ran") is None
    context.close()
    assert [text for text in watched.troubles if "rusted" not in text and "Content Security Policy" not in text] == []
    assert [url for url in watched.asked if not url.startswith("file:")] == []


def test_downloads_from_the_page(watch: Callable[..., Watched], page: Page) -> None:
    tab = watch(page, width=1400).tab
    expect(tab.locator(".pair").first).to_be_visible()
    tab.get_by_text("Save", exact=True).focus()
    tab.keyboard.press("Enter")
    for name, file in (
        ("The pairs of now as CSV", "swoop-result.csv"),
        ("All changes of families as Parquet", "swoop-family-changes.parquet"),
    ):
        if not tab.locator("#save[open]").count():
            tab.get_by_text("Save", exact=True).click()
        with tab.expect_download() as begun:
            tab.get_by_role("link", name=name).click()
        assert begun.value.suggested_filename == file
        assert begun.value.failure() is None
    tab.get_by_text("Save", exact=True).click()
    tab.keyboard.press("Escape")
    expect(tab.get_by_role("link", name="The pairs of now as CSV")).to_be_hidden()
    expect(tab.locator("#save summary")).to_be_focused()
    expect(tab.locator("#timeline canvas")).to_be_visible(timeout=15_000)
