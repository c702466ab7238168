"""The thread that delivers alerts, in order, at a limited pace, and again where they could not be delivered."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import deque

from swoop.live.alert_queue import Alert, AlertQueue
from swoop.live.alert_targets import Command, Failure, WebAddress

TRIES = 10
FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0  # seconds between tries: each wait is twice the one before
MINUTE = 60.0
LEFT_OUT = "left out"  # the kind of a message that only tells how many alerts were left out

log = logging.getLogger("swoop.live")


class Pace:
    """At most so many in any minute, by the clock."""

    def __init__(self, per_minute: int) -> None:
        self._times: deque[float] = deque()
        self._most = per_minute

    def room(self) -> int:
        """How many there may be now."""
        now = time.monotonic()
        while self._times and now - self._times[0] >= MINUTE:
            self._times.popleft()
        return self._most - len(self._times)

    def count(self, number: int) -> None:
        """So many are now."""
        self._times.extend([time.monotonic()] * number)

    def wait(self) -> float:
        """Seconds until there may be one."""
        return 0.0 if self.room() > 0 else max(0.0, self._times[0] + MINUTE - time.monotonic())


class AlertDelivery:
    """Takes alerts from a queue and delivers them.

    Attributes
    ----------
    problem
        Why an alert could not be delivered the last time that one could not; None if that never happened.
    """

    def __init__(self, target: WebAddress | Command, queue: AlertQueue, per_minute: int) -> None:
        self._target, self._queue = target, queue
        self._pace = Pace(per_minute)
        self._until: float | None = None  # when to end, if that is known
        self._last = -MINUTE  # when something was delivered
        self.problem: str | None = None
        self._thread = threading.Thread(target=self._run, name="swoop alerts", daemon=True)

    def start(self) -> None:
        """Begin, with what an earlier run has left."""
        self._thread.start()

    def close(self, patience: float) -> None:
        """Deliver what can be delivered in so many seconds, and end. The rest stays in the queue."""
        with self._queue.news:
            self._until = time.monotonic() + patience
            self._queue.news.notify()
        if self._thread.is_alive():
            self._thread.join(patience + 1.0)
        self._queue.close()

    def _run(self) -> None:
        while not self._is_over():
            try:
                self._step()
            except Exception as error:  # of the file system: what was delivered may be delivered again
                log.error("alerts cannot be read or counted: %s", error)
                self._pause(LONGEST_WAIT)

    def _step(self) -> None:
        """Deliver the next alert, or wait for it."""
        alert, closing = self._queue.first(), self._until is not None
        since = time.monotonic() - self._last
        if alert is not None and not self._pause(self._pace.wait()):
            return
        if alert is not None:
            self._deliver(alert)
        elif self._queue.untold and (closing or since >= MINUTE):  # no alert comes that would tell of them
            self._tell_left_out()
            if closing:
                self._until = 0.0
        elif closing:
            self._until = 0.0
        else:
            with self._queue.news:
                if not self._queue.waiting and self._until is None:
                    self._queue.news.wait(MINUTE - since if self._queue.untold else None)

    def _deliver(self, alert: Alert) -> None:
        wait = FIRST_WAIT
        for attempt in range(1, TRIES + 1):
            untold = self._queue.untold_before(alert)
            again = self._try({**json.loads(alert.message), "left_out": untold}, f"try {attempt} of {TRIES}")
            if again is None:
                self._queue.note_delivered(alert, untold)
                return
            if not again or attempt == TRIES:
                self._queue.note_given_up(alert)
                log.error("an alert is given up: %s", self.problem)
                return
            if not self._pause(wait):
                return  # it is still the first
            wait = min(2 * wait, LONGEST_WAIT)

    def _tell_left_out(self) -> None:
        untold = self._queue.untold
        self._last = time.monotonic()  # also if it fails: then the next minute will do
        if self._try({"kind": LEFT_OUT, "left_out": untold}, "a message about those left out") is None:
            self._queue.note_told(untold)

    def _try(self, message: dict[str, object], which: str) -> bool | None:
        """Deliver a message. None if it has arrived, else whether it is of any use to try again."""
        try:
            failure = self._target.deliver(json.dumps(message).encode())
        except Exception as error:  # an address that cannot be looked up, an answer that is none
            failure = Failure(f"{self._target!r} cannot be used: {error}")
        if failure is None:
            self._pace.count(1)
            self._last = time.monotonic()
            return None
        self.problem = failure.why
        log.warning("an alert could not be delivered (%s): %s", which, failure.why)
        return failure.again

    def _pause(self, seconds: float) -> bool:
        """Wait. Whether there is time to go on."""
        end = time.monotonic() + seconds
        with self._queue.news:
            while (left := end - time.monotonic()) > 0 and not self._is_over():
                self._queue.news.wait(left if self._until is None else min(left, self._until - time.monotonic()))
        return not self._is_over()

    def _is_over(self) -> bool:
        return self._until is not None and time.monotonic() >= self._until
