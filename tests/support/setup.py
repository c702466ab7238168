"""What the tests need beyond Python: ``python -m tests.support.setup`` looks for it, and gets what it may, aloud.

Kafka's jars go to a folder of the user. A browser is a package of the system: it is installed where one is root and there is
``apt-get``, as in a container; ``--leave`` leaves the machine as it is. Tests themselves install nothing. What is missing then
lets tests be skipped that say what is missing, or fail where ``CI`` is set.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

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


def install_browser() -> None:
    quiet = {"env": {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}, "stdout": subprocess.DEVNULL, "timeout": 600}
    for arguments in (("update",), ("install", "-y", "--no-install-recommends", "chromium")):
        command = ["apt-get", *arguments]
        print("setup:", " ".join(command), flush=True)
        subprocess.run(command, **quiet, check=False)  # type: ignore[call-overload]


def fetch_kafka() -> Path | None:
    if kafka_broker.jars() is None:
        print(f"setup: fetching Kafka with Maven into {kafka_broker.cache()}", flush=True)
        try:
            kafka_broker.fetch()
        except RuntimeError as error:
            print(f"setup: {error}")
    return kafka_broker.jars()


def main() -> None:
    may_install = "--leave" not in sys.argv and os.geteuid() == 0 and shutil.which("apt-get") is not None
    if find_browser() is None and may_install:
        install_browser()
    missing = [reason for found, reason in ((find_browser(), BROWSER), (fetch_kafka(), kafka_broker.MISSING)) if not found]
    print("setup:", "; ".join(missing) or "all that the tests need is here")


if __name__ == "__main__":
    main()
