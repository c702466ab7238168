"""Alerts: those of brute force, in order and at least once, whoever dies, and not too many at a time.

Tests of swoop.live.alert_queue.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from swoop import oracle
from swoop.errors import InvalidArgument, InvalidFile, InvalidType
from swoop.live import alert_delivery, alerts
from swoop.live.alerts import AlertOutput, AlertSettings, alert
from swoop.live.files import Folder
from swoop.spec import FamilySpec
from tests.support.alerts import AT_ONCE, BOUND, ROWS, Recorder, deliver, settings_for, stream
from tests.support.live_cases import KEEP, SPEC, Row, Run, families, runs, scenario, table, with_join
from tests.support.live_judge import arrivals, check, check_records, expected
from tests.support.live_runs import Killed, alerting, alerts_of, fresh, run, run_again, start

pytestmark = pytest.mark.usefixtures("few_agree")


def told_by_definition(case: Run, asked: AlertSettings) -> list[tuple[Any, ...]]:
    """Number, kind, and who, of the changes that are worth an alert."""
    join = case.spec.join
    if not isinstance(join, FamilySpec):
        least = -1e9 if asked.min_similarity is None else asked.min_similarity
        return [(n, c[1], c[2], c[3]) for n, c in enumerate(expected(case)[0]) if c[1] == "enter" and c[4] >= least]
    found, told = [], set()
    changes = oracle.family_changes(arrivals(case, True)[0], join.min_similarity, join.window, join.similarity)
    for number, change in enumerate(changes):  # families are told by their first sets, since ids may repeat
        if change.kind == "merged" and change.arrival in told:
            told.add(change.into_arrival)
        if change.kind in ("merged", "ended"):
            told.discard(change.arrival)
        elif (change.size or 0) >= (asked.min_size or 2) and change.arrival not in told:
            told.add(change.arrival)
            found.append((number, change.kind, change.family, change.size))
    return found


def as_told(messages: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    assert all(message["left_out"] == 0 for message in messages)
    names = ("family", "size") if messages and "family" in messages[0] else ("newer", "older")
    return [(int(m["id"].removeprefix("run/")), m["kind"], *(m[name] for name in names)) for m in messages]


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.one_of(runs(idle=True), runs(idle=True, finds="families")),
    st.randoms(use_true_random=False),
    st.sampled_from([None, 0.0, 0.5, 1.0]),
    st.sampled_from([None, 2, 3, 5]),
    st.sampled_from([(), KEEP]),
)
def test_alerts_are_those_of_brute_force(
    folder: Path, case: Run, rng: random.Random, similarity: float | None, size: int | None, keep: Any
) -> None:
    """Whatever the batches, and whenever the process dies before a batch is committed; with what is kept of the records."""
    to = Recorder()
    case = replace(case, spec=replace(case.spec, keep=keep))
    if similarity is not None and case.spec.join.similarity.name == "hamming":
        similarity = -similarity  # none is above 0
    finds_families = isinstance(case.spec.join, FamilySpec)
    asked = settings_for(to, **({"min_size": size} if finds_families else {"min_similarity": similarity}))
    with alerting(asked):
        live = run_again(fresh(folder), case, lambda batch: rng.random() < 0.6, rng)
    check(folder, case, live)
    deliver(output := alerts_of(folder, case.spec, asked))
    assert as_told(to.told) == told_by_definition(case, asked)
    assert output.counts() == {"alerts": len(to.told), "alerts_failed": 0, "alerts_left_out": 0, "alerts_waiting": 0}
    check_records([with_columns(message) for message in to.told] if keep else [], case.spec)
    assert keep or not any("record" in name for message in to.told for name in message)


def with_columns(message: dict[str, Any]) -> dict[str, Any]:
    """A message whose records are columns, as in other results."""
    records = {side: message.get(f"{side}_record", message.get("record")) for side in ("newer", "older", "representative")}
    columns = {f"{side}_{name}": value for side, record in records.items() for name, value in (record or {}).items()}
    return {**message, **columns}


@pytest.mark.parametrize("cells", [1, 3])
def test_families_with_the_same_id_have_an_alert_each(folder: Path, cells: int) -> None:
    """Also when the process dies in between, and when one of them is over before the other."""
    spec = replace(families(with_join(SPEC, window=10), 0.9), lateness=0, cells=cells)
    rows = [Row(7, 0, (1, 2)), Row(7, 1, (3, 4)), Row(8, 2, (1, 2)), Row(9, 3, (3, 4)), Row(5, 9, (3, 4)), Row(6, 15, (3, 4))]
    case = Run([rows[:3], rows[3:5], rows[5:]], frozenset({2}), spec)
    to = Recorder()
    asked = settings_for(to)
    with alerting(asked):
        run_again(fresh(folder), case, lambda batch: True, random.Random(0))
    deliver(alerts_of(folder, case.spec, asked))
    assert as_told(to.told) == told_by_definition(case, asked) == [(0, "born", 7, 2), (1, "born", 7, 2)]


@pytest.mark.no_cover
@pytest.mark.parametrize(("how", "what"), [("before", "pairs"), ("after", "families")])
def test_killed_at_any_moment(folder: Path, monkeypatch: pytest.MonkeyPatch, what: str, how: str) -> None:
    """Die before or after each change of a file and each delivery: nothing is left out, and the order stays.

    A kill repeats one alert at most. The step at which the process died is done again.
    """
    case = scenario(idle=True)
    if what == "families":
        case = replace(case, spec=families(case.spec, 0.9))
    steps: list[Any] = []
    to = Recorder()
    asked = settings_for(to)
    with alerting(asked), monkeypatch.context() as patch:
        patch.setattr(AlertOutput, "put", lambda self, *step: steps.append(step))
        run(fresh(folder), case)
    wanted = told_by_definition(case, asked)
    left = [0]

    def killing(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            left[0] -= 1
            found = None if how == "before" and left[0] == 0 else real(*arguments)
            if left[0] == 0:
                raise Killed
            return found

        return call

    monkeypatch.setattr(Folder, "write", killing(Folder.write))
    monkeypatch.setattr(Folder, "delete", killing(Folder.delete))
    to.deliver = killing(to.deliver)  # type: ignore[method-assign]
    moment, died = 0, True
    while died:
        moment += 1
        left[0], died = moment, False
        to.told.clear()
        fresh(folder)
        output, done = alerts_of(folder, case.spec, asked), 0
        while done <= len(steps):
            try:
                if done < len(steps):
                    output.put(*steps[done])
                if done % 3 == 0 or done == len(steps):
                    deliver(output)
                done += 1
            except Killed:
                died = True
                output = alerts_of(folder, case.spec, asked)
        told = as_told(to.told)
        assert list(dict.fromkeys(told)) == wanted, f"killed at change {moment}"
        assert len(told) <= len(wanted) + 1
    assert moment > 2 * len(wanted) > 5


def test_a_process_that_is_killed_while_it_delivers(folder: Path, tmp_path: Path) -> None:
    """A real one, by SIGKILL, in the middle of a command; the next goes on where it was."""
    log = tmp_path / "told"
    program = f"""
