"""The page on its port: what it answers, and to whom.

Tests of swoop.dashboard.app, swoop.dashboard.bundle, swoop.dashboard.guard, swoop.dashboard.wire.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from importlib.resources import files

import httpx
import pytest

from swoop.dashboard import Page, app, bundle, serve
from swoop.dashboard.differences import applied
from swoop.errors import InvalidArgument
from swoop.installing import how_to_install
from tests.support.posts import Posts


@pytest.fixture(scope="module")
def posts() -> Posts:
    found = Posts(k=4)
    for _ in range(60):
        found.post()
    return found


@pytest.fixture(scope="module")
def page(posts: Posts) -> Iterator[Page]:
    with serve(posts, title="Posts\u202e <b>") as found:
        yield found


@pytest.fixture
def client(page: Page) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=page.url, timeout=20) as found:
        yield found


def events(response: httpx.Response) -> Iterator[tuple[str, str, str]]:
    """Kind, id and data of each event."""
    found: dict[str, str] = {}
    for line in response.iter_lines():
        name, _, value = line.partition(": ")
        if line:
            found[name] = value
        elif "data" in found:
            yield found["event"], found["id"], found["data"]
            found = {}


def test_the_page_and_its_files(client: httpx.Client) -> None:
    index = client.get("/")
    assert index.headers["content-type"] == "text/html; charset=utf-8"
    for name, kind in [("page.js", "text/javascript"), ("page.css", "text/css"), ("icon.svg", "image/svg+xml")]:
        answer = client.get(f"/static/{name}")
        assert answer.headers["content-type"].startswith(kind)
        assert client.get(f"/static/{name}", headers={"If-None-Match": answer.headers["etag"]}).status_code == 304
    assert "vegaEmbed" in client.get("/static/vega.js").text
    for strange in ("/static/none.js", "/static/..%2fapp.py", "/static/%2e%2e/app.py", "/docs", "/openapi.json"):
        assert client.get(strange).status_code == 404, strange
    assert client.post("/").status_code == 405


def test_no_address_of_another_site(client: httpx.Client) -> None:
    names = [file.name for file in files("swoop.dashboard").joinpath("static").iterdir() if not file.name.endswith(".svg")]
    assert len(names) > 10
    for name in names:
        text = client.get("/" if name == "index.html" else f"/static/{name}").text
        assert "https://" not in text.replace("https://vega.github.io/schema/", "")  # a name, never fetched
        assert ".innerHTML" not in text
        assert "style=" not in text


def test_headers_are_on_every_answer(client: httpx.Client) -> None:
    for path in ("/", "/static/page.js", "/static/none", "/explain", "/explain?newer=x&older=y"):
        headers = client.get(path).headers
        policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == "'self'"
        assert policy["style-src"] == "'self'"
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "server" not in headers


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "[::2]:80"])
def test_other_names_are_refused(client: httpx.Client, host: str) -> None:
    for path in ("/", "/events", "/explain?newer=1&older=0"):
        assert client.get(path, headers={"Host": host}).status_code == 421


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:9999", "127.0.0.1:1", "[::1]:80"])
def test_names_of_this_machine_are_served(client: httpx.Client, host: str) -> None:
    assert client.get("/", headers={"Host": host}).status_code == 200


def test_explanations(client: httpx.Client, posts: Posts, page: Page) -> None:
    page.board.refresh()
    pair = posts.topk()[0]
    answer = client.get("/explain", params={"newer": str(pair.newer), "older": str(pair.older)})
    assert answer.json()["shared"] == sorted(posts.explain(pair).shared)
    assert client.get("/explain", params={"newer": "x", "older": "y"}).status_code == 404
    assert client.get("/explain").status_code == 422


def test_events_and_coming_back(client: httpx.Client, posts: Posts, page: Page) -> None:
    with client.stream("GET", "/events") as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        stream = events(response)
        kind, first, data = next(stream)
        state = json.loads(data)
        assert kind == "snapshot"
        assert state["title"] == "Posts<U+202E> <b>"
        posts.post()
        kind, second, data = next(stream)
        assert kind == "difference"
        state = applied(state, json.loads(data))
    posts.post()
    page.board.refresh()
    with client.stream("GET", "/events", headers={"Last-Event-ID": second}) as response:
        kind, third, data = next(events(response))
        state = applied(state, json.loads(data))
        assert kind == "difference"
        assert state["metrics"]["rows"] == posts.rows
    assert len({first, second, third}) == 3
    with client.stream("GET", "/events", headers={"Last-Event-ID": "of-another-life"}) as response:
        assert next(events(response))[0] == "snapshot"


def test_a_thousand_updates_are_a_few_events(client: httpx.Client, page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    """However fast updates come, there is an event per refresh at most, and the clock refreshes; the last one tells all."""
    posts, got, refreshed = Posts(k=4, window="30 s"), 0, []
    refresh = page.board.refresh

    def counted() -> None:
        refreshed.append(posts.rows)
        refresh()

    for _ in range(40):
        posts.post()
    page.show(posts)
    with client.stream("GET", "/events") as response:
        stream = events(response)
        state = json.loads(next(stream)[2])
        monkeypatch.setattr(page.board, "refresh", counted)
        for _ in range(2):
            for _ in range(1000):
                posts.post()
                page.board.take_changes(posts.changes())
            while state["metrics"]["rows"] < posts.rows:
                state = applied(state, json.loads(next(stream)[2]))
                got += 1
    assert 2 <= got <= len(refreshed) + 1  # one may have been under way


def test_the_token_guards_everything() -> None:
    with serve(Posts(), token="geheim & ü") as page:
        assert page.url.endswith("/?token=geheim%20%26%20%C3%BC")
        bare = page.url.partition("?")[0]
        with httpx.Client() as client:
            for path in (
                "",
                "events",
                "static/page.js",
                "static/vega.js",
                "explain?newer=1&older=0",
                "?token=",
                "?token=ü",
                "none",
            ):
                answer = client.get(bare + path)
                assert answer.status_code == 401, path
                assert "set-cookie" not in answer.headers
            answer = client.get(page.url)
            assert answer.status_code == 200
            cookie = answer.headers["set-cookie"]
            assert "HttpOnly" in cookie
            assert "SameSite=Strict" in cookie
            assert "geheim" not in cookie
            assert client.get(bare + "static/page.js").status_code == 200
            client.cookies.clear()
            client.cookies.set(f"swoop-{page.port}", "0" * 64)
            assert client.get(bare).status_code == 401


def test_a_page_served_again_knows_its_cookies() -> None:
    with httpx.Client() as client:
        with serve(token="t") as page:
            client.get(page.url)
        with serve(token="t", port=page.port):
            assert client.get(f"http://127.0.0.1:{page.port}/").status_code == 200
        with serve(token="another", port=page.port):
            assert client.get(f"http://127.0.0.1:{page.port}/").status_code == 401


def test_another_host_gives_a_warning() -> None:
    with pytest.warns(UserWarning, match="anyone who can reach it"), serve(host="0.0.0.0") as page:
        assert httpx.get(page.url, headers={"Host": "my-machine"}).status_code == 200
    with pytest.warns(UserWarning, match="anyone with the token"):
        serve(host="0.0.0.0", token="t").close()


def test_bad_arguments() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InvalidArgument, match=f"port {port}"):
            serve(port=port)
    with pytest.raises(InvalidArgument, match="port 99999"):
        serve(port=99999)
    with pytest.raises(InvalidArgument, match="token is empty"):
        serve(token="")


def test_closing_ends_open_streams_and_can_be_repeated() -> None:
    page = serve(Posts())
    with httpx.Client() as client, client.stream("GET", page.url + "events") as response:
        stream = events(response)
        next(stream)
        page.close()
        list(stream)  # to its end, or the client runs out of patience
    page.close()
    with pytest.raises(httpx.ConnectError):
        httpx.get(page.url)


def test_closing_does_not_wait_for_the_charts(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting, made = threading.Event(), []
    monkeypatch.setattr(app, "bundle", lambda: (waiting.wait(60) and made.append(b"")) or b"")
    page = serve(Posts())
    answers: list[int] = []
    asking = threading.Thread(target=lambda: answers.append(httpx.get(page.url + "static/vega.js", timeout=60).status_code))
    asking.start()
    time.sleep(0.3)
    page.close()
    asking.join()
    assert answers == [503]
    assert not made
    waiting.set()


def test_without_charts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "bundle", lambda: 1 / 0)
    with serve(Posts()) as page:
        assert httpx.get(page.url + "static/vega.js").status_code == 503
        assert httpx.get(page.url).status_code == 200


def test_charts_are_made_without_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "PROGRAM", "raise SystemExit(1)")
    assert b"vegaEmbed" in bundle._make()


def test_a_board_that_cannot_be_refreshed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    posts = Posts()
    with serve(posts) as page, httpx.Client() as client, client.stream("GET", page.url + "events") as response:
        stream = events(response)
        next(stream)
        with monkeypatch.context() as patch:
            patch.setattr(page.board, "refresh", lambda: 1 / 0)
            time.sleep(1.2)
        posts.post()
        assert next(stream)[0] == "difference"


def test_without_the_extra() -> None:
    program = """
import sys
sys.modules["fastapi"] = None
import swoop.dashboard
try:
    swoop.dashboard.serve
except ImportError as error:
    print(error)
try:
    swoop.dashboard.other
except AttributeError as error:
    print(error)
"""
    said = subprocess.check_output([sys.executable, "-c", program], text=True)
    assert how_to_install("dashboard") in said
    assert "has no attribute 'other'" in said
