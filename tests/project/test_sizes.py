"""Files, functions and folders stay small enough to be read at once."""

import ast
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("vfl_flower", "strategies", "clients")
CODE = (*PRODUCT, "benchmarks", "deploy", "docs", "tests")
LONGEST_FILE, LONGEST_FUNCTION, FULLEST_FOLDER, MEDIAN_FILE = 300, 30, 12, 100
ONE_EACH = {"strategies", "clients", "strategies/specs", "tests/methods", "docs/methods"} | {
    *("tests/attacks", "benchmarks")
}
"""Folders with a module for each method, attack or benchmark."""


def modules(*folders: str) -> list[Path]:
    """Return all modules of some folders."""
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count a function's lines without its docstring."""
    body = function.body
    if ast.get_docstring(function) is not None:
        body = body[1:]
    if not body:
        return 0
    return (body[-1].end_lineno or 0) - body[0].lineno + 1


def long_functions(source: str) -> Iterator[str]:
    """Yield the functions of some source that are too long."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if (lines := lines_of(node)) > LONGEST_FUNCTION:
            yield f"{node.name}: {lines}"


def test_files_are_short() -> None:
    sizes = {path: path.read_text().count("\n") for path in modules(*CODE)}
    long = {str(path.relative_to(ROOT)): n for path, n in sizes.items() if n > LONGEST_FILE}
    assert not long


def test_the_median_file_is_read_at_a_glance() -> None:
    sizes = [path.read_text().count("\n") for path in modules(*PRODUCT) if path.stem != "__init__"]
    assert median(sizes) <= MEDIAN_FILE


def test_functions_are_short() -> None:
    long = [
        f"{path.relative_to(ROOT)} {each}"
        for path in modules(*CODE)
        for each in long_functions(path.read_text())
    ]
    assert not long


def test_folders_are_surveyed_at_a_glance() -> None:
    counts: dict[str, int] = {}
    for path in modules(*CODE):
        if path.stem != "__init__":
            folder = str(path.parent.relative_to(ROOT))
            counts[folder] = counts.get(folder, 0) + 1
    full = {f: n for f, n in counts.items() if n > FULLEST_FOLDER and f not in ONE_EACH}
    assert not full


@pytest.mark.parametrize(("lines", "found"), [(LONGEST_FUNCTION, 0), (LONGEST_FUNCTION + 1, 1)])
def test_a_long_function_is_found(lines: int, found: int) -> None:
    source = 'def f():\n    """Return nothing."""\n' + "    pass\n" * lines
    assert len([*long_functions(source)]) == found