import sys, time
from pathlib import Path
from swoop.live.alerts import alert
from tests.support.live_cases import scenario
from tests.support.live_runs import alerting, run_again
write = "import os, signal, sys; text = sys.stdin.read(); open({str(log)!r}, 'a').write(text + chr(10)); "
kill = "os.kill(int(sys.argv[1]), signal.SIGKILL) if sum(1 for _ in open({str(log)!r})) == 3 else None"
import os
with alerting(alert([sys.executable, "-c", write + kill, str(os.getpid())], per_minute=6000)):
    live = run_again(Path({str(folder)!r}), scenario(), lambda batch: True)
    output = live._changes.alerts
    output.start()
    output.close({BOUND})
    assert not output.counts()["alerts_waiting"]
"""
    fresh(folder)
    codes = []
    while not codes or codes[-1]:
        codes.append(subprocess.run([sys.executable, "-c", program], timeout=300, check=False).returncode)
        assert codes[-1] in (0, -signal.SIGKILL)
    assert codes == [-signal.SIGKILL, 0]
    told = as_told([json.loads(line) for line in log.read_text().splitlines()])
    wanted = told_by_definition(scenario(), settings_for(None))
    assert list(dict.fromkeys(told)) == wanted
    assert len(told) == len(wanted) + 1


def test_what_is_over_the_limit_is_told_with_the_next(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1000.0]
    monkeypatch.setattr(alert_delivery, "time", _Clock(clock))
    to = Recorder()
    with alerting(settings_for(to, per_minute=3)):
        live = start(fresh(folder), AT_ONCE)
    output = live._changes.alerts
    live.process(0, table(ROWS[:10]))
    first = output.counts()
    assert (first["alerts_waiting"], first["alerts_left_out"] > 3) == (3, True)
    for _ in range(3):
        output._delivery._step()
    assert [message["left_out"] for message in to.told] == [0, 0, 0]  # the others come behind these
    live.process(1, table(ROWS[10:15]))
    second = output.counts()
    assert second["alerts_waiting"] == 0
    assert output.untold == second["alerts_left_out"]
    clock[0] += 61
    output._delivery._step()  # no alert comes that could tell of them
    assert output.untold == 0
    assert to.told[-1] == {"kind": "left out", "left_out": second["alerts_left_out"]}
    assert second["alerts_left_out"] > first["alerts_left_out"]
    live.process(2, table(ROWS[15:]))
    third = output.counts()
    assert third["alerts_waiting"] == 3
    clock[0] += 61
    live.process(3, table([Row(90 + n, 90, (1, 2)) for n in range(2)]))
    for waits in (0, 0, 0, 61):  # three in a minute, and then another one
        clock[0] += waits
        output._delivery._step()
    assert [message["left_out"] for message in to.told[-4:]] == [0, 0, 0, third["alerts_left_out"] - second["alerts_left_out"]]
    again = alerts_of(folder, SPEC, settings_for(to, per_minute=3))  # counts go on in the next run
    assert again.counts() == output.counts()


class _Clock:
    """Time that only moves when it is told to."""

    def __init__(self, now: list[float]) -> None:
        self._now = now

    def monotonic(self) -> float:
        return self._now[0]


def test_alerts_that_wait_are_few(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While nobody takes them, no more than so many are kept, in as many files at most."""
    monkeypatch.setattr(alerts, "WAITING", 5)
    with alerting(settings_for(Recorder())):
        live = start(fresh(folder), AT_ONCE)
    for batch in range(40):
        live.process(batch, table([Row(batch, batch, (1, 2, batch % 3))]))
    output = live._changes.alerts
    counts = output.counts()
    assert counts["alerts_waiting"] == 5
    assert counts["alerts_left_out"] > 20
    assert len(list((folder / "swoop" / "alerts").iterdir())) <= 6


