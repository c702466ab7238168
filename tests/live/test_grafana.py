"""The dashboard for Grafana shows what is served: every metric that it asks for is there, and none is forgotten.

The page for operators, with its alarms, asks for nothing else either.
"""

from __future__ import annotations

import json
import re
import urllib.request
from pathlib import Path

from swoop.live.metrics import Metrics
from tests.support.live_cases import SPEC, Row, families, table
from tests.support.live_runs import start

NAME = re.compile(r"\bswoop_\w+")
OPERATING = Path(__file__).parents[2] / "docs" / "operating.md"
DASHBOARD = Path(__file__).parents[2] / "docs" / "grafana.json"


def served(folder: Path) -> set[str]:
    """The names of the metrics of a stream of pairs and of one of families, at their endpoints."""
    names: set[str] = set()
    for number, spec in enumerate((SPEC, families(SPEC, 0.5))):
        live = start(folder / str(number), spec)
        live.process(0, table([Row(n, n, (1, 2)) for n in range(9)], spec))
        server = Metrics(lambda live=live: live.stats, lambda: True).serve(0)  # type: ignore[misc]
        try:
            text = urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/metrics", timeout=30).read().decode()
        finally:
            server.shutdown()
            server.server_close()
        names |= {line.split(" ")[0] for line in text.splitlines() if line and not line.startswith("#")}
    return names


def test_the_dashboard_shows_what_is_served(tmp_path: Path) -> None:
    dashboard = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    asked += [variable["definition"] for variable in dashboard["templating"]["list"] if "definition" in variable]
    names = {name for expression in asked for name in NAME.findall(expression)}
    assert names == served(tmp_path)
    assert len(names) > 14
    page = OPERATING.read_text(encoding="utf-8")
    alarms = re.findall(r"^ +expr: (.*)$", page, re.MULTILINE)
    assert len(alarms) == page.count("- alert: ") >= 3
    for text in (*alarms, page):
        assert set(NAME.findall(text)) <= names
    assert all(map(NAME.search, alarms[1:]))


def test_the_alarm_for_a_stream_that_is_down_can_fire() -> None:
    """A stream that has ended serves nothing, as tests/spark/test_stream.py shows, so only Prometheus itself can tell."""
    page = OPERATING.read_text(encoding="utf-8")
    (alarm,) = re.findall(r"alert: SwoopIsDown\n +expr: (.*)$", page, re.MULTILINE)
    (job,) = re.findall(r"job_name: (\w+)$", page, re.MULTILINE)
    assert alarm == f'up{{job="{job}"}} == 0 or absent(up{{job="{job}"}})'
    panels = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    (running,) = (panel for panel in panels if panel["title"] == "Running")
    assert [target["expr"] for target in running["targets"]] == ['up{instance=~"$instance"}']


def test_the_dashboard_is_one_that_grafana_reads() -> None:
    """Panels have ids of their own, lie side by side, and ask the chosen source for the chosen stream."""
    dashboard = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    panels = dashboard["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    covered: set[tuple[int, int]] = set()
    for panel in panels:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & covered
        assert max(x for x, _ in cells) < 24
        covered |= cells
        assert panel["datasource"]["uid"] == "${datasource}"
        assert panel["title"]
        assert panel["description"]
        for target in panel["targets"]:
            assert 'instance=~"$instance"' in target["expr"]
    assert {variable["name"] for variable in dashboard["templating"]["list"]} == {"datasource", "instance"}
