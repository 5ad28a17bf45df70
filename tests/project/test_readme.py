"""What the documentation says is so: its commands, flags, keys, links and its worked example."""

import importlib
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import click
import pytest

import clients
import strategies
from tests.helpers.commands import train as run
from vfl_flower.cli.main import program
from vfl_flower.cli.options import given
from vfl_flower.config.node_config import OTHER, OWN
from vfl_flower.config.registry import METHODS, Method
from vfl_flower.config.run_config import RunConfig, read_toml
from vfl_flower.config.schema import kebab
from vfl_flower.data.tables.description import Description
from vfl_flower.transport.local import run_amnesiac, run_local
from vfl_flower.workflows.build_parties import build_active, build_passive

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
PAGES = sorted(
    page
    for pattern in ("*.md", "docs/**/*.md", "deploy/**/*.md", "benchmarks/**/*.md")
    for page in ROOT.glob(pattern)
)
DEPLOYMENT = ROOT / "docs" / "deployment.md"  # whose commands are mostly others'
TABLES = ROOT / "docs" / "tables.md"  # whose toml describes a table, and no run
DESCRIBED = sorted(
    {ROOT / "README.md", ROOT / "SECURITY.md", *(ROOT / "docs").rglob("*.md")} - {DEPLOYMENT}
)
OTHERS_COMMANDS = ("flwr ", "flower-", "ssh-keygen ", "openssl ")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def reached(*words: str) -> tuple[click.Command, list[str]]:
    """Return the command that words call, and those that are left for it."""
    command, rest = cast("click.Command", program), list(words)
    while isinstance(command, click.Group) and rest:
        found = command.get_command(click.Context(command), rest.pop(0))
        assert found, words
        command = found
    return command, rest


def flags_of(command: click.Command) -> set[str]:
    """Return the flags of a command, or of all below it."""
    context = click.Context(command)
    if isinstance(command, click.Group):
        found = [command.get_command(context, name) for name in command.list_commands(context)]
        return {flag for each in found if each for flag in flags_of(each)}
    return {flag for each in command.params for flag in (*each.opts, *each.secondary_opts)}


FLAGS = flags_of(program) | {"--help"}
KEYS = frozenset(map(kebab, RunConfig.__dataclass_fields__))
TABLE_KEYS = frozenset(map(kebab, Description.__dataclass_fields__))


def blocks(text: str, language: str) -> list[str]:
    return [body for kind, body in FENCE.findall(text) if kind == language]


def spans(text: str) -> list[str]:
    """Return the inline code of a page, without its fenced blocks."""
    return re.findall(r"`([^`\n]+)`", FENCE.sub("", text))


def commands(text: str) -> list[str]:
    """Return the shell commands that a page shows, comments left out."""
    lines = [line for block in blocks(text, "sh") for line in block.splitlines()]
    return [line for line in lines if line.strip() and not line.startswith("#")]


def arguments_of(command: str) -> list[str]:
    """Return what a command gives to the program: its own command's name first."""
    words = shlex.split(command, comments=True)
    if "run_simulation.py" in words:
        return ["train", *words[words.index("run_simulation.py") + 1 :]]
    return words[words.index("vfl_flower") + 1 :]


def parsed(command: str) -> dict[str, Any]:
    """Return what a command of the program makes of its arguments."""
    found, rest = reached(*arguments_of(command))
    return found.make_context(found.name, rest).params


SETUP = [command for command in commands(README) if command.startswith("python3 -m venv")]
OURS = [
    command
    for page in DESCRIBED
    for command in commands(page.read_text())
    if "run_simulation.py" in command or "-m vfl_flower " in command
]


# Commands ---------------------------------------------------------------------------------------


def test_two_commands_do_the_setup() -> None:
    ends = [command.split(" && ")[-1] for command in SETUP]
    assert ends == [".venv/bin/python run_simulation.py", ".venv/bin/python -m pytest"]


