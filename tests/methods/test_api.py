"""Imports of methods: one module, mathematics, and nothing that runs them."""

import ast
import re
from pathlib import Path

import pytest

from vfl_flower import api

ROOT = Path(__file__).resolve().parents[2]
METHODS = [*(ROOT / "strategies").glob("*.py"), *(ROOT / "clients").glob("*.py")]


def test_it_exports_ten_nouns_their_verbs_and_tools() -> None:
    verbs = {"ask", "ask_each", "tell", "tell_each", "phase"}
    nouns, tools = str(api.__doc__).split("Tools of methods:")
    listed = [set(re.findall(r"^`(\w+)` ", part, re.M)) for part in (nouns, tools)]
    assert len(listed[0]) == 10
    assert verbs <= set(re.findall(r"`(\w+)`", nouns))
    assert listed[0] | verbs | listed[1] == set(api.__all__)
    assert all(hasattr(api, name) for name in api.__all__)


BESIDE = ("algorithms", "learning", "data.tiling", "common", "privacy.label_dp.mechanisms")


@pytest.mark.parametrize("path", METHODS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_methods_import_mathematics_beside_it(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        module = str(node.module) if isinstance(node, ast.ImportFrom) else ""
        if module.startswith("vfl_flower."):
            assert module.removeprefix("vfl_flower.").startswith(("api", *BESIDE)), module


@pytest.mark.parametrize("path", METHODS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_methods_import_the_nouns_from_it(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module != "vfl_flower.api":
            assert not {each.name for each in node.names} & set(api.__all__), node.module
