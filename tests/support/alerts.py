"""Streams that have alerts, and somebody who is told."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from swoop.live.alert_targets import Failure
from swoop.live.alerts import AlertOutput, AlertSettings
from tests.support.live_cases import SPEC, Row, table
from tests.support.live_runs import alerting, fresh, start

BOUND = 60.0  # seconds for what takes none


@dataclass
class Recorder:
    """Somebody who is told, and remembers it. What is next, he refuses."""

    told: list[dict[str, Any]] = field(default_factory=list)
    refuses: list[Failure] = field(default_factory=list)

    def deliver(self, message: bytes) -> Failure | None:
        if self.refuses:
            return self.refuses.pop(0)
        self.told.append(json.loads(message))
        return None


def settings_for(to: Any, **asked: Any) -> AlertSettings:
    return AlertSettings(to, **{"per_minute": 6000, **asked})


def deliver(output: AlertOutput) -> None:
    """Deliver what waits, in this thread."""
    output._delivery._until = time.monotonic() + BOUND
    output._delivery._run()
    assert output._delivery._until == 0.0, "it did not end by itself"


AT_ONCE = replace(SPEC, lateness=0)
ROWS = [Row(n, n, (1, 2, n % 2 + 3)) for n in range(20)]


def stream(folder: Path, asked: AlertSettings, rows: list[Row] = ROWS) -> AlertOutput:
    """A stream that has done one batch."""
    with alerting(asked):
        live = start(fresh(folder), AT_ONCE)
    live.process(0, table(rows))
    output: AlertOutput = live._changes.alerts
    return output
