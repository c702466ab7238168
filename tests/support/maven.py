"""Jars for tests, fetched by Maven into a folder of the user that lasts."""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

SPARK_JARS = Path(pyspark.__file__).parent / "jars"

# Spark's own pom adds a repository, which a machine may not reach; one of the same id that is disabled takes its place.
_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>swoop</groupId><artifactId>tests</artifactId><version>1</version><packaging>pom</packaging>
  <repositories>
    <repository>
      <id>gcs-maven-central-mirror</id><url>file:///none</url>
      <releases><enabled>false</enabled></releases><snapshots><enabled>false</enabled></snapshots>
    </repository>
  </repositories>
  <dependencies>{}</dependencies>
</project>
"""
_DEPENDENCY = """
    <dependency>
      <groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>
      <exclusions><exclusion><groupId>{}</groupId><artifactId>*</artifactId></exclusion></exclusions>
    </dependency>"""


def cache() -> Path:
    return Path(os.environ.get("SWOOP_TEST_CACHE") or Path.home() / ".cache" / "swoop-tests")


@contextmanager
def filling(folder: Path) -> Iterator[Path]:
    """A place for what will be in a folder of the cache, which appears when all is there. One process at a time fills it."""
    cache().mkdir(parents=True, exist_ok=True)
    with (cache() / "lock").open("w") as lock, tempfile.TemporaryDirectory(dir=cache()) as name:
        fcntl.flock(lock, fcntl.LOCK_EX)
        unfinished = Path(name) / "jars"
        yield unfinished
        if not folder.exists():
            unfinished.rename(folder)


def copy_jars(folder: Path, *dependencies: tuple[str, str, str, str]) -> None:
    """Copy the jars of dependencies, each a group, an artifact, a version and a group to leave out."""
    folder.mkdir(parents=True, exist_ok=True)
    pom = folder / "pom.xml"
    pom.write_text(_POM.format("".join(_DEPENDENCY.format(*dependency) for dependency in dependencies)))
    command = ["mvn", "-B", "-q", "-U", "-Dstyle.color=never", "-f", str(pom), "dependency:copy-dependencies"]
    options = ["-DincludeScope=runtime", f"-DoutputDirectory={folder}"]
    what = dependencies[0][1]
    try:
        done = subprocess.run([*command, *options], capture_output=True, text=True, timeout=600)
    except FileNotFoundError:
        raise RuntimeError(f"{what} is fetched with Maven, and there is no mvn: install Debian's package maven.") from None
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"Maven did not fetch {what} within ten minutes.") from None
    if done.returncode:
        output = done.stdout + done.stderr
        reason = re.search(r"\[ERROR\] (.+?)(?: -> \[Help|\n|$)", output)
        raise RuntimeError(f"Maven could not fetch {what}: {reason[1] if reason else output[-1000:]}")
    pom.unlink()


def leave_to_spark(folder: Path) -> None:
    """Delete the jars that Spark brings itself."""
    spark = {_artifact(jar) for jar in SPARK_JARS.glob("*.jar")}
    for jar in folder.glob("*.jar"):
        if _artifact(jar) in spark:
            jar.unlink()


def _artifact(jar: Path) -> str:
    return re.sub(r"-\d[^-]*\.jar$", "", jar.name)
