"""Alerts reach servers and commands, whoever fails, hangs or comes back; and nobody waits for them.

Tests of swoop.live.alert_targets, swoop.messages.
"""

from __future__ import annotations

import json
import os
import select
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from swoop.live import alert_delivery, alert_targets, alerts
from swoop.live.alert_targets import Failure
from swoop.live.alerts import alert
from swoop.live.files import Folder
from swoop.text.functions import words
from tests.support.alerts import AT_ONCE, BOUND, ROWS, deliver, stream
from tests.support.live_cases import SPEC, Row, table, with_join
from tests.support.live_runs import alerting, alerts_of, fresh, start
from tests.support.web_server import DRIP, DROP, HANG, WebServer, web_server

pytestmark = pytest.mark.usefixtures("few_agree")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[WebServer]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(alert_delivery, "FIRST_WAIT", 0.01)
    with web_server() as found:
        yield found


def numbers(messages: list[dict[str, Any]]) -> list[str]:
    return [message["id"] for message in messages]


def test_a_server_that_fails_hangs_and_comes_back(
    folder: Path, server: WebServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(alert_targets, "TIMEOUT", 0.5)
    server.answers.extend([503, 500, 429, HANG, DRIP, DROP, 200, 200, 502, 200, 404, 200, 302, 200])
    output = stream(folder, alert(server.url, per_minute=600))
    waiting = output.counts()["alerts_waiting"]
    output.start()
    output.close(BOUND)
    alerts = [json.loads(a.message)["id"] for a in _all(folder)] or None
    assert alerts is None  # they are gone
    tried = [code for code, _ in server.posted]
    assert tried[:14] == [503, 500, 429, HANG, DRIP, DROP, 200, 200, 502, 200, 404, 200, 302, 200]
    assert len({body["id"] for _, body in server.posted[:7]}) == 1  # tried again until it arrived
    arrived = server.arrived
    assert numbers(arrived) == sorted(numbers(arrived), key=lambda name: int(name.partition("/")[2]))
    assert output.counts() == {"alerts": waiting - 2, "alerts_failed": 2, "alerts_left_out": 0, "alerts_waiting": 0}
    assert [message["left_out"] for message in arrived][:6] == [0, 0, 0, 1, 1, 0]  # the next alert tells of the one given up
    assert output.problem == f"{server.url.removesuffix('/hook/secret')} answered 302"
    assert "secret" not in caplog.text
    assert caplog.text.count("given up") == 2
    assert caplog.text.count("did not answer within 0.5 seconds") >= 1  # also where each byte comes in time


def _all(folder: Path) -> list[Any]:
    queue = alerts.AlertQueue(Folder(folder / "swoop" / "alerts"))
    return [] if queue.first() is None else list(queue._first)


def test_a_server_that_is_down_until_the_next_run(folder: Path, server: WebServer) -> None:
    """What could not be delivered waits beside the checkpoint; so does what has just begun to fail."""
    with web_server() as gone:
        address = gone.url
    output = stream(folder, alert(address))
    waiting = output.counts()["alerts_waiting"]
    assert waiting > 5
    output.start()
    until = time.monotonic() + BOUND
    while output.problem is None and time.monotonic() < until:
        time.sleep(0.01)
    assert "cannot be reached" in str(output.problem)
    output.close(0.0)
    assert output.counts()["alerts_waiting"] == waiting
    again = alerts_of(folder, SPEC, alert(server.url))
    again.start()
    again.close(BOUND)
    assert len(server.arrived) == waiting
    assert again.counts()["alerts"] == waiting


def test_given_up_after_so_many_tries(folder: Path, server: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(alert_delivery.AlertDelivery, "_pause", lambda self, seconds: waits.append(seconds) or True)
    monkeypatch.setattr(alert_delivery, "FIRST_WAIT", 1.0)
    server.answers.extend([503] * 10)
    output = stream(folder, alert(server.url), ROWS[:4])
    deliver(output)
    assert [wait for wait in waits if wait] == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert output.counts()["alerts_failed"] == 1
    assert server.arrived[0]["left_out"] == 1


@pytest.mark.parametrize("to", ["https://hooks..example.com/secret", ["/bin/cat", "a\0b"]])
def test_given_up_whatever_is_raised(folder: Path, monkeypatch: pytest.MonkeyPatch, to: Any) -> None:
    monkeypatch.setattr(alert_delivery.AlertDelivery, "_pause", lambda self, seconds: True)
    output = stream(folder, alert(to), ROWS[:4])
    deliver(output)
    assert output.counts()["alerts_failed"] == 3
    assert output.counts()["alerts_waiting"] == 0
    assert "cannot be used" in (output.problem or "")
    assert "secret" not in (output.problem or "")


def test_no_batch_waits_for_a_server_that_hangs(folder: Path, server: WebServer) -> None:
    server.answers.append(HANG)
    with alerting(alert(server.url)):
        live = start(fresh(folder), AT_ONCE)
    output = live._changes.alerts
    output.start()
    for batch, row in enumerate(ROWS):
        live.process(batch, table([row]))
    assert live.stats.batch == len(ROWS) - 1
    assert not server.arrived
    server.freed.set()
    output.close(BOUND)
    assert len(server.arrived) == output.counts()["alerts"] > 5


def test_a_command_gets_what_a_record_says_as_data(folder: Path, tmp_path: Path) -> None:
    log, trap = tmp_path / "told", tmp_path / "trap"
    text = f"win a phone $(touch {trap}) `touch {trap}`; touch {trap} '\" \n\u202e \ud800 €"
    rows = [Row(n, n, text.replace("\ud800", "") + " abc"[: n + 1]) for n in range(3)]
    spec = replace(with_join(SPEC, k=2), tokens=words("tokens"), lateness=0)
    command = [sys.executable, "-c", f"import sys; open({str(log)!r}, 'a').write(sys.stdin.read() + chr(10))"]
    with alerting(alert(command)):
        live = start(fresh(folder), spec)
    live.process(0, table(rows, spec).append_column("text", table(rows, spec)["tokens"]))
    output = live._changes.alerts
    output.start()
    output.close(BOUND)
    told = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(message["newer"], message["older"]) for message in told] == [(1, 0), (2, 0), (2, 1)][: len(told)]
    assert told[0]["newer_text"] == rows[1].tokens
    assert not trap.exists()


def test_commands_that_fail(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    says = alert([sys.executable, "-c", "import sys; sys.exit('first\\nno such channel')"]).to
    assert says.deliver(b"{}") == Failure(f"the command {sys.executable!r} ended with exit code 1: no such channel")
    obeys = alert([sys.executable, "-c", "import sys; sys.exit('no \\x1b[2J way')"]).to
    assert obeys.deliver(b"{}") == Failure(f"the command {sys.executable!r} ended with exit code 1: no  [2J way")
    monkeypatch.setattr(alert_targets, "TIMEOUT", 1.0)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with open(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK), "rb") as reader:
        with pipe.open("wb"):
            hangs = alert(["/bin/sh", "-c", f"exec 3> {pipe}; sleep 600 & sleep 600"]).to
            assert hangs.deliver(b"{}") == Failure("the command '/bin/sh' did not end within 1 seconds")
        all_ended = select.poll()
        all_ended.register(reader, 0)
        assert all_ended.poll(1000 * BOUND)  # the command has the pipe no more, nor what it has started
    gone = tmp_path / "gone"
    gone.write_text("#!/bin/sh\n")
    gone.chmod(0o755)
    vanishing = alert([str(gone)]).to
    gone.unlink()
    assert vanishing.deliver(b"{}") == Failure(f"the command {str(gone)!r} cannot be started: No such file or directory")
    ignores = alert(["/bin/sh", "-c", "exit 0"]).to
    assert ignores.deliver(b"x" * 1_000_000) is None  # it does not read what it is told
