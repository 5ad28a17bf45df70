"""Commands that the documentation shows are understood; README is short."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.outcomes.commands import train as run
from tests.helpers.outcomes.pages import (
    DESCRIBED,
    README,
    ROOT,
    arguments_of,
    commands,
    own_network,
    page,
    parsed,
)
from vfl_flower.cli.options import given
from vfl_flower.config.registry import method_options
from vfl_flower.config.run_config import RunConfig, read_toml
from vfl_flower.config.schema import kebab
from vfl_flower.config.settings import COMMON

KEYS = frozenset(map(kebab, COMMON | method_options()))
OWN = ("config", "resume", "seeds", "folds", "trust_code", "as_json")  # not of a run
EXAMPLES = sorted((ROOT / "examples").rglob("README.md"))
OURS = [
    command
    for page in [*DESCRIBED, *EXAMPLES]
    for command in commands(page.read_text())
    if "run_simulation.py" in command or "-m vfl_flower " in command
]


MOST_WORDS = 800


def test_readme_is_short() -> None:
    assert len(README.split()) <= MOST_WORDS


def test_help_works() -> None:
    done = subprocess.run(
        [sys.executable, "run_simulation.py", "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "--method" in done.stdout


@pytest.mark.parametrize("command", [c for c in OURS if not re.search("--(help|completion)", c)])
def test_shown_command_is_understood(command: str) -> None:
    values = parsed(command)
    if arguments_of(command)[0] == "train":
        own = {name: values.pop(name) for name in OWN}
        options = read_toml(ROOT / own["config"]) if own["config"] else {}
        RunConfig.from_mapping(options | given(values))


def test_shown_network_trains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_networks.py").write_text(own_network())
    monkeypatch.syspath_prepend(tmp_path)
    for dataset in ("wine", "digits"):
        flags = ["--dataset", dataset, "--models", "my_networks:Mine", "--epochs", "2"]
        assert run([*flags, "--baselines", "off", "--out", str(tmp_path / dataset)]) == 0


def test_file_and_flags_of_the_mnist_run_agree() -> None:
    full = next(c for c in commands(page("commands")) if "--dataset mnist" in c)
    flags = given({k: v for k, v in parsed(full).items() if kebab(k) in KEYS})
    file = RunConfig.from_mapping(read_toml(ROOT / "conf/easter-mnist.toml"))
    elsewhere = {"out", "data-dir"}
    flagged = RunConfig.from_mapping({k: v for k, v in flags.items() if k not in elsewhere})
    assert flagged == file


def test_flower_command_has_a_supernode_per_passive_party() -> None:
    (command,) = (c for c in commands(page("simulation")) if "flwr run" in c)
    (nodes,) = re.findall(r"num-supernodes=(\d+)", command)
    assert int(nodes) == RunConfig().parties - 1
    assert command.startswith("FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION=1 ")


@pytest.mark.parametrize("path", sorted((ROOT / "conf").glob("*.toml")), ids=lambda p: p.name)
def test_conf_loads(path: Path) -> None:
    RunConfig.from_mapping(read_toml(path))
