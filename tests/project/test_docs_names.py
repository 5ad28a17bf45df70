"""Paths, imports and tests that the documentation names exist."""

import ast
import re
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted({*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*/*.md")})
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
PATH = re.compile(r"`((?:[a-z_0-9]+/)+(?:[a-z_0-9]+\.py)?)`")
IMPORT = re.compile(r"^from (vfl_flower[\w.]*) import (.+)$", re.MULTILINE)
FOLDERS = ("vfl_flower/", "strategies/", "clients/", "tests/", "deploy/", "benchmarks/", "conf/")
SECURITY = (ROOT / "SECURITY.md").read_text()
ADVERSARIES = SECURITY[
    SECURITY.index("## Adversaries") : SECURITY.index("## What each party learns")
]
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
CLAIM = re.compile(r"^\| (?!what holds|---)(.+?) \|(.*)\|$", re.MULTILINE)
ARCHITECTURE = ROOT / "docs" / "architecture.md"  # its paths are also those within vfl_flower


def paths_in(page: Path) -> list[str]:
    """List the project's paths in a page's inline code."""
    named = PATH.findall(FENCE.sub("", page.read_text()))
    return [each for each in named if page == ARCHITECTURE or each.startswith(FOLDERS)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_named_paths_exist(page: Path) -> None:
    bases = [ROOT, ROOT / "vfl_flower"] if page == ARCHITECTURE else [ROOT]
    missing = [each for each in paths_in(page) if not any((base / each).exists() for base in bases)]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_shown_imports_work(page: Path) -> None:
    for module, names in IMPORT.findall(page.read_text()):
        for name in names.split(","):
            assert hasattr(import_module(module), name.strip()), f"{module}.{name}"


def test_the_architecture_page_names_many_paths() -> None:
    assert len(paths_in(ARCHITECTURE)) > 40


@cache
def functions_in(path: str) -> set[str]:
    """Return the names of a module's functions."""
    tree = ast.parse((ROOT / path).read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_each_claim_on_security_names_a_test() -> None:
    claims = CLAIM.findall(ADVERSARIES)
    assert len(claims) > 30
    assert [claim for claim, shown in claims if not TEST.search(shown)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_named_tests_exist(page: Path) -> None:
    named = TEST.findall(page.read_text())
    assert [f"{path}::{name}" for path, name in named if name not in functions_in(path)] == []
