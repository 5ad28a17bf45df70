"""Imports of methods: nouns from one module, nothing that runs them."""

import ast
from pathlib import Path

import pytest

from vfl_flower import api

ROOT = Path(__file__).resolve().parents[2]
METHODS = [*(ROOT / "strategies").glob("*.py"), *(ROOT / "clients").glob("*.py")]


def test_it_exports_ten_nouns_and_their_verbs() -> None:
    verbs = {"ask", "ask_each", "tell", "tell_each", "phase"}
    nouns = set(api.__all__) - verbs
    assert len(nouns) == 10
    assert all(hasattr(api, name) for name in api.__all__)
    assert all(f"`{name}`" in str(api.__doc__) for name in api.__all__)


@pytest.mark.parametrize("path", METHODS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_methods_import_the_nouns_from_it(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module != "vfl_flower.api":
            assert not {each.name for each in node.names} & set(api.__all__), node.module
