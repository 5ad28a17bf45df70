"""Pages that the site fills from the code."""

import re

import pytest

import vfl_flower
from docs.generated import MADE, MARK, filled
from tests.helpers.outcomes.pages import DOCS
from vfl_flower import api
from vfl_flower.analysis.audit.registry import ATTACKS
from vfl_flower.cli.main import COMMANDS
from vfl_flower.config.registry import METHODS, method_options
from vfl_flower.config.schema import kebab
from vfl_flower.config.settings import COMMON

PAGES = {path.stem: path for path in DOCS.rglob("*.md") if MARK.search(path.read_text())}


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """Return the filled pages by name."""
    return {name: filled(path.read_text()) for name, path in PAGES.items()}


def test_every_part_has_its_place() -> None:
    named = [name for path in PAGES.values() for name in MARK.findall(path.read_text())]
    assert sorted(named) == sorted(MADE)


def test_every_option_has_a_row(pages: dict[str, str]) -> None:
    rows = re.findall(r"^\| `--([\w-]+)`.* \|.*\| .+ \|$", pages["options"], re.MULTILINE)
    assert set(rows) == {kebab(name) for name in COMMON | method_options()}
    assert all(f"\n### {name}\n" in pages["options"] for name in ("pravfed", "vimadmm"))
    assert {*re.findall(r"^### (.+)$", pages["options"], re.MULTILINE)} <= set(METHODS)


def test_every_command_has_its_help(pages: dict[str, str]) -> None:
    named = re.findall(r"^## vfl-flower (\S+)", pages["commands"], re.MULTILINE)
    assert set(named) == set(COMMANDS)


def test_every_attack_has_a_row(pages: dict[str, str]) -> None:
    told = pages["leakage"].partition("## All methods")[0]
    rows = re.findall(r"^\| `([\w-]+)` \|.* \|.*\|.*\| .+ \|$", told, re.MULTILINE)
    assert rows == list(ATTACKS)


def test_every_public_name_is_documented(pages: dict[str, str]) -> None:
    named = re.findall(r"auto(?:class|function):: (\S+)", pages["python"])
    assert {f"vfl_flower.{name}" for name in vfl_flower.__all__} <= set(named)
    functions = {f"vfl_flower.api.{n}" for n in api.__all__ if callable(getattr(api, n))}
    assert {each for each in functions if each.rpartition(".")[2].islower()} <= set(named)