@pytest.mark.parametrize("command", SETUP)
def test_ci_runs_the_setup(command: str) -> None:
    lines = (ROOT / ".ci/run").read_text().replace('"', "").splitlines()
    steps = [line.removeprefix("step ") for line in lines if line.startswith("step ")]
    for part in command.replace(".venv", "$venv").split(" && "):
        assert part in steps or f"{part} --out $work/run" in steps


def test_ci_script_is_executable() -> None:
    assert (ROOT / ".ci/run").stat().st_mode & 0o111


def test_help_works() -> None:
    done = subprocess.run(
        [sys.executable, "run_simulation.py", "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "--method" in done.stdout


@pytest.mark.parametrize("command", [c for c in OURS if "--help" not in c])
def test_shown_command_is_understood(command: str) -> None:
    values = parsed(command)
    if arguments_of(command)[0] == "train":
        own = {name: values.pop(name) for name in ("config", "resume", "seeds", "as_json")}
        options = read_toml(ROOT / own["config"]) if own["config"] else {}
        RunConfig.from_mapping(options | given(values))


def test_shown_network_trains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = next(b for b in blocks(README, "python") if b.startswith("# my_networks.py"))
    (tmp_path / "my_networks.py").write_text(shown)
    monkeypatch.syspath_prepend(tmp_path)
    for dataset in ("wine", "digits"):
        flags = ["--dataset", dataset, "--models", "my_networks:Mine", "--epochs", "2"]
        assert run([*flags, "--bounds", "off", "--out", str(tmp_path / dataset)]) == 0


def test_file_and_flags_of_the_mnist_run_agree() -> None:
    full = next(c for c in commands(README) if "--dataset mnist" in c)
    flags = given({k: v for k, v in parsed(full).items() if kebab(k) in KEYS})
    file = RunConfig.from_mapping(read_toml(ROOT / "conf/easter-mnist.toml"))
    elsewhere = {"out", "data-dir"}
    flagged = RunConfig.from_mapping({k: v for k, v in flags.items() if k not in elsewhere})
    assert flagged == file


def test_flower_command_has_a_supernode_per_passive_party() -> None:
    (command,) = (c for c in commands(README) if "flwr run" in c)
    (nodes,) = re.findall(r"num-supernodes=(\d+)", command)
    assert int(nodes) == RunConfig().parties - 1
    assert command.startswith("FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION=1 ")


@pytest.mark.parametrize("path", sorted((ROOT / "conf").glob("*.toml")), ids=lambda p: p.name)
def test_conf_loads(path: Path) -> None:
    RunConfig.from_mapping(read_toml(path))


# Flags, keys, methods, links --------------------------------------------------------------------


def flags_named(page: Path) -> set[str]:
    """Return the flags that a page calls ours, in running text and in our commands."""
    text = page.read_text()
    shown = [c for c in [*spans(text), *commands(text)] if not c.startswith(OTHERS_COMMANDS)]
    ours = [c for c in shown if "flwr run" not in c]
    return {flag for c in ours for flag in re.findall(r"(?<!\S)--[a-z][a-z-]*", c)}


@pytest.mark.parametrize("page", DESCRIBED, ids=lambda p: p.name)
def test_flags_exist(page: Path) -> None:
    others = {
        "--run-config",
        "--federation-config",
    }
    assert flags_named(page) - others <= FLAGS


def test_flags_are_found() -> None:
    """The search above is not vacuous."""
    found = flags_named(ROOT / "README.md")
    assert {"--resume", "--seeds", "--eval-every", "--blinding", "--parties"} <= found


@pytest.mark.parametrize("page", DESCRIBED, ids=lambda p: p.name)
def test_keys_exist(page: Path) -> None:
    text = page.read_text()
    tables = [tomllib.loads(block) for block in blocks(text, "toml")]
    quoted = [re.fullmatch(r"([a-z][a-z-]*) = .*", span) for span in spans(text)]
    keys = {key for table in tables for key in table} | {m[1] for m in quoted if m}
    given = [span for span in spans(text) if span.startswith("--run-config ")]
    keys |= {key for span in given for key in re.findall(r"([a-z][a-z-]*)=", span)}
    assert keys <= (TABLE_KEYS if page == TABLES else KEYS | {"resume"})


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


def test_every_method_has_a_row() -> None:
    rows = re.findall(r"^\| \[`([\w-]+)`\]", README, re.MULTILINE)
    assert set(rows) == set(METHODS)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_a_page(name: str) -> None:
    text = (ROOT / "docs" / "methods" / f"{name}.md").read_text()
    for heading in ("Learns", "Assumes", "Deviates", "Costs", "Messages of"):
        assert f"\n## {heading}" in text
    assert f"\nmethods/{name}\n" in (ROOT / "docs" / "index.md").read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_relative_links_resolve(page: Path) -> None:
    targets = re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", page.read_text()))
    relative = [t.split("#")[0] for t in targets if not re.match(r"[a-z]+:", t)]
    missing = [t for t in relative if t and not (page.parent / t).exists()]
    assert missing == []


# The worked example -----------------------------------------------------------------------------

SECTION = README.split("\n## Add a method\n")[1].split("\n## ")[0]
EXAMPLE = {block.splitlines()[0].removeprefix("# "): block for block in blocks(SECTION, "python")}
REGISTRY = "vfl_flower/config/registry.py"
ENTRY = re.compile(r'^"([\w-]+)": Method\("([\w.:]+)", "([\w.:]+)", blinds=(True|False)\),$', re.M)


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Put README's files into packages of their own, register the method, and name it."""
    for path, code in EXAMPLE.items():
        if path == REGISTRY:
            continue
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(code)
    for package in (strategies, clients):
        monkeypatch.setattr(package, "__path__", [str(tmp_path / package.__name__)])
    importlib.invalidate_caches()
    ((name, strategy, client, blinds),) = ENTRY.findall(EXAMPLE[REGISTRY])
    monkeypatch.setitem(METHODS, name, Method(strategy, client, blinds == "True"))
    yield name
    for path in EXAMPLE:
        folder, module = Path(path).parts[0], Path(path).stem
        sys.modules.pop(f"{folder}.{module}", None)
        vars(sys.modules[folder]).pop(module, None)


def test_example_is_complete() -> None:
    assert [Path(path).parts[0] for path in EXAMPLE] == ["strategies", "clients", "vfl_flower"]


def test_example_trains_alike_on_both_carriers(example: str, tmp_path: Path) -> None:
    cfg = RunConfig(method=example, epochs=1)
    live, rebuilt = tmp_path / "live", tmp_path / "rebuilt"

    active = build_active(cfg, live)
    run_local(active, [build_passive(cfg, k, live) for k in range(cfg.parties - 1)])
    run_amnesiac(build_active(cfg, rebuilt), lambda k: build_passive(cfg, k, rebuilt))

    weights = sorted(path.relative_to(live) for path in live.rglob("weights.safetensors"))
    assert len(weights) == cfg.parties
    for path in weights:
        assert (live / path).read_bytes() == (rebuilt / path).read_bytes(), path
    (record,) = active.progress.records
    assert record.validation_accuracy["active"] > 0.3  # ten classes, one epoch


def test_example_is_short() -> None:
    for path, code in EXAMPLE.items():
        assert len(code.splitlines()) <= 60, path
        assert "noqa" not in code
        assert "type: ignore" not in code


@pytest.mark.parametrize("check", ["check", "format --check"])
def test_example_passes_the_linter(check: str, example: str, tmp_path: Path) -> None:
    ruff = [sys.executable, "-m", "ruff", *check.split(), "--no-cache"]
    config = ["--config", str(ROOT / "pyproject.toml")]
    subprocess.run([*ruff, *config, str(tmp_path)], cwd=ROOT, check=True)  # noqa: S603
