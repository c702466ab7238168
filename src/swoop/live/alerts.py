"""Alerts: when something enters that is similar or large enough, somebody is told.

What is told is decided when the changes of a step come, and kept in a queue beside the checkpoint. A thread delivers it, so
that no step waits for anybody.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow.compute as pc

from swoop.errors import InvalidArgument, InvalidType
from swoop.live.alert_delivery import AlertDelivery, Pace
from swoop.live.alert_queue import Alert, AlertQueue
from swoop.live.alert_targets import Command, WebAddress, find_target
from swoop.live.checkpoint import State
from swoop.live.files import Folder
from swoop.messages import in_json, message, to_json
from swoop.results import Changes, FamilyChanges
from swoop.similarity import check_min_similarity
from swoop.spec import FamilySpec, JoinSpec

PER_MINUTE, MOST_PER_MINUTE = 60, 6000
WAITING = 10_000  # alerts that wait; more are left out

Texts = Callable[[Any], tuple[str | None, str | None]]


@dataclass(frozen=True)
class AlertSettings:
    """Who is told of what. ``below`` is a similarity that pairs must not have, such as that of equal sets."""

    to: WebAddress | Command
    min_similarity: float | None = None
    min_size: int | None = None
    per_minute: int = PER_MINUTE
    below: float | None = field(default=None, repr=False)


def alert(
    to: str | Sequence[str],
    *,
    min_similarity: float | None = None,
    min_size: int | None = None,
    per_minute: int = PER_MINUTE,
) -> AlertSettings:
    """An output of a live stream that tells somebody when a pair enters, or when a family becomes large enough.

    Each alert is the change in JSON, as ``swoop stream --json`` prints it, with an ``id`` that stays the same if it is
    delivered again, and ``left_out``: how many alerts were not delivered since the one before. Alerts are delivered in order,
    each at least once, also after a crash. What cannot be delivered is tried again, ten times over some minutes, and then
    given up and counted; nothing of this stops the stream.

    Parameters
    ----------
    to
        A web address, to which each alert is posted; or a command as a list of words, which is run for each alert and reads it
        from its standard input.
    min_similarity
        Of pairs: only those at least this similar; by default all that enter.
    min_size
        Of families: once one has so many sets in the window; by default two. There is one alert for a family until it ends.
    per_minute
        How many alerts there are in a minute at most. Those beyond are left out, and counted.

    Examples
    --------
    >>> alert("https://hooks.example.com/T0/secret", min_similarity=0.9)
    AlertSettings(to=https://hooks.example.com, min_similarity=0.9, min_size=None, per_minute=60)
    """
    if min_similarity is not None and (isinstance(min_similarity, bool) or not isinstance(min_similarity, int | float)):
        raise InvalidType(f"min_similarity of an alert must be a number, not {min_similarity!r:.60}")
    if min_similarity is not None and math.isnan(min_similarity):
        raise InvalidArgument("min_similarity of an alert must be a number, not nan")
    for name, value, least, most in (("min_size", min_size, 2, None), ("per_minute", per_minute, 1, MOST_PER_MINUTE)):
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int):
            raise InvalidType(f"{name} of an alert must be an integer, not {value!r:.60}")
        if value < least or (most is not None and value > most):
            raise InvalidArgument(
                f"{name} of an alert must be {f'from {least} to {most}' if most else f'at least {least}'}, not {value}"
            )
    return AlertSettings(find_target(to), min_similarity, min_size, per_minute)


class AlertOutput:
    """Alerts of a stream, with the thread that delivers them.

    Attributes
    ----------
    texts
        Gives the texts that go with a change, while its step is the last.
    """

    def __init__(
        self,
        settings: AlertSettings,
        folder: Folder,
        run: str,
        join: JoinSpec | FamilySpec,
        guard: Callable[[], None] = lambda: None,
    ) -> None:
        if isinstance(join, FamilySpec) and settings.min_similarity is not None:
            raise InvalidArgument("an alert of families has min_size; their similarity is that of the stream")
        if isinstance(join, JoinSpec) and settings.min_size is not None:
            raise InvalidArgument("an alert of pairs has min_similarity; only families have a min_size")
        try:
            check_min_similarity(join.similarity, settings.min_similarity)
        except InvalidArgument as error:
            raise InvalidArgument(f"of an alert, {error}") from None
        self._settings, self._run = settings, run
        self._queue = AlertQueue(folder, guard)
        self._delivery = AlertDelivery(settings.to, self._queue, settings.per_minute)
        self._pace = Pace(settings.per_minute)
        self.texts: Texts = lambda change: (None, None)

    def put(self, state: State, results: Any, first: int, since: float | None) -> None:
        """Take the changes of a step, unless that was done before a crash."""
        until = first + len(results)
        if not len(results) or until <= self._queue.taken.until:
            return
        known = dict.fromkeys(self._queue.taken.known)
        found = self._large(results, known) if isinstance(results, FamilyChanges) else self._similar(results)
        room = max(0, min(self._pace.room(), WAITING - self._queue.waiting))
        self._pace.count(len(found[:room]))
        alerts = [Alert(first + place, self._message(first + place, results[place])) for place in found[:room]]
        self._queue.add(until, alerts, len(found) - len(alerts), list(known))

    def _message(self, number: int, change: Any) -> str:
        told = message(change, self.texts(change))
        return to_json({"id": f"{self._run}/{number}", **told}, ascii=True)

    def _similar(self, changes: Changes) -> list[int]:
        """Which changes are pairs that enter and are similar enough."""
        table = changes.to_arrow()
        enter = pc.equal(table["kind"], "enter")
        if self._settings.min_similarity is not None:
            enter = pc.and_(enter, pc.greater_equal(table["similarity"], self._settings.min_similarity))
        if self._settings.below is not None:
            enter = pc.and_(enter, pc.less(table["similarity"], self._settings.below))
        return np.flatnonzero(enter.to_numpy()).tolist()

    def _large(self, changes: FamilyChanges, known: dict[str, None]) -> list[int]:
        """At which changes a family has become large enough for the first time. ``known`` are those of which that is known."""
        found = []
        least = self._settings.min_size or 2
        for place, change in enumerate(changes):
            name = json.dumps(change.key, default=in_json)
            if (former := json.dumps(change.family, default=in_json)) in known:  # so an earlier release called it
                del known[former]
                known[name] = None
            if change.kind in ("ended", "merged") and name in known:
                del known[name]
                if change.kind == "merged":  # what it has become is known by it
                    known[json.dumps(change.into_key, default=in_json)] = None
            elif change.kind in ("born", "grew") and name not in known and (change.size or 0) >= least:
                known[name] = None
                found.append(place)
        return found

    def start(self) -> None:
        """Begin to deliver."""
        self._delivery.start()

    def close(self, patience: float) -> None:
        """Deliver what can be delivered in so many seconds, and end."""
        self._delivery.close(patience)

    def counts(self) -> dict[str, int]:
        """Metrics by the names that :class:`swoop.live.resumable.LiveStats` has for them."""
        position = self._queue.position
        return {
            "alerts": position.sent,
            "alerts_failed": position.failed,
            "alerts_left_out": self._queue.taken.left_out,
            "alerts_waiting": self._queue.waiting,
        }

    @property
    def untold(self) -> int:
        """How many alerts were left out or given up, and no message has told of them."""
        return self._queue.untold

    @property
    def problem(self) -> str | None:
        """Why an alert could not be delivered the last time that one could not; None if all could."""
        return self._delivery.problem
