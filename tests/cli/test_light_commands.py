"""Help, refusals and inspect import nothing that is slow."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.outcomes.commands import train
from vfl_flower.cli.main import COMMANDS
from vfl_flower.config.dataset_specs import DATASETS

ROOT = Path(__file__).resolve().parents[2]
SLOW = ["torch", "flwr", "numpy", "sklearn", "pyarrow", "matplotlib"]
RUN = """
import sys
from vfl_flower.cli.main import run

ends = eval(sys.argv[1])
done = [run(arguments) for _, arguments in ends]
slow = [name for name in eval(sys.argv[2]) if name in sys.modules]
sys.exit(str((done, slow)) if slow or done != [code for code, _ in ends] else 0)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Hold a complete run, and one table description without its fellow."""
    path = tmp_path_factory.mktemp("light")
    flags = ["--dataset", "wine", "--epochs", "1", "--models", "linear", "--baselines", "off"]
    assert train([*flags, "--out", str(path / "run")]) == 0
    (path / "bank.toml").write_text('file = "bank.csv"\nid = "id"\nlabel = "y"\n')
    return path


def light(folder: Path, *ends: tuple[int, list[str]]) -> str:
    """Run commands in one new process that imports nothing slow."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", RUN, repr(ends), repr(SLOW)],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_help_and_unknown_flags(folder: Path) -> None:
    helps = [(0, [*words, "--help"]) for words in ([], *([name] for name in COMMANDS))]
    light(folder, *helps, *((2, [name, "--no-such"]) for name in COMMANDS))


def test_refused_options_and_files(folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    own = ["--dataset", "own", "--method", "splitnn", "--parties", "2"]
    light(
        folder,
        *(
            (2, ["train", *flags])
            for flags in (
                ["--method", "nope"],
                ["--learning-rates", "x"],
                ["--seeds", "1"],
                ["--resume", "none"],
                ["--resume", "run", "--epochs", "9"],
                ["--out", "run"],
                ["--config", "none.toml"],
                [*own, "--tables", "bank.toml,none.toml"],
            )
        ),
        (2, ["align", "--parties", "2", "--tables", "none.toml,none.toml"]),
        (2, ["data", "show", "--dataset", "nope"]),
        (2, ["data", "columns", "none.toml"]),
        (2, ["policy", "check", "none.toml"]),
        *((2, [*words, "none"]) for words in (["inspect"], ["report"], ["explain"])),
        *((2, ["audit", words, "none"]) for words in ("card", "labels", "reconstruct")),
        (2, ["predict", "none", "--out", "rows.csv"]),
    )
    assert sorted(folder.rglob("*")) == before


def test_data_sets_are_listed(folder: Path) -> None:
    told = light(folder, (0, ["data", "list"]))
    listed = [line.split()[1] for line in told.splitlines() if line.startswith("│")]
    assert listed == list(DATASETS)


def test_a_run_at_a_glance(folder: Path) -> None:
    assert "wine" in light(folder, (0, ["inspect", "run"]), (0, ["policy", "show"]))
    told = json.loads(light(folder, (0, ["inspect", "run", "--json"])))
    assert told["config"]["dataset"] == "wine"
