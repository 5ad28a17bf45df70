"""Commands of the documentation are run, parsed, or another tool's."""

import importlib
import re
import shlex
from pathlib import Path

import click
import pytest

from benchmarks import all as every
from tests.helpers.outcomes.pages import DEPLOYMENT, PAGES, ROOT, blocks, parsed
from vfl_flower.config.registry import method_options
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.schema import kebab

SHOWN = [each for each in PAGES if each.name != "CHANGELOG.md"]
CI = (ROOT / ".ci/run").read_text()
MODULE = re.compile(r"^python -m ([\w.]+)(.*)$", re.DOTALL)
OWN = re.compile(r"^(python run_simulation\.py|python -m vfl_flower|vfl-flower)\b")
FLOWER = re.compile(r"(^| )flwr run ")
RUN_CONFIG = re.compile(r"--run-config '([^']*)'", re.DOTALL)
TOOLS = {
    *(".", "cat", "chmod", "cp", "echo", "eval", "export", "for", "mkdir", "umask"),
    *("docker", "flower-superlink", "flower-supernode", "flwr", "openssl", "pip", "ssh-keygen"),
    "curl",
    *("install", "jupyter", "python", "python3", "sudo", "vfl-flower"),
}
"""First words of commands of the shell and of others' programs, which are not ours to test."""

ALONE = {"account show", "identity", "serve", "export"}
"""Commands of a node's files, of a party's or without an end; tests of their own run them."""


def whole(text: str) -> list[str]:
    """Return the commands of a page, each with its further lines."""
    found: list[str] = []
    for block in blocks(re.sub(r"(?m)^ {3}", "", text), "sh"):
        lines = [line for line in block.splitlines() if not line.startswith("#")]
        rest, ending = "", ""
        for line in lines:
            if ending:  # the text of a file that `cat` writes
                ending = "" if line.strip() == ending else ending
                continue
            rest = f"{rest}\n{line}" if rest else line
            if rest.count("'") % 2 == 0 and not rest.endswith("\\"):
                opened = re.search(r"<<'(\w+)'$", rest)
                ending = opened[1] if opened else ""
                found += [rest] if rest.strip() else []
                rest = ""
        assert not rest, block
    return found


COMMANDS = [(path, each) for path in SHOWN for each in whole(path.read_text())]
MODULES = [(path, each) for path, each in COMMANDS if MODULE.match(each) and not OWN.match(each)]


def test_commands_are_found() -> None:
    assert len(COMMANDS) > 120
    assert len(MODULES) > 12


@pytest.mark.parametrize(
    "command",
    [each for _, each in COMMANDS if each.startswith(("vfl-flower ", "python -m vfl_flower "))],
)
def test_own_command_is_parsed(command: str) -> None:
    if "--help" not in command:
        parsed(command.replace("vfl-flower ", "python -m vfl_flower ", 1))


@pytest.mark.parametrize(("path", "command"), MODULES)
def test_module_takes_its_arguments(path: Path, command: str) -> None:
    found = MODULE.match(command)
    assert found
    name = found[1]
    words = shlex.split(re.sub(r"\[.*?\]", "", found[2]))  # without what may be left out
    if name.startswith("benchmarks.") and "harness" not in name and name != "benchmarks.all":
        every.benchmark(name.removeprefix("benchmarks.")).parsed(words)
        return
    module = importlib.import_module(f"{name}.__main__" if name == "docs.pictures" else name)
    for each in vars(module).values():
        if isinstance(each, click.Command):
            each.make_context(name, words)


def test_options_of_flower_runs_are_options() -> None:
    runs = [command for _, command in COMMANDS if FLOWER.search(command)]
    given = [config for command in runs for config in RUN_CONFIG.findall(command)]
    assert len(given) > 4
    for config in given:
        keys = {*re.findall(r"(?:^|\s)([a-z][a-z-]*)=", config)}
        assert keys <= {*RunConfig().to_mapping(), *map(kebab, method_options()), "resume"}


def test_other_commands_are_of_known_programs() -> None:
    for path, command in COMMANDS:
        first = re.sub(r"^([A-Z_]+=\S+\s+\\?\s*)+", "", command.strip()).split()[0]
        if OWN.match(command) or MODULE.match(command) or command in CI:
            continue
        assert first in TOOLS or path == DEPLOYMENT, (path.name, command)


def kind(command: str) -> str:
    """Return the command below the program that a line calls."""
    words = command.replace('"', "").removeprefix("step ").split()
    if any("run_simulation.py" in word for word in words):
        return "train"
    rest = words[words.index("vfl_flower") + 1 :] if "vfl_flower" in words else words[1:]
    return " ".join(rest[: 2 if rest[0] in {"audit", "data", "policy", "account"} else 1])


def test_every_kind_of_shown_command_is_run() -> None:
    shown = {kind(each) for _, each in COMMANDS if OWN.match(each) and "--help" not in each}
    steps = [line.strip() for line in CI.splitlines() if line.strip().startswith("step ")]
    run = {kind(s) for s in steps if "-m vfl_flower " in s or "run_simulation" in s}
    run |= {kind("x " + s.split('/vfl-flower" ')[1]) for s in steps if "/vfl-flower" in s}
    assert len(shown) > 8
    assert shown <= run | ALONE
