"""Puts machine code into the wheel, if there is a folder with some (``SWOOP_MACHINE_CODE``): see ``make wheel``."""

from __future__ import annotations

import os
import pickletools
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class MachineCode(BuildHookInterface[Any]):
    """The files of a cache of kernels go beside the sources of the kernels; the wheel is then for one Python and platform.

    With another Numba, everything would be compiled anew, so the wheel requires its own.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        cache = os.environ.get("SWOOP_MACHINE_CODE")
        if not cache or version == "editable":
            return
        files = sorted(Path(cache).rglob("*.nb[ci]"))
        if not files:
            raise FileNotFoundError(f"there is no machine code in {cache}")
        for file in files:
            package = file.parent.name.rpartition("_")[0]  # Numba puts a digest of the path behind the folder's name
            build_data["force_include"][str(file)] = f"swoop/{package}/prebuilt/{file.name}"
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        python = f"cp{sysconfig.get_config_var('py_version_nodot')}"
        build_data |= {"pure_python": False, "tag": f"{python}-{python}-{platform}"}
        build_data["dependencies"].append(f"numba=={numba_of(next(file for file in files if file.suffix == '.nbi'))}")


def numba_of(index: Path) -> str:
    """The version of Numba that wrote an index: the first value in it."""
    return next(value for _, value, _ in pickletools.genops(index.read_bytes()) if isinstance(value, str))
