"""How often something is read that takes its time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SHARE = 0.05  # of the time that reading may take
OFTEN = 0.25  # seconds; what would be due within these is due at once


class Pace:
    """Says when something is due again, so that reading it takes no more than a share of the time.

    What counts is the work, not the waiting for an engine that is busy, and of the last two times the shorter one: the first
    may have compiled something.

    >>> now, pace = [0.0], Pace(lambda: now[0], work=lambda: now[0])
    >>> for took in (30, 1):
    ...     with pace.measured():
    ...         now[0] += took
    ...     print(pace.is_due())
    True
    False
    >>> now[0] += 19
    >>> pace.is_due()
    True
    """

    def __init__(self, clock: Callable[[], float], work: Callable[[], float] = time.thread_time) -> None:
        self._clock, self._work = clock, work
        self._due = -math.inf
        self._before = 0.0

    def is_due(self) -> bool:
        """Whether it may be read again."""
        return self._clock() >= self._due

    @contextmanager
    def measured(self) -> Iterator[None]:
        """While it is read."""
        began, worked = self._clock(), self._work()
        yield
        took = self._work() - worked
        pause = min(took, self._before) / SHARE
        self._due = began + pause if pause > OFTEN else began
        self._before = took
