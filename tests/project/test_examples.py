"""Every example works as its page shows."""

import runpy
import shlex
from pathlib import Path

import pytest

from tests.helpers.outcomes.pages import ROOT, arguments_of, commands
from vfl_flower.cli.main import run

PAGES = sorted((ROOT / "examples").rglob("README.md"))
FOLDERS = sorted(path for path in (ROOT / "examples").iterdir() if path.is_dir())
WORKED = [page for page in PAGES if page.parent.name != "notebooks"]  # see tests/examples
WRITTEN = ("TABLES", "RUN", "predictions.csv")
"""Names that pages use for what the commands write."""


def moved(command: str, folder: Path) -> str:
    """Return a command that writes into a folder."""
    for name in WRITTEN:
        command = command.replace(name, f"{folder}/{name}")
    return command


def test_every_example_has_a_page_with_commands() -> None:
    assert [page.parent for page in PAGES] == FOLDERS != []
    for page in PAGES:
        assert commands(page.read_text()), page


@pytest.mark.slow
@pytest.mark.parametrize("page", WORKED, ids=lambda page: page.parent.name)
def test_example_works(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for command in commands(page.read_text()):
        if "-m deploy.local" in command:  # .ci/run does that
            continue
        here = moved(command, tmp_path)
        words = shlex.split(here)
        if words[1].endswith(".py") and words[1] != "run_simulation.py":
            monkeypatch.setattr("sys.argv", words[1:])
            runpy.run_path(words[1], run_name="__main__")
        else:
            assert run(arguments_of(here)) == 0, command
    for name in WRITTEN:
        if name in page.read_text():
            assert (tmp_path / name).exists(), name