def test_damaged_files_are_named(folder: Path) -> None:
    stream(folder, settings_for(Recorder()))
    (file,) = (folder / "swoop" / "alerts").glob("0*.json")
    file.write_text(file.read_text().replace("similarity", "similarily", 1))
    with pytest.raises(InvalidFile, match=r"alerts/0\d+\.json is damaged: the checksum does not match"):
        alerts_of(folder, SPEC, settings_for(Recorder()))


@pytest.mark.parametrize(
    ("to", "asked", "error", "says"),
    [
        ("htp://host/secret", {}, InvalidArgument, "is no web address"),
        ("http:///secret", {}, InvalidArgument, "is no web address"),
        ("http://host:port/secret", {}, InvalidArgument, "is no web address"),
        ("http://host/a b", {}, InvalidArgument, "is no web address"),
        ("https://me:secret@host/", {}, InvalidArgument, "at host has a name or a password"),
        ([], {}, InvalidArgument, "no words"),
        (["no-such-command-here"], {}, InvalidArgument, "there is no command 'no-such-command-here'"),
        (["HTTPS://hooks.example.com/secret"], {}, InvalidArgument, "is no command; give a web address as one text"),
        (7, {}, InvalidType, "not to 7"),
        (b"ls", {}, InvalidType, "not to b'ls'"),
        (["ls", 7], {}, InvalidType, "a list of words"),
        ("http://host", {"min_similarity": "high"}, InvalidType, "must be a number, not 'high'"),
        ("http://host", {"min_similarity": float("nan")}, InvalidArgument, "not nan"),
        ("http://host", {"min_size": 1}, InvalidArgument, "min_size of an alert must be at least 2, not 1"),
        ("http://host", {"min_size": 2.5}, InvalidType, "must be an integer, not 2.5"),
        ("http://host", {"per_minute": 0}, InvalidArgument, "per_minute of an alert must be from 1 to 6000, not 0"),
    ],
)
def test_refused(to: Any, asked: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says) as raised:
        alert(to, **asked)
    assert "secret" not in str(raised.value)


def test_pairs_have_a_similarity_and_families_a_size(folder: Path) -> None:
    with pytest.raises(InvalidArgument, match="only families have a min_size"):
        alerts_of(folder, SPEC, settings_for(None, min_size=3))
    with pytest.raises(InvalidArgument, match="of an alert, min_similarity must be from 0 to 1 for jaccard, not 1.5"):
        alerts_of(folder, SPEC, settings_for(None, min_similarity=1.5))
    with pytest.raises(InvalidArgument, match="has min_size"):
        alerts_of(folder, families(SPEC, 0.5), settings_for(None, min_similarity=0.9))
