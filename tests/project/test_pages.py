"""Flags, keys, methods and links that the documentation names exist."""

import re
import tomllib
from pathlib import Path

import click
import pytest

from tests.helpers.outcomes.pages import (
    DEPLOYMENT,
    DESCRIBED,
    DOCS,
    FENCE,
    PAGES,
    ROOT,
    blocks,
    commands,
    page,
    spans,
)
from vfl_flower.cli.main import program
from vfl_flower.config.node_config import OTHER, OWN
from vfl_flower.config.policy.file import policy_of
from vfl_flower.config.policy.record import DataPolicy, Policy, keys_of
from vfl_flower.config.registry import METHODS, method_options
from vfl_flower.config.schema import kebab
from vfl_flower.config.settings import COMMON
from vfl_flower.data.tables.description import Description

TABLES = ROOT / "docs" / "tables.md"  # whose toml describes a table, and no run
METRICS = ROOT / "docs" / "metrics.md"  # whose toml describes both
POLICY = ROOT / "docs" / "policy.md"  # whose toml is a policy
OTHERS_COMMANDS = (
    *("flwr ", "flower-", "ssh-keygen ", "openssl ", "pip ", "cyclonedx-py "),
    "docker ",
)


def flags_of(command: click.Command) -> set[str]:
    """Return the flags of a command, or of all below it."""
    context = click.Context(command)
    if isinstance(command, click.Group):
        found = [command.get_command(context, name) for name in command.list_commands(context)]
        return {flag for each in found if each for flag in flags_of(each)}
    return {
        flag for each in command.get_params(context) for flag in (*each.opts, *each.secondary_opts)
    }


FLAGS = flags_of(program) | {"--help"}
KEYS = frozenset(map(kebab, COMMON | method_options()))
POLICY_KEYS = {*keys_of(Policy), *keys_of(DataPolicy), "data"}
TABLE_KEYS = frozenset(map(kebab, Description.__dataclass_fields__))


def flags_named(path: Path) -> set[str]:
    """Return our flags in a page's text and commands."""
    text = path.read_text()
    shown = [c for c in [*spans(text), *commands(text)] if not c.startswith(OTHERS_COMMANDS)]
    ours = [c for c in shown if "flwr run" not in c]
    return {flag for c in ours for flag in re.findall(r"(?<!\S)--[a-z][a-z-]*", c)}


@pytest.mark.parametrize("path", DESCRIBED, ids=lambda p: p.name)
def test_flags_exist(path: Path) -> None:
    others = {
        "--run-config",
        "--federation-config",
        *("--scale", "--only", "--jobs", "--minutes", "--show"),  # of a benchmark
        *("--results", "--environments"),
    }
    assert flags_named(path) - others <= FLAGS


def test_flags_are_found() -> None:
    """The search above is not vacuous."""
    found = flags_named(DOCS / "commands.md")
    assert {"--resume", "--seeds", "--eval-every", "--blinding", "--parties"} <= found


@pytest.mark.parametrize("path", DESCRIBED, ids=lambda p: p.name)
def test_keys_exist(path: Path) -> None:
    text = path.read_text()
    tables = [tomllib.loads(block) for block in blocks(text, "toml")]
    quoted = [re.fullmatch(r"([a-z][a-z-]*) = .*", span) for span in spans(text)]
    keys = {key for table in tables for key in table} | {m[1] for m in quoted if m}
    given = [span for span in spans(text) if span.startswith("--run-config ")]
    keys |= {key for span in given for key in re.findall(r"([a-z][a-z-]*)=", span)}
    known = {TABLES: TABLE_KEYS, POLICY: POLICY_KEYS, METRICS: TABLE_KEYS | KEYS}
    known[DOCS / "splits.md"] = TABLE_KEYS | KEYS
    assert keys <= known.get(path, KEYS | {"resume", "trusted-modules"})


def test_keys_of_a_deployment_exist() -> None:
    text = DEPLOYMENT.read_text()
    found = {flag: re.findall(rf"--{flag}-config '([^']*)'", text) for flag in ("run", "node")}
    keys = {
        flag: {key for shown in given for key in re.findall(r"([a-z][a-z-]*)=", shown)}
        for flag, given in found.items()
    }
    assert {"stream-listen", "resume", "run-name"} <= keys["run"] <= KEYS | {"resume"}
    assert {"partition-id", "data-dir"} <= keys["node"] <= {*OWN, *OTHER}
    table = set(re.findall(r"^\| ((?:`[a-z-]+`(?:, )?)+) \|", text, re.MULTILINE))
    named = {key for cell in table for key in re.findall(r"`([a-z-]+)`", cell)}
    assert {*OWN, *OTHER} - {"num-partitions"} <= named


def test_policies_that_are_shown_are_policies() -> None:
    pages = (POLICY, ROOT / "examples" / "bank-and-shop" / "README.md")
    shown = {each: tomllib.loads(blocks(each.read_text(), "toml")[-1]) for each in pages}
    assert policy_of(shown[POLICY]).data
    assert shown[pages[1]] == tomllib.loads((pages[1].parent / "policy.toml").read_text())
    assert policy_of(shown[pages[1]]).allow_single_embeddings


def test_every_key_of_a_policy_is_described() -> None:
    cells = re.findall(r"^\| ((?:`[a-z-]+`(?:, )?)+) \|", POLICY.read_text(), re.MULTILINE)
    named = {key for cell in cells for key in re.findall(r"`([a-z-]+)`", cell)}
    assert named == POLICY_KEYS - {"data"}


def test_every_method_has_a_row() -> None:
    rows = re.findall(r"^\| \[`([\w-]+)`\]", page("methods"), re.MULTILINE)
    assert set(rows) == set(METHODS)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_a_page(name: str) -> None:
    text = page(f"methods/{name}")
    for heading in ("Learns", "Assumes", "Deviates", "Costs", "Messages of"):
        assert f"\n## {heading}" in text
    assert f"\nmethods/{name}\n" in page("index")


@pytest.mark.parametrize("path", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_relative_links_resolve(path: Path) -> None:
    """To files: the documentation's site knows no folders."""
    targets = re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", path.read_text()))
    relative = [t.split("#")[0] for t in targets if not re.match(r"[a-z]+:", t)]
    missing = [t for t in relative if t and not (path.parent / t).is_file()]
    assert missing == []
