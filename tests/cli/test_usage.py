"""Wrong command lines: one line each, with a hint."""

import re

import pytest

from vfl_flower.cli.main import run as program


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ([], ["Missing command: one of train, sweep, align", "vfl-flower --help"]),
        (
            ["audit"],
            ["Missing command: one of card, labels, reconstruct", "vfl-flower audit --help"],
        ),
        (["train", "wine"], ["(wine); did you mean --dataset wine"]),
        (["train", "--dataset", "splitnn", "vafl"], ["(vafl); did you mean --method vafl"]),
        (["train", "3"], ["(3); see vfl-flower train --help"]),
        (["train", "--method", "EASTER"], ["did you mean 'easter'"]),
        (["train", "--models", "mine.Net"], ["'mine.Net'", "package.module:Class"]),
        (["data", "columns", "none.toml"], ["none.toml cannot be read: No such file"]),
        (["trian"], ["'trian'", "did you mean 'train'", "vfl-flower --help"]),
        (
            ["audit", "columns"],
            ["'columns'", "card, labels, reconstruct", "vfl-flower audit --help"],
        ),
        (["inspect"], ["RUN", "vfl-flower inspect --help"]),
        (["inspect", ""], ["RUN is empty"]),
        (["inspect", "nowhere"], ["nowhere", "holds no run"]),
        (["report", "nul\0byte"], ["cannot be found", "null"]),
        (["train", "--jsn"], ["--jsn", "--json", "vfl-flower train --help"]),
    ],
)
def test_the_program_refuses(
    arguments: list[str], parts: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert program(arguments) == 2
    shown = capsys.readouterr()
    (line,) = shown.err.splitlines()
    assert line.startswith("error: ")
    for part in parts:
        assert part in line
    assert shown.out == ""


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert program(["--version"]) == 0
    assert re.fullmatch(r"vfl-flower \S.*\n", capsys.readouterr().out)
