"""Values that a shell offers."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.shell_completion import ShellComplete

from vfl_flower.cli.completion import PROGRAM, script
from vfl_flower.cli.completion import VARIABLE as COMPLETION
from vfl_flower.cli.main import program, run
from vfl_flower.cli.options import IMPLIED
from vfl_flower.common.errors import ConfigError
from vfl_flower.config.registry import method_options, owners_of
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.schema import declaration
from vfl_flower.config.settings import COMMON

ROOT = Path(__file__).resolve().parents[2]
WITH_NUMBERS = (
    "compression",
    "downlink",
    "gradient_defence",
    "embedding_defence",
    "label_encoding",
    "embedding_bound",
    "threshold",
)  # some of their values are numbers


@pytest.mark.parametrize(
    ("words", "begun", "offered"),
    [
        ([], "tr", ["train"]),
        (["audit"], "", ["card", "labels", "reconstruct"]),
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


BASH = """
eval "$({python} {file} --completion bash)"
COMP_WORDS=({words}) COMP_CWORD={last} COMPREPLY=()
_run_simulationpy_completion_of_python {python} "" ""
echo "${{COMPREPLY[@]}}"
"""


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("--method vimadmm_", "vimadmm_j"),
        ("--lr 0.1 --dataset wi", "wine"),
        ("--blinding none --optimizers sgd,adamw --keep b", "best"),
    ],
)
def test_bash_completes_a_file_of_python(words: str, offered: str) -> None:
    typed = f"{sys.executable} {ROOT / 'run_simulation.py'} {words}"
    told = BASH.format(
        python=sys.executable,
        file=ROOT / "run_simulation.py",
        words=typed,
        last=len(typed.split()) - 1,
    )
    done = subprocess.run(  # noqa: S603
        ["/bin/bash", "--norc", "-c", "compopt() { :; }\n" + told],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout.split() == [offered], done.stderr


def test_bash_leaves_other_files_of_python_alone() -> None:
    other = BASH.format(
        python=sys.executable, file=ROOT / "run_simulation.py", words="python other.py --", last=2
    )
    done = subprocess.run(  # noqa: S603
        ["/bin/bash", "--norc", "-c", other], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_program_prints_what_a_shell_evaluates(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["--completion", shell]) == 0
    assert f"{COMPLETION}={shell}_complete" in capsys.readouterr().out


def test_what_no_shell_can_do_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--completion", "tcsh"]) == 2
    assert "unknown shell 'tcsh'; known are bash, zsh, fish" in capsys.readouterr().err
    with pytest.raises(ConfigError, match="bashcompinit"):
        script("zsh", "run_simulation.py")


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
