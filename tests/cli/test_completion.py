"""Values that a shell offers."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.shell_completion import ShellComplete

from vfl_flower.cli.main import COMPLETION, PROGRAM, program
from vfl_flower.cli.options import IMPLIED
from vfl_flower.common.errors import ConfigError
from vfl_flower.config.registry import method_options, owners_of
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.schema import declaration
from vfl_flower.config.settings import COMMON

ROOT = Path(__file__).resolve().parents[2]
WITH_NUMBERS = ("compression", "embedding_bound")  # some of their values are numbers


@pytest.mark.parametrize(
    ("words", "begun", "offered"),
    [
        ([], "tr", ["train"]),
        (["audit"], "", ["labels", "reconstruct"]),
        (["train"], "--model-", ["--model-transfer"]),
        (["train", "--method"], "vimadmm_", ["vimadmm_j"]),
        (["train", "--optimizers"], "adam,s", ["adam,sgd"]),
        (["data", "show", "--dataset"], "wi", ["wine"]),
        (["train", "--epochs"], "", []),
    ],
)
def test_completion(words: list[str], begun: str, offered: list[str]) -> None:
    shell = ShellComplete(program, {}, PROGRAM, COMPLETION)
    assert [each.value for each in shell.get_completions(words, begun)] == offered


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (["train", "--config"], "file"),
        (["train", "--weights"], "file"),
        (["train", "--resume"], "dir"),
        (["train", "--out"], "dir"),
        (["report"], "dir"),
        (["identity", "make"], "file"),
    ],
)
def test_shells_complete_paths(words: list[str], kind: str) -> None:
    (only,) = ShellComplete(program, {}, PROGRAM, COMPLETION).get_completions(words, "x")
    assert (only.value, only.type) == ("x", kind)


def test_shells_are_answered_by_the_program_itself() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "vfl_flower"],
        cwd=ROOT,
        env=os.environ
        | {COMPLETION: "bash_complete", "COMP_WORDS": f"{PROGRAM} insp", "COMP_CWORD": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout.split() == ["plain,inspect"]


def test_values_that_shells_offer_are_those_accepted() -> None:
    """A value that nothing resembles is refused with all that there are."""
    accepted, offered = {}, {}
    for name, each in (COMMON | method_options()).items():
        if isinstance(each.default, str) and name not in (*IMPLIED, *WITH_NUMBERS):
            owner = {} if name in COMMON else {"method": owners_of(name)[0]}
            values: dict[str, Any] = {**owner, name: "?"}
            try:
                RunConfig(**values)
            except ConfigError as error:
                _, told, known = str(error).partition("; known are ")
                if told:
                    accepted[name] = set(known.partition(";")[0].split(", "))
            if declaration(each).offered():
                offered[name] = set(declaration(each).offered())
    assert accepted == offered
