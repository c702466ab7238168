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
from swoop.spark.files import Folder

NAME = "owner.json"
BEAT = 5.0  # seconds between two signs of life
PATIENCE = 3 * BEAT  # after so many seconds without one, a driver on another machine is taken for dead

log = logging.getLogger("swoop.spark")

_mine: set[str] = set()  # leases that this process holds


class Lease:
    """The right to run the stream of a checkpoint. A driver that died loses it; one that lives on keeps it."""

    def __init__(self, folder: Folder) -> None:
        self._folder, self._over = folder, threading.Event()
        self._lease = uuid.uuid4().hex
        self._owner = {"lease": self._lease, "machine": _machine(), "pid": os.getpid(), "started": _started(os.getpid())}
        before = self._read()
        if before is not None and self._lives(before):
            raise InvalidArgument(
                f"the checkpoint {folder.path!r} is in use by {_who(before)}; stop that stream first, or use another checkpoint"
            )
        if before is not None:
            log.warning("takes over the checkpoint %s from %s, which is gone", folder.path, _who(before))
        self._beat()
        _mine.add(self._lease)
        self._keeper = threading.Thread(target=self._keep, name="swoop lease", daemon=True)
        self._keeper.start()

    def check(self) -> None:
        """Refuse to go on if another driver has taken the checkpoint over."""
        found = self._read()
        if found is None or found.get("lease") != self._lease:
            who = "nobody" if found is None else _who(found)
            raise InvalidFile(
                f"the checkpoint {self._folder.path!r} is no longer held by this process, but by {who}: nothing more is written"
            )

    def release(self) -> None:
        self._over.set()
        self._keeper.join()  # a sign of life that is being written would come after the end
        _mine.discard(self._lease)
        found = self._read()
        if found is not None and found.get("lease") == self._lease:
            self._folder.delete(NAME)

    def _read(self) -> dict[str, Any] | None:
        if NAME not in self._folder.names():
            return None
        try:
            found: dict[str, Any] = json.loads(self._folder.read(NAME).to_pybytes())
            return found
        except (OSError, ValueError):  # it is being replaced
            return None

    def _beat(self) -> None:
        self._folder.write(NAME, json.dumps({**self._owner, "beat": time.time()}).encode())

    def _keep(self) -> None:
        """Give signs of life, as long as nobody has taken over."""
        while not self._over.wait(BEAT):
            found = self._read()
            if found is None or found.get("lease") != self._lease:
                return
            try:
                self._beat()
            except OSError as error:  # a full disk, say; the next beat may do better
                log.warning("no sign of life could be written to %s: %s", self._folder.path, error)

    def _lives(self, found: dict[str, Any]) -> bool:
        if found.get("machine") == _machine():
            if found.get("pid") == os.getpid():
                return found.get("lease") in _mine
            return found.get("started") is not None and _started(found["pid"]) == found["started"]
        log.warning("looks for %.0f s whether %s still uses the checkpoint %s", PATIENCE, _who(found), self._folder.path)
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            time.sleep(BEAT / 5)
            now = self._read()
            if now is None:
                return False
            if now != found:
                return True
        return False


def _who(found: dict[str, Any]) -> str:
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
