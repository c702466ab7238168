"""Make small checkpoints with this release: ``python -m tests.live.make tests/live/data/version-2``; and states of streams that
somebody else keeps: ``python -m tests.live.make tests/live/data/embedded-1``.

Run once for each version of the format, by the last release that writes it; what is there is never made again. Each is a stream
after some batches of :func:`tests.support.live_cases.scenario`, with its results, in one engine or in cells.
"""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from swoop.live.embedded import EmbeddedStream
from swoop.live.stream_spec import StreamSpec
from swoop.text.functions import words
from tests.support.live_cases import KEEP, Row, Run, families, scenario, table, with_texts
from tests.support.live_runs import idle, start
from tests.support.stores import MemoryStore

DATA = Path(__file__).parent / "data"
BATCHES = 4  # that are done


def cases() -> dict[str, Run]:
    """What streams are asked for. Those whose names begin with "cells" have two groups."""
    return {
        "pairs": scenario(idle=True),
        "once": scenario(idle=True, copies="once"),
        "all": scenario(idle=True, k=None, min_similarity=0.4, max_pairs=1000),
        "texts": with_texts(scenario(idle=True), words("tokens")),
        "families": of_families(scenario(idle=True)),
        "kept": kept(scenario(idle=True)),
        "cells": scenario(),
        "cells-once": scenario(copies="once"),
        "cells-texts": with_texts(scenario(), words("tokens")),
        "cells-families": of_families(scenario()),
        "cells-kept": kept(scenario(copies="once")),
    }


def of_families(case: Run) -> Run:
    return replace(case, spec=families(case.spec, 0.5))


def kept(case: Run) -> Run:
    return replace(case, spec=replace(case.spec, keep=KEEP))


def make(folder: Path) -> None:
    folder.mkdir(parents=True)
    for name, case in cases().items():
        with tempfile.TemporaryDirectory() as place:
            made = Path(place)
            make_cells(made, case) if name.startswith("cells") else make_one(made, case)
            shutil.make_archive(str(folder / name), "zip", made)


def make_one(folder: Path, case: Run) -> None:
    live = start(folder, case.spec)
    (folder / "commits").mkdir()
    for batch, rows in enumerate(case.batches[:BATCHES]):
        live.process(batch, table(rows, case.spec))
        (folder / "commits" / str(batch)).touch()
        idle(live, case)


def make_cells(folder: Path, case: Run) -> None:
    from tests.support import cells

    cluster = cells.Cluster(case, 2, random.Random(7))
    live = cells.start(folder, cluster)
    for batch, rows in enumerate(case.batches[:BATCHES]):
        live.process(batch, cluster.run(table(rows, case.spec), live.ended_at, str(batch)))
    for number, kept in enumerate(cluster.kept):
        place = folder / f"cell-{number}"
        place.mkdir()
        for key, (value,) in kept.committed.items():
            if key == "state":
                (place / "state.json").write_text(value)
            else:
                (place / key[0]).write_bytes(bytes(value))


def embedded_cases() -> dict[str, Run]:
    """What streams are asked for whose state somebody else keeps: all that have one engine."""
    return {name: case for name, case in cases().items() if not name.startswith("cells")}


def make_embedded(folder: Path) -> None:
    folder.mkdir(parents=True)
    for name, case in embedded_cases().items():
        store = MemoryStore()
        results_of(case.batches[:BATCHES], case.spec, store)
        assert store.text is not None
        with zipfile.ZipFile(folder / f"{name}.zip", "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr("state.json", store.text)
            for chunk, data in store.chunks.items():
                file.writestr(chunk, data)


def embedded_store(file: Path) -> MemoryStore:
    """What was made of a case."""
    with zipfile.ZipFile(file) as made:
        found = {name: made.read(name) for name in made.namelist()}
    store = MemoryStore()
    store.text = found.pop("state.json").decode()
    store.chunks = found
    return store


def results_of(batches: list[list[Row]], spec: StreamSpec, store: MemoryStore) -> list[dict[str, Any]]:
    """The results of a stream that goes on from a store."""
    stream = EmbeddedStream(spec, store)
    return [row for rows in batches for row in stream.step(table(rows, spec), store).to_pylist()]


def batches_without_sizes(file: Path) -> int:
    """How many batches of a file were done when families did not tell their sizes: those of version 1."""
    return BATCHES if file.parent.name in ("data", "version-1") else 0


def states_of(folder: Path) -> list[dict[Any, Any]]:
    """The states of cells, as Spark would have kept them."""

    def state(place: Path) -> dict[Any, Any]:
        chunks = {(file.name,): (file.read_bytes(),) for file in place.iterdir() if file.name != "state.json"}
        return {"state": ((place / "state.json").read_text(),), **chunks}

    return [state(place) for place in sorted(folder.glob("cell-*"))]


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    (make_embedded if folder.name.startswith("embedded") else make)(folder)
