"""One driver at a time: who runs a stream holds the lease of its checkpoint.

The lease is a sequence of numbered claims, files that are created once and never changed. The highest one holds. A heartbeat is
the next claim, and so is a takeover: of two drivers that want the same number one gets it, and the other learns that it has
lost, whatever their clocks say and however long they were suspended. There is a claim at any moment, and numbers never come
again: a driver that gives the lease back leaves a last claim which says so. What a driver writes can therefore bear the number
of its first claim, and be told from what a former driver writes too late.
"""

from __future__ import annotations

import json
import logging
import os
import re
import socket
import threading
import time
import uuid
from pathlib import Path
from typing import Any, NamedTuple

from swoop.errors import InvalidArgument, InvalidFile
from swoop.live.files import Folder

EARLIER = "owner.json"  # the only file of a lease of earlier releases
BEAT = 5.0  # seconds between two heartbeats
PATIENCE = 3 * BEAT  # after so many seconds without one, a driver on another machine is taken for dead
FRESH = 0.2 * BEAT  # for so many seconds a look at the lease counts; nobody can take it over so quickly

_CLAIM = re.compile(r"owner-(\d{12})\.json")

log = logging.getLogger("swoop.live")

_mine: set[str] = set()  # leases that this process holds


class Claim(NamedTuple):
    """Who holds the lease, by its number: nothing is known if the file says nothing."""

    number: int
    owner: dict[str, Any]


