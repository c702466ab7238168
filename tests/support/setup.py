"""What the tests need beyond Python: ``python -m tests.support.setup`` looks for it, and gets what it may, aloud.

Kafka's jars go to a folder of the user. A browser, and Maven for those jars, are packages of the system: they are installed
where one is root and there is ``apt-get``, as in a container; ``--leave`` leaves the machine as it is. Tests themselves install
nothing: those that lack something are skipped and say what, or fail where ``CI`` is set.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from tests.support import kafka_broker

BROWSER = "Chromium is missing: install Debian's package chromium (apt-get install chromium)"


def find_browser() -> str | None:
    return shutil.which("chromium")


def lacking(reason: str) -> None:
    """Skip a test that lacks something, but not where all must run."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def install(packages: list[str]) -> None:
    """By the system's package manager, as root."""
    quiet = {"env": {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}, "stdout": subprocess.DEVNULL, "timeout": 600}
    for arguments in (["update"], ["install", "-y", "--no-install-recommends", *packages]):
        print("setup: apt-get", *arguments, flush=True)
        subprocess.run(["apt-get", *arguments], **quiet, check=False)  # type: ignore[call-overload]


def fetch_kafka() -> None:
    print(f"setup: fetching Kafka with Maven into {kafka_broker.cache()}", flush=True)
    try:
        kafka_broker.fetch()
    except RuntimeError as error:
        print(f"setup: {error}")


def main() -> None:
    packages = [] if find_browser() else ["chromium"]
    if not kafka_broker.jars() and not shutil.which("mvn"):
        packages.append("maven")
    if packages and "--leave" not in sys.argv and os.geteuid() == 0 and shutil.which("apt-get"):
        install(packages)
    if not kafka_broker.jars():
        fetch_kafka()
    missing = [
        reason for found, reason in ((find_browser(), BROWSER), (kafka_broker.jars(), kafka_broker.MISSING)) if not found
    ]
    print("setup:", "; ".join(missing) or "all that the tests need is here")


if __name__ == "__main__":
    main()
