"""The example notebook runs from top to bottom, and its saved outputs are those of a run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

NOTEBOOK = Path(__file__).parents[1] / "docs" / "example.ipynb"


@pytest.fixture
def notebook() -> Any:
    return nbformat.read(NOTEBOOK, as_version=4)


def printed(notebook: Any) -> list[str]:
    """What the cells print."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return [output.text for output in outputs if output.output_type == "stream" and output.name == "stdout"]


@pytest.mark.filterwarnings("default")  # of Jupyter, not of ours
def test_the_notebook_runs_and_says_the_same(notebook: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = printed(notebook)
    for key in [key for key in os.environ if key.startswith("COV_CORE")]:
        monkeypatch.delenv(key)
    client = nbclient.NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()  # raises the error of a cell
    assert printed(notebook) == saved


def test_the_saved_notebook_is_whole_and_small(notebook: Any) -> None:
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell.outputs]
    assert not [output for output in outputs if output.output_type == "error" or output.get("name") == "stderr"]
    assert sum("image/png" in output.get("data", {}) for output in outputs) >= 5
    assert sum("text/html" in output.get("data", {}) for output in outputs) >= 3
    assert NOTEBOOK.stat().st_size < 1_000_000
