"""Settings of Kafka's clients for the topics of a stream, which may have passwords among them: those are shown nowhere."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from swoop.cli.console import hide, info
from swoop.cli.guard import WrongUsage
from swoop.look import ORANGE

PREFIX = "kafka."
SECRET = re.compile(r"password|passphrase|secret|jaas|token|credential|\.key$", re.IGNORECASE)
QUOTED = re.compile(  # in a JAAS configuration
    r"\w*(?:password|passphrase|secret|token)\w*\s*=\s*(?:\"((?:[^\"\\]|\\.)+)\"|'((?:[^'\\]|\\.)+)'|([^\s;\"']+))",
    re.IGNORECASE,
)
SHORTEST = 4  # characters of a secret: less would hide words of every message


def find_options(given: Iterable[str], file: str | None) -> dict[str, str]:
    """The settings, as Spark names them, of a file of properties and of the command line, which is stronger."""
    options: dict[str, str] = {}
    if file is not None:
        try:
            text = Path(file).read_text(encoding="utf-8")
        except (OSError, UnicodeError) as error:
            raise WrongUsage(f"--kafka-options {file} cannot be read: {getattr(error, 'strerror', None) or error}") from None
        for number, line in lines_of(text):
            options |= _option(line, f"--kafka-options {file}, line {number}")
    for option in given:
        found = _option(option, "--kafka-option")
        if any(map(is_secret, found)):
            name = next(iter(found)).removeprefix(PREFIX)
            info(f"warning: others on this machine may see {name} in the list of processes; use --kafka-options FILE", ORANGE)
        options |= found
    for name, value in options.items():
        if is_secret(name):
            hide(part for part in (value, *_passwords(value)) if len(part) >= SHORTEST)
    return options


def is_secret(name: str) -> bool:
    """Whether the value of a setting may be a secret, by its name."""
    return SECRET.search(name) is not None


def _passwords(value: str) -> list[str]:
    return [part for found in QUOTED.findall(value) for part in found if part]


def lines_of(text: str) -> list[tuple[int, str]]:
    r"""The properties of a file with the numbers of their lines; those that end with a backslash go on in the next.

    >>> lines_of("# a comment\na=1\n\nb=2 \\\n  and 3\n")
    [(2, 'a=1'), (4, 'b=2 and 3')]
    """
    found: list[tuple[int, str]] = []
    goes_on = False
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not goes_on and (not line or line[0] in "#!"):
            continue
        more = line.endswith("\\")
        line = line[:-1] if more else line
        if goes_on:
            found[-1] = (found[-1][0], found[-1][1] + line)
        else:
            found.append((number, line))
        goes_on = more
    return found


def _option(text: str, where: str) -> dict[str, str]:
    """One setting. What is wrong with it is told without its value."""
    name, sign, value = text.partition("=")
    name, value = name.strip(), value.strip()
    if not sign or not re.fullmatch(r"[\w.-]+", name):
        raise WrongUsage(f"{where} must be a setting of Kafka's, such as security.protocol=SASL_SSL: a name, = and a value")
    if name.removeprefix(PREFIX) == "bootstrap.servers":
        raise WrongUsage(f"{where}: the address kafka://host:port/topic names the servers; leave out bootstrap.servers")
    return {f"{PREFIX}{name.removeprefix(PREFIX)}": value}
