"""One driver at a time: who runs a stream holds the lease of its checkpoint."""

from __future__ import annotations

import json
import logging
import os
import socket
import threading
import time
import uuid
from pathlib import Path
from typing import Any

from swoop.errors import InvalidArgument, InvalidFile
from swoop.live.files import Folder

NAME = "owner.json"
BEAT = 5.0  # seconds between two heartbeats
PATIENCE = 3 * BEAT  # after so many seconds without one, a driver on another machine is taken for dead
FRESH = 0.2 * BEAT  # for so many seconds a look at the lease counts; nobody can take it over so quickly

log = logging.getLogger("swoop.spark")

_mine: set[str] = set()  # leases that this process holds


class Lease:
    """The right to run the stream of a checkpoint. A driver that died loses it; one that lives on keeps it.

    Attributes
    ----------
    lost
        The heartbeat has found that another driver holds the lease, or nobody.
    """

    def __init__(self, folder: Folder) -> None:
        self._folder, self._over = folder, threading.Event()
        self.lost, self._checked = False, 0.0
        self._lease = uuid.uuid4().hex
        self._owner = {"lease": self._lease, "machine": _machine(), "pid": os.getpid(), "started": _started(os.getpid())}
        before = self._read()
        if before is not None and self._lives(before):
            raise InvalidArgument(
                f"the checkpoint {folder.path!r} is in use by {_who(before)}; stop that stream first, or use another checkpoint"
            )
        _mine.add(self._lease)  # before others of this process can see it
        if before is None:
            if not folder.create(NAME, self._heartbeat()):
                _mine.discard(self._lease)
                raise InvalidArgument(
                    f"the checkpoint {folder.path!r} is being taken by another driver; use another checkpoint"
                )
        else:
            log.warning("taking over the checkpoint %s from a dead owner, %s", folder.path, _who(before))
            self._beat()
        self._keeper = threading.Thread(target=self._keep, name="swoop lease", daemon=True)
        self._keeper.start()

    def check(self) -> None:
        """Refuse to go on if another driver has taken the checkpoint over. What was looked at just now is not read again."""
        if not self.lost and time.monotonic() - self._checked < FRESH:
            return
        now = time.monotonic()
        found = self._holder()
        if self.lost or found is None or found.get("lease") != self._lease:
            raise InvalidFile(
                f"the checkpoint {self._folder.path!r} is no longer held by this process, but by {_who(found)}: nothing more "
                "is written or deleted. If no other driver is meant to use it, start the stream again"
            )
        self._checked = now

    def release(self) -> None:
        self._over.set()
        self._keeper.join()  # a heartbeat that is being written would come after the end
        _mine.discard(self._lease)
        found = self._read()
        if found is not None and found.get("lease") == self._lease:
            self._folder.delete(NAME)

    def _read(self) -> dict[str, Any] | None:
        """Who holds the lease: None if nobody does, nothing known if the file says nothing."""
        if NAME not in self._folder.names():
            return None
        try:
            found = json.loads(self._folder.read(NAME).to_pybytes())
            return found if isinstance(found, dict) else {}
        except (OSError, ValueError):
            return {}

    def _holder(self) -> dict[str, Any] | None:
        """Who holds the lease, once it is certain that the file is not just being replaced."""
        for pause in (0.02, 0.1, 0.5):
            found = self._read()
            if found:
                return found
            time.sleep(pause)
        return self._read()

    def _heartbeat(self) -> bytes:
        return json.dumps({**self._owner, "beat": time.time()}).encode()

    def _beat(self) -> None:
        self._folder.write(NAME, self._heartbeat())

    def _keep(self) -> None:
        """Write heartbeats, as long as nobody has taken over."""
        while not self._over.wait(BEAT):
            try:
                found = self._holder()
                if found is None or (found and found.get("lease") != self._lease):
                    self.lost = True
                    log.error(
                        "the checkpoint %s was taken away from this stream; it is held by %s now, and this stream ends",
                        self._folder.path,
                        _who(found),
                    )
                    return
                self._beat()
            except Exception as error:  # a full disk, say; the next beat may do better
                log.warning("the heartbeat failed: nothing could be written to %s: %s", self._folder.path, error)

    def _lives(self, found: dict[str, Any]) -> bool:
        if found.get("machine") == _machine():
            if found.get("pid") == os.getpid():
                return found.get("lease") in _mine
            return found.get("started") is not None and _started(found["pid"]) == found["started"]
        log.warning("waiting %.0f s to see whether %s still uses the checkpoint %s", PATIENCE, _who(found), self._folder.path)
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            time.sleep(BEAT / 5)
            now = self._read()
            if not now:
                return False
            if now != found:
                return True
        return False


def _who(found: dict[str, Any] | None) -> str:
    if not found:
        return "nobody" if found is None else "somebody unknown"
    return f"process {found.get('pid')} on {str(found.get('machine', '?')).split('/')[0]}"


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
