"""Alerts that wait to be delivered, in files beside the checkpoint, so that they survive the process.

A step that has alerts writes one file: the alerts, and what is known after it. It appears whole or not at all, so a step that
is done again after a crash finds what was decided, and decides nothing twice. A file is deleted when all its alerts are
delivered; the newest stays, for what is known. How far delivery has come is in a file of its own, written after each alert:
whoever dies just before that delivers one alert twice.
"""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from swoop.errors import InvalidFile
from swoop.live.chunks import seal, unseal
from swoop.live.files import Folder

POSITION = "position.json"
_FILE = re.compile(r"(\d{15})\.json")


@dataclass(frozen=True)
class Alert:
    """An alert, in JSON, with the number of the change that it tells of, and how many alerts were left out in steps before."""

    number: int
    message: str
    left_out: int = 0


@dataclass(frozen=True)
class Taken:
    """What a step adds, and what is known after it.

    Attributes
    ----------
    until
        Changes before this number were looked at.
    left_out
        How many alerts were over the limit, since the beginning of the stream.
    known
        The families that were told of and have not ended, in JSON.
    alerts
        Those of the step.
    """

    until: int = 0
    left_out: int = 0
    known: tuple[str, ...] = ()
    alerts: tuple[Alert, ...] = ()


@dataclass(frozen=True)
class Position:
    """How far delivery has come.

    Attributes
    ----------
    done
        The number of the last change whose alert was delivered or given up.
    sent, failed
        How many were, since the beginning of the stream.
    told
        How many of those that failed, or were left out, a later alert has told of.
    """

    done: int = -1
    sent: int = 0
    failed: int = 0
    told: int = 0


Kind = TypeVar("Kind", Taken, Position)


class AlertQueue:
    """Alerts in the order of their changes. One thread adds to it, another delivers.

    Attributes
    ----------
    taken
        What is known, without alerts.
    news
        Notified when there are more alerts.
    """

    def __init__(self, folder: Folder, guard: Callable[[], None] = lambda: None) -> None:
        self._folder, self._guard = folder, guard
        self.news = threading.Condition()
        self.taken, self.position = Taken(), Position()
        self._files: dict[int, int] = {}  # in order: until where each reaches, and how many of its alerts wait
        self._first: deque[Alert] = deque()  # those that wait in the first file, if it was read
        self._closed = False
        self._load()

    def _load(self) -> None:
        names = self._folder.names()
        if POSITION in names:
            self.position = self._read(POSITION, Position)
        for name in names:
            if match := _FILE.fullmatch(name):
                taken = self._read(name, Taken)
                self._files[int(match[1])] = len(self._waiting(taken))
                self.taken = replace(taken, alerts=())

    def _read(self, name: str, kind: type[Kind]) -> Kind:
        try:
            return unseal(self._folder.read(name).to_pybytes(), kind)
        except (ValueError, KeyError, TypeError) as error:
            raise InvalidFile(
                f"{self._folder.path}/{name} is damaged: {error}. Restore it from a copy; or delete the folder "
                f"{self._folder.path!r}, and with it the alerts that wait there"
            ) from error

    def _waiting(self, taken: Taken) -> list[Alert]:
        return [alert for alert in taken.alerts if alert.number > self.position.done]

    @property
    def waiting(self) -> int:
        """How many alerts are to be delivered."""
        with self.news:
            return sum(self._files.values())

    @property
    def untold(self) -> int:
        """How many alerts were left out or given up, and no alert has told of them."""
        return self._untold(self.taken.left_out)

    def untold_before(self, alert: Alert) -> int:
        """The same of those before an alert, the first that waits."""
        return self._untold(alert.left_out)

    def _untold(self, left_out: int) -> int:
        return max(0, left_out + self.position.failed - self.position.told)

    def add(self, until: int, alerts: Sequence[Alert], left_out: int, known: Sequence[str]) -> None:
        """Take the alerts of a step: changes before ``until`` were looked at, and so many more alerts are left out."""
        alerts = [replace(alert, left_out=self.taken.left_out) for alert in alerts]
        taken = Taken(until, self.taken.left_out + left_out, tuple(known), tuple(alerts))
        if not alerts and not left_out and taken.known == self.taken.known:
            return
        self._folder.write(f"{until:015}.json", seal(taken).encode())
        with self.news:
            self.taken = replace(taken, alerts=())
            self._files[until] = len(alerts)
            self._clean()
            self.news.notify()

    def first(self) -> Alert | None:
        """The next alert to be delivered, if one waits."""
        with self.news:
            if not self._first and (until := self._first_file()) is not None:
                self._first.extend(self._waiting(self._read(f"{until:015}.json", Taken)))
            return self._first[0] if self._first else None

    def _first_file(self) -> int | None:
        """The first file that has alerts that wait."""
        return next((until for until, count in self._files.items() if count), None)

    def note_delivered(self, alert: Alert, told: int) -> None:
        """Note that the first alert was delivered, and has told of so many that were not."""
        position = self.position
        self._advance(replace(position, done=alert.number, sent=position.sent + 1, told=position.told + told))

    def note_given_up(self, alert: Alert) -> None:
        """Note that the first alert could not be delivered."""
        self._advance(replace(self.position, done=alert.number, failed=self.position.failed + 1))

    def note_told(self, count: int) -> None:
        """Note that so many that were not delivered have been told of, in a message of its own."""
        with self.news:
            self._save(replace(self.position, told=self.position.told + count))

    def close(self) -> None:
        """Somebody else may go on from the files: change nothing any more."""
        with self.news:
            self._closed = True

    def _advance(self, position: Position) -> None:
        with self.news:
            until = self._first_file()
            assert until is not None
            self._first.popleft()
            self._files[until] = len(self._first)
            self._save(position)
            self._clean()

    def _save(self, position: Position) -> None:
        if self._closed:
            return
        self.position = position
        self._guard()
        self._folder.write(POSITION, seal(position).encode())

    def _clean(self) -> None:
        """Delete the files whose alerts were delivered, but for the newest."""
        for until in list(self._files)[:-1]:
            if not self._files[until] and not self._closed:
                self._folder.delete(f"{until:015}.json")
                del self._files[until]
