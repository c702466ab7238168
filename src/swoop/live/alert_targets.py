"""Where alerts go: a web address, to which JSON is posted, or a command, which reads it from its standard input."""

from __future__ import annotations

import http.client
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import urllib.error
import urllib.request
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from swoop.errors import InvalidArgument, InvalidType

TIMEOUT = 15.0  # seconds for one try
SAID = 200  # characters of what a command says
AGAIN = frozenset({408, 425, 429})  # answers below 500 that may be others the next time


@dataclass(frozen=True)
class Failure:
    """Why an alert could not be delivered, and whether it is of any use to try again."""

    why: str
    again: bool = True


@dataclass(frozen=True, repr=False)
class WebAddress:
    """A web address. Only its host is ever shown: the rest may be a secret."""

    url: str

    def __repr__(self) -> str:
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}"

    def deliver(self, message: bytes) -> Failure | None:
        """Post a message. Every answer from 200 to 299 means that it has arrived, if it comes in time.

        A timeout of a socket begins anew with every byte, and names are looked up without one, so a thread is waited for.
        """
        found: list[Failure | Exception | None] = []

        def work() -> None:
            try:
                found.append(self._post(message))
            except Exception as error:
                found.append(error)

        thread = threading.Thread(target=work, name="swoop alert", daemon=True)
        thread.start()
        thread.join(TIMEOUT)
        if not found:
            return Failure(f"{self!r} did not answer within {TIMEOUT:g} seconds")
        if isinstance(found[0], Exception):
            raise found[0]
        return found[0]

    def _post(self, message: bytes) -> Failure | None:
        headers = {"Content-Type": "application/json", "User-Agent": "swoop"}
        request = urllib.request.Request(self.url, message, headers, method="POST")  # noqa: S310 - http or https
        try:
            urllib.request.build_opener(_NoRedirects).open(request, timeout=TIMEOUT).close()
        except urllib.error.HTTPError as error:
            error.close()
            return Failure(f"{self!r} answered {error.code}", error.code >= 500 or error.code in AGAIN)
        except urllib.error.URLError as error:
            return Failure(f"{self!r} cannot be reached: {error.reason}")
        except (OSError, http.client.HTTPException) as error:
            return Failure(f"{self!r} did not answer: {error or type(error).__name__}")
        return None


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A message that is posted does not follow: it would become one that asks, and arrive nowhere."""

    def redirect_request(self, *request: Any) -> None:
        return None


@dataclass(frozen=True, repr=False)
class Command:
    """A command and its arguments. No shell sees them, nor anything of a record."""

    words: tuple[str, ...]

    def __repr__(self) -> str:
        return f"the command {self.words[0]!r}"

    def deliver(self, message: bytes) -> Failure | None:
        """Run it with a message. The exit code 0 means that it has arrived."""
        with tempfile.TemporaryFile() as output:
            try:
                process = subprocess.Popen(  # noqa: S603 - whoever starts the stream names it
                    self.words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=output, start_new_session=True
                )
            except OSError as error:
                return Failure(f"{self!r} cannot be started: {error.strerror}")
            try:
                process.communicate(message, TIMEOUT)
            except subprocess.TimeoutExpired:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # and what it has started
                process.wait()
                return Failure(f"{self!r} did not end within {TIMEOUT:g} seconds")
            if process.returncode:
                return Failure(f"{self!r} ended with exit code {process.returncode}{_last_line(output)}")
        return None


def _last_line(file: Any) -> str:
    """What a command said last, if it said something."""
    file.seek(max(0, file.seek(0, os.SEEK_END) - 4 * SAID))
    lines = file.read().decode(errors="replace").strip().splitlines()
    plain = "".join(character if character.isprintable() else " " for character in lines[-1][:SAID]) if lines else ""
    return f": {plain}" if lines else ""


def find_target(to: Any) -> WebAddress | Command:
    """What is meant by a web address or by the words of a command, checked."""
    if isinstance(to, str):
        return _find_address(to)
    if not isinstance(to, Sequence) or isinstance(to, bytes) or not all(isinstance(word, str) for word in to):
        raise InvalidType(f"an alert goes to a web address or to a command, given as a list of words, not to {to!r:.60}")
    if not to:
        raise InvalidArgument("the command of an alert has no words; give it as a list, such as ['notify-send', 'Swoop']")
    if "://" in to[0]:
        raise InvalidArgument(f"{to[0][:12]!r}... is no command; give a web address as one text, https://host/path")
    if shutil.which(to[0]) is None:
        raise InvalidArgument(f"there is no command {to[0]!r} for alerts; give its path, or check PATH")
    return Command(tuple(to))


def _find_address(url: str) -> WebAddress:
    try:
        parts = urlsplit(url)
        known = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        known = False
    if not known or not url.isascii() or not url.isprintable() or " " in url:
        raise InvalidArgument(
            f"{url[:12]!r}... is no web address for alerts; write https://host/path, or a command as a list of words"
        )
    if "@" in parts.netloc:
        raise InvalidArgument(
            f"the web address for alerts at {parts.hostname} has a name or a password before the @, which is not supported; "
            "use an address without, or a command that knows the password"
        )
    return WebAddress(url)
