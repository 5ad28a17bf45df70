"""Notebooks run from first to last cell, and are stored so."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.helpers.outcomes.notebooks import FOLDER, NOTEBOOKS, cells_of, parameters_of, run_cells
from vfl_flower.config.registry import METHODS

TINY: dict[str, dict[str, Any]] = {
    "1-two-tables": {"EPOCHS": 1},
    "2-three-methods": {"DATA": "digits", "EPOCHS": 1, "VIM_EPOCHS": 1},
    "3-own-method": {"EPOCHS": 1},
    "4-client-privacy": {"EPSILONS": [None, 8], "EPOCHS": 1},
}
"""Values of each notebook's parameters that a test can wait for."""

LARGEST = 200_000  # bytes of a file


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """Give a module in the place of a notebook's ``__main__``."""
    module = ModuleType("notebook")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    known = dict(METHODS)
    yield module
    METHODS.clear()
    METHODS.update(known)


def test_every_notebook_is_here() -> None:
    assert [path.stem for path in NOTEBOOKS] == [*TINY]
    page = (FOLDER / "README.md").read_text()
    assert re.findall(r"\]\(([\w-]+)\.ipynb\)", page) == [*TINY]


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path: Path, notebook: ModuleType) -> None:
    assert TINY[path.stem].keys() <= parameters_of(path).keys()
    run_cells(path, notebook, TINY[path.stem])


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_stored_as_it_ran(path: Path) -> None:
    cells = cells_of(path, "code")
    assert [each["execution_count"] for each in cells] == [*range(1, len(cells) + 1)]
    outputs = [each for cell in cells for each in cell["outputs"]]
    assert outputs
    assert not [each for each in outputs if each["output_type"] == "error"]
    assert not [each for each in outputs if each.get("name") == "stderr"]
    assert not re.findall(r"/(?:home|root|tmp|work|Users)/", json.dumps(outputs))
    assert path.stat().st_size < LARGEST


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_links_of_a_notebook_exist(path: Path) -> None:
    text = "\n".join("".join(each["source"]) for each in cells_of(path, "markdown"))
    linked = re.findall(r"\]\((?!http)([^)#]+)", text)
    assert linked
    assert not [each for each in linked if not (FOLDER / each).exists()]