class Lease:
    """The right to run the stream of a checkpoint. A driver that died loses it; one that lives on keeps it.

    Parameters
    ----------
    folder
        Where its claims are.
    above
        A number that files of earlier drivers bear, if there are any: claims may have been deleted, and clocks be wrong.

    Attributes
    ----------
    number
        That of the first claim: higher than those of all drivers before.
    lost
        The heartbeat has found that another driver holds the lease, or nobody.
    """

    def __init__(self, folder: Folder, above: int = 0) -> None:
        self._folder, self._over = folder, threading.Event()
        self.lost, self._checked = False, 0.0
        self._lease = uuid.uuid4().hex
        self._owner = {"lease": self._lease, "machine": _machine(), "pid": os.getpid(), "started": _started(os.getpid())}
        # seconds since 1970 are higher than all numbers before, even if somebody has deleted their claims
        self.number = self._last = max(self._vacant() + 1, above + 1, int(time.time()))
        _mine.add(self._lease)  # before others of this process can see it
        try:
            if not self._claim(self.number, self._owner):
                raise InvalidArgument(
                    f"the checkpoint {folder.path!r} is being taken by another driver; use another checkpoint"
                )
            self._clean()
        except BaseException:  # whatever it has claimed, it does not live
            _mine.discard(self._lease)
            raise
        self._keeper = threading.Thread(target=self._keep, name="swoop lease", daemon=True)
        self._keeper.start()

    def check(self) -> None:
        """Refuse to go on if another driver has taken the checkpoint over. What was looked at just now is not read again."""
        if not self.lost and time.monotonic() - self._checked < FRESH:
            return
        now = time.monotonic()
        found = self._latest()
        if self.lost or not self._holds(found):
            raise InvalidFile(
                f"the checkpoint {self._folder.path!r} is no longer held by this process, but by {_who(found)}: nothing more "
                "is written or deleted. If no other driver is meant to use it, start the stream again"
            )
        self._checked = now

    def release(self, forget: bool = False) -> None:
        """Give the lease back. The last claim says so, or is deleted if nothing was written under this lease."""
        self._over.set()
        self._keeper.join()  # a heartbeat that is being written would come after the end
        _mine.discard(self._lease)
        found = self._latest()
        if forget and found is not None and self._holds(found):
            self._folder.delete(_name(found.number))
        elif found is not None and self._holds(found) and self._claim(found.number + 1, {**self._owner, "released": True}):
            self._last = found.number + 1
            self._clean()

    def _holds(self, found: Claim | None) -> bool:
        return found is not None and found.owner.get("lease") == self._lease and not found.owner.get("released")

    def _latest(self) -> Claim | None:
        """The claim that holds; None if there is none."""
        for _ in range(100):
            names = self._folder.names()
            number = max((int(match[1]) for name in names if (match := _CLAIM.fullmatch(name))), default=0)
            if not number and EARLIER not in names:
                return None
            try:
                found = json.loads(self._folder.read(_name(number)).to_pybytes())
                return Claim(number, found if isinstance(found, dict) else {})
            except FileNotFoundError:  # there is a higher one by now
                continue
            except ValueError:
                return Claim(number, {})
        raise OSError(f"the claims of {self._folder.path!r} vanish as soon as they are listed")

    def _claim(self, number: int, owner: dict[str, Any]) -> bool:
        """Take a number: whether it is ours, and the highest.

        A store may say that a file is there which it has just written for us, after an answer was lost. And a number below the
        highest may be free again, because its claim was deleted.
        """
        written = self._folder.create(_name(number), json.dumps({**owner, "beat": time.time()}).encode())
        latest = self._latest()
        if latest is not None and latest.number == number and latest.owner.get("lease") == self._lease:
            return True
        if written:
            self._folder.delete(_name(number))
        return False

    def _clean(self) -> None:
        """Delete the claims before the last one."""
        for name in self._folder.names():
            match = _CLAIM.fullmatch(name)
            if name == EARLIER or (match and int(match[1]) < self._last):
                self._folder.delete(name)

    def _keep(self) -> None:
        """Make claims, as long as nobody has taken over."""
        while not self._over.wait(BEAT):
            try:
                found = self._latest()
                if self._holds(found) and found is not None and self._claim(found.number + 1, self._owner):
                    self._last = found.number + 1
                    self._clean()
                    continue
                log.error(
                    "the checkpoint %s was taken away from this stream; it is held by %s now, and this stream ends",
                    self._folder.path,
                    _who(self._latest()),
                )
                self.lost = True
                return
            except Exception as error:  # a full disk, say; the next beat may do better
                log.warning("the heartbeat failed: nothing could be written to %s: %s", self._folder.path, error)

    def _vacant(self) -> int:
        """The number of the last claim, if it is none of a driver that lives."""
        found = self._latest()
        if found is not None and self._may_live(found):
            log.warning(
                "waiting %.0f s to see whether %s still uses the checkpoint %s", PATIENCE, _who(found), self._folder.path
            )
            until, before = time.monotonic() + PATIENCE, found
            while time.monotonic() < until and found == before:
                time.sleep(BEAT / 5)
                found = self._latest()
            if found is not None and found != before and not found.owner.get("released"):
                raise self._in_use(found)
        if found is None:
            return 0
        if not found.owner.get("released"):
            log.warning("taking over the checkpoint %s from a dead owner, %s", self._folder.path, _who(found))
        return found.number

    def _may_live(self, found: Claim) -> bool:
        """Whether one must wait to see if a driver lives; raises if it does. Of those on this machine it is known at once."""
        owner = found.owner
        if owner.get("released"):
            return False
        if owner.get("machine") != _machine():
            return True
        is_here = owner.get("pid") == os.getpid()
        started = owner.get("started")
        if owner.get("lease") in _mine if is_here else started is not None and _started(owner["pid"]) == started:
            raise self._in_use(found)
        return False

    def _in_use(self, found: Claim) -> InvalidArgument:
        return InvalidArgument(
            f"the checkpoint {self._folder.path!r} is in use by {_who(found)}; stop that stream first, or use another "
            "checkpoint"
        )


def _name(number: int) -> str:
    return f"owner-{number:012}.json" if number else EARLIER


def _who(found: Claim | None) -> str:
    if found is None or not found.owner:
        return "nobody" if found is None else "somebody unknown"
    return f"process {found.owner.get('pid')} on {str(found.owner.get('machine', '?')).split('/')[0]}"


def _machine() -> str:
    """The machine since it was started, and the container if processes are numbered per container."""
    parts = [socket.gethostname()]
    for path in ("/proc/sys/kernel/random/boot_id", "/proc/self/ns/pid"):
        try:
            parts.append(os.readlink(path) if os.path.islink(path) else Path(path).read_text().strip())
        except OSError:
            continue
    return "/".join(parts)


def _started(pid: int) -> str | None:
    """When a process was started, in whatever unit; None if there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19]
    except OSError:
        pass
    if Path("/proc").is_dir():
        return None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        return "unknown"
    return "unknown"
