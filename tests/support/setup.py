"""What the tests need beyond Python: ``python -m tests.support.setup`` looks for it, and gets what it may, aloud.

Jars of Kafka, HDFS and S3A go to a folder of the user. A browser, jq, and Maven for those jars, are packages of the system:
they are installed where one is root and there is ``apt-get``, as in a container; ``--leave`` leaves the machine as it is. Tests
themselves install nothing: those that lack something are skipped and say what, or fail where ``CI`` is set.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from types import ModuleType

import pytest

from tests.support import kafka_broker, storage
from tests.support.maven import cache

JQ = "jq is missing: install Debian's package jq (apt-get install jq)"
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


def fetch(what: str, source: ModuleType) -> None:
    print(f"setup: fetching {what} with Maven into {cache()}", flush=True)
    try:
        source.fetch()
    except RuntimeError as error:
        print(f"setup: {error}")


def main() -> None:
    packages = [] if find_browser() else ["chromium"]
    packages += [] if shutil.which("jq") else ["jq"]
    sources = {"Kafka": kafka_broker, "HDFS and S3A": storage}
    if not all(source.jars() for source in sources.values()) and not shutil.which("mvn"):
        packages.append("maven")
    if packages and "--leave" not in sys.argv and os.geteuid() == 0 and shutil.which("apt-get"):
        install(packages)
    for what, source in sources.items():
        if not source.jars():
            fetch(what, source)
    missing = [] if find_browser() else [BROWSER]
    missing += [] if shutil.which("jq") else [JQ]
    missing += [source.MISSING for source in sources.values() if not source.jars()]
    print("setup:", "; ".join(missing) or "all that the tests need is here")


if __name__ == "__main__":
    main()
