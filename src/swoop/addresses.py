"""Where files are: paths on this machine, or addresses of other file systems, which only Spark knows."""

from __future__ import annotations

import os
import re

from swoop.errors import InvalidArgument

SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
GLOB = re.compile(r"[\\\[\]{}*?]")


def is_remote(address: str | os.PathLike[str]) -> bool:
    """Whether an address has the scheme of another file system, with slashes behind it or without.

    >>> [is_remote(address) for address in ("s3a://bucket/x", "dbfs:/x", "hdfs:x", "file:/x", "/x:y", "x/y:z", "12:30.csv")]
    [True, True, True, False, False, False, False]
    """
    text = os.fspath(address)
    return SCHEME.match(text) is not None and not text.startswith("file:")


def local_path(given: str | os.PathLike[str]) -> str:
    """The absolute form of a path on this machine, however it is written.

    >>> local_path("file:/a b/c"), local_path("file:///a b/c/"), local_path("/a/../b")
    ('/a b/c', '/a b/c', '/b')
    """
    text = os.fspath(given)
    if is_remote(text):
        raise InvalidArgument(
            f"{text!r} is no path of this machine; such an address needs a Spark session: swoop.spark.session()"
        )
    if text.startswith("file:"):  # Hadoop writes file:/folder where others write file:///folder
        text = "/" + text.removeprefix("file:").lstrip("/")
    return os.path.abspath(text)


def spark_address(given: str | os.PathLike[str]) -> str:
    """The address under which Spark finds a name of the command line: without a scheme, it is on this machine.

    >>> spark_address("/a b/c%20#1/"), spark_address("file:/x"), spark_address("s3a://bucket/x/")
    ('file:///a b/c%20#1', 'file:///x', 's3a://bucket/x/')
    """
    return os.fspath(given) if is_remote(given) else f"file://{local_path(given)}"


def spark_pattern(given: str | os.PathLike[str]) -> str:
    r"""The same where Spark reads, for which it takes some characters for a glob; names of this machine are none any more.

    >>> print(spark_pattern("/a/x[1]*.csv"), spark_pattern("s3a://bucket/*.csv"))
    file:///a/x\[1\]\*.csv s3a://bucket/*.csv
    """
    address = spark_address(given)
    return address if is_remote(given) else escaped(address)


def escaped(address: str) -> str:
    r"""An address that Spark takes for no pattern.

    >>> print(escaped("s3a://bucket/x[1]*.csv"))
    s3a://bucket/x\[1\]\*.csv
    """
    return GLOB.sub(r"\\\g<0>", address)
