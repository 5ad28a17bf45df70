"""Notebooks of the examples, run in this process without a kernel."""

import ast
import json
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.helpers.outcomes.pages import ROOT

FOLDER = ROOT / "examples" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def cells_of(path: Path, kind: str) -> list[dict[str, Any]]:
    """Return a notebook's cells of one kind, "code" or "markdown"."""
    cells = json.loads(path.read_text())["cells"]
    return [each for each in cells if each["cell_type"] == kind]


def parameters_of(path: Path) -> dict[str, Any]:
    """Return the values of the cell that is tagged as parameters."""
    (cell,) = (
        each for each in cells_of(path, "code") if "parameters" in each["metadata"].get("tags", [])
    )
    return {
        target.id: ast.literal_eval(each.value)
        for each in ast.parse("".join(cell["source"])).body
        if isinstance(each, ast.Assign)
        for target in each.targets
        if isinstance(target, ast.Name)
    }


def run_cells(path: Path, module: ModuleType, values: Mapping[str, object]) -> None:
    """Run all code cells as a module, with other values of parameters.

    Parameters
    ----------
    path : Path
        The notebook.
    module : ModuleType
        In the place of a notebook's ``__main__``.
    values : mapping
        By the names of parameters.
    """
    for cell in cells_of(path, "code"):
        code = compile("".join(cell["source"]), str(path), "exec")
        exec(code, vars(module))  # noqa: S102
        if "parameters" in cell["metadata"].get("tags", []):
            vars(module).update(values)
