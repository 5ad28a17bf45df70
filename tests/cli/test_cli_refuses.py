"""Bad input: exit code 2, one line of explanation, nothing on disk."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.datasets import add_dataset
from tests.helpers.outcomes.commands import train as run
from vfl_flower.config.catalog import NETWORKS
from vfl_flower.config.dataset_specs import DATASETS
from vfl_flower.config.optimization.optimizers import OPTIMIZERS
from vfl_flower.config.optimization.schedules import SCHEDULES
from vfl_flower.config.partition_spec import SCHEMES
from vfl_flower.config.registry import METHODS
from vfl_flower.config.run_config import RunConfig, read_toml
from vfl_flower.data.columns import Features
from vfl_flower.data.datasets import DataSet

ROOT = Path(__file__).resolve().parents[2]
TINY = ["--epochs", "1", "--batch-size", "300", "--embedding-dim", "8", "--baselines", "off"]


class Refusals:
    """Runs commands in an empty folder and checks how they are refused."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capsys = folder, capsys

    def line(self, *arguments: str) -> str:
        """Return the one line on stderr of a command that is refused."""
        self.capsys.readouterr()
        assert run(arguments) == 2
        lines = self.capsys.readouterr().err.splitlines()
        assert len(lines) == 1, lines
        assert lines[0].startswith("error: ")
        assert "Traceback" not in lines[0]
        return lines[0]

    def untouched(self, *arguments: str) -> str:
        """Return it, and check that the command left no trace on disk."""
        before = sorted(self.folder.rglob("*"))
        line = self.line(*arguments)
        assert sorted(self.folder.rglob("*")) == before
        return line


@pytest.fixture
def refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Refusals:
    monkeypatch.chdir(tmp_path)
    return Refusals(tmp_path, capsys)


@pytest.mark.parametrize(
    ("flags", "parts"),
    [
        (["--method", "eester"], ["method", "'eester'", "did you mean 'easter'"]),
        (["--method", "xyz"], [f"unknown method 'xyz'; known are {', '.join(METHODS)}"]),
        (["--dataset", "iris"], [f"unknown dataset 'iris'; known are {', '.join(DATASETS)}"]),
        (["--dataset", "minst"], ["'minst'", "breast-cancer", "did you mean 'mnist'?"]),
        (["--models", "mlp2"], ["model 'mlp2'", ", ".join(NETWORKS), "did you mean 'mlp'"]),
        (["--models", "mlp,cnn,foo,mlp"], ["model 'foo'"]),
        (["--models", "mlp;cnn;mlp;mlp"], ["'mlp;cnn;mlp;mlp'", "commas between several"]),
        (["--optimizers", "adamm"], ["optimizer 'adamm'", ", ".join(OPTIMIZERS), "'adam'?"]),
        (["--partition", "diagonal"], ["partition 'diagonal'", ", ".join(SCHEMES)]),
        (["--partition", "grid-2x2"], ["partition 'grid-2x2'", "write grid:2x2", "strips"]),
        (["--partition", "grid:2,2"], ["partition must be grid:2x2", "'grid:2,2'"]),
        (["--partition", "listed:0-3|4-7"], ["semicolons between parties", "'listed:0-3|4-7'"]),
        (["--lr", "fast"], ["learning-rates", "'fast'"]),
        (["--schedule", "line"], ["schedule 'line'", ", ".join(SCHEDULES), "'linear'?"]),
        (["--blinding", "pair"], ["blinding", "'pair'"]),
        (["--loss", "hinge"], ["loss", "'hinge'"]),
        (["--baselines", "yes"], ["baselines", "'yes'"]),
        (["--epoch", "3"], ["--epoch", "--help"]),
        (["3"], ["3", "--help"]),
        (["--epochs"], ["--epochs", "requires an argument"]),
        (["--epochs", "many"], ["--epochs", "int", "'many'"]),
        (["--epochs", "1.5"], ["--epochs", "int", "'1.5'"]),
        (["--validation", "half"], ["--validation", "float", "'half'"]),
        (["--models", "mlp,cnn"], ["models", "2 values", "4 parties"]),
        (["--optimizers", "sgd,sgd,sgd"], ["optimizers", "3 values", "4 parties"]),
        (["--learning-rates", "1,1,1,1,1"], ["learning-rates", "5 values", "4 parties"]),
        (["--parties", "2"], ["easter", "blinds", "parties = 3", "blinding = none"]),
        (["--parties", "1"], ["parties", "at least 2", "1"]),
        (["--parties", "9"], ["8 pixel columns", "9 parties"]),
        (["--batch-size", "0"], ["batch-size", "at least 1", "0"]),
        (["--batch-size", "5000"], ["batch-size", "5000", "1294 training rows"]),
        (["--epochs", "-1"], ["epochs", "at least 0", "-1"]),
        (["--seed", "-1"], ["seed", "at least 0", "-1"]),
        (["--threads", "0"], ["threads", "at least 1", "0"]),
        (["--validation", "1"], ["validation", "at least 0 and below 1", "1.0"]),
        (["--validation", "nan"], ["validation", "at least 0 and below 1", "nan"]),
        (["--validation", "0.0001"], ["validation", "no rows"]),
        (["--party-timeout", "0"], ["party-timeout", "above 0", "0.0"]),
        (["--party-timeout", "1e18"], ["party-timeout", "at most 1000000000"]),
        (["--threads", "100000"], ["threads", "at most 1024"]),
        (["--embedding-dim", "1" + "0" * 23], ["embedding-dim", "at most 1000000"]),
        (["--learning-rates", "1e300"], ["learning-rates", "'1e300'"]),
        (["--out", "x" * 300], ["cannot be used", "too long"]),
        (["--out", "nul\0byte"], ["cannot be used", "null"]),
        (["--resume", "x" * 300], ["cannot be used", "too long"]),
        (["--resume", ""], ["--resume is empty"]),
        (["--config", ""], ["--config is empty"]),
        (["--resume", "runs", "--out", "other"], ["--resume", "own folder"]),
        *[
            (["--learning-rates", rate], ["learning-rates", f"'{rate}'", "positive"])
            for rate in ("nan", "inf", "0", "-1", "abc", "0.1,nan,0.1,0.1")
            if "," not in rate
        ],
        (["--learning-rates", "0.1,nan,0.1,0.1"], ["learning-rates", "'nan'"]),
        (["--seeds", "1"], ["--seeds", "at least 2", "1"]),
        (["--folds", "1"], ["--folds", "at least 2", "1"]),
        (["--folds", "2", "--seeds", "2"], ["--folds", "--seeds", "use one"]),
        (["--folds", "2", "--fold", "0/2"], ["fold is 0/2", "leave fold empty"]),
        (["--folds", "2", "--test-share", "0.3"], ["test-share", "0.3"]),
        (["--resume", "runs", "--folds", "2"], ["--resume", "folds"]),
        (["--seeds", "two"], ["--seeds", "int", "'two'"]),
        (["--models", "cnn", "--partition", "columns"], ["party-1", "cnn", "images", "use mlp"]),
        (["--models", "mlp,mlp,cnn,mlp", "--partition", "columns"], ["party-2", "cnn"]),
        (["--dataset", "mnist", "--no-download"], ["MNIST", "data-dir", "{folder}/data"]),
        (["--config", "none.toml"], ["none.toml", "cannot be read"]),
        (["--resume", "nowhere"], ["nowhere", "no run", "config.toml"]),
        (["--resume", "runs", "--seeds", "2"], ["--resume", "seeds"]),
    ],
    ids=lambda value: " ".join(value) if value[0].startswith("--") else "says",
)
def test_refused(flags: list[str], parts: list[str], refused: Refusals) -> None:
    line = refused.untouched(*flags)
    for part in parts:
        assert part.format(folder=refused.folder) in line


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("epoch = 3", ["'epoch'", "'epochs'"]),
        ('epochs = "3"', ["epochs", "int", "'3'"]),
        ("epochs = 3.0", ["epochs", "int", "3.0"]),
        ("epochs = true", ["epochs", "int", "True"]),
        ("download = 1", ["download", "bool", "1"]),
        ("models = ['mlp']", ["models", "str", "['mlp']"]),
        ("[training]\nepochs = 3", ["'training' is a table", "top level"]),
        ("party-timeout = 1" + "0" * 400, ["party-timeout", "float"]),
        ("epochs = 1" + "0" * 5000, ["options.toml", "cannot be read"]),
        ("epochs = ", ["options.toml", "cannot be read"]),
        ("epochs = 1\nepochs = 2", ["options.toml", "cannot be read"]),
        ("\udcff", ["options.toml", "cannot be read"]),
    ],
)
def test_bad_toml(text: str, parts: list[str], refused: Refusals) -> None:
    Path("options.toml").write_bytes(text.encode(errors="surrogateescape"))
    line = refused.untouched("--config", "options.toml")
    for part in parts:
        assert part in line


def test_bad_key_names_its_file(refused: Refusals) -> None:
    """Files and flags may meet; the line names the source."""
    Path("options.toml").write_text("epoch = 3")
    assert "options.toml" in refused.untouched("--config", "options.toml", "--seed", "1")


def test_out_is_never_overwritten(refused: Refusals) -> None:
    Path("full").mkdir()
    Path("full/precious.txt").write_text("mine")
    Path("file").write_text("mine")
    for out in ("full", "file", "file/below"):
        for seeds in ([], ["--seeds", "2"]):
            assert out in refused.untouched(*TINY, *seeds, "--out", out)
    assert Path("full/precious.txt").read_text() == Path("file").read_text() == "mine"


def test_resume_with_other_options_lists_them(refused: Refusals) -> None:
    assert run([*TINY, "--out", "run"]) == 0
    changes = ["--epochs", "9", "--models", "mlp", "--seed", "0"]
    line = refused.untouched("--resume", "run", *changes)
    assert "epochs is 1, not 9" in line
    assert "models is 'mixed', not 'mlp'" in line
    assert "seed" not in line


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Features:
    """Register a data set of 60 rows and 8 columns."""
    features = np.random.default_rng(0).normal(size=(60, 8)).astype(np.float32)
    labels = (np.arange(60) % 3).astype(np.int64)
    data = DataSet(3, 0, lambda folder, may: features, lambda folder, may: labels)
    add_dataset(monkeypatch, "made", data, images=True)
    return features


@pytest.mark.parametrize(
    ("column", "value", "party", "own"),
    [(0, np.nan, "active", 0), (5, np.nan, "party-2", 1), (7, np.inf, "party-3", 1)],
)
def test_bad_cell_names_party_and_column(
    column: int, value: float, party: str, own: int, made: Features, refused: Refusals
) -> None:
    flags = [
        "--dataset",
        "made",
        "--data-dir",
        f"{column}",
        "--partition",
        "columns",
        "--models",
        "mlp",
    ]
    made[17, column] = value
    line = refused.untouched(*TINY, *flags, "--batch-size", "20")
    assert f"{party}: column {own} holds NaN or infinity" in line
    assert "clean or impute" in line


def test_overflow_of_the_ring(refused: Refusals) -> None:
    """Party and limit are named, and the run's state can be resumed."""
    flags = [*TINY, "--models", "mlp", "--optimizers", "sgd", "--learning-rates", "1e6"]
    line = refused.line(*flags, "--epochs", "3", "--out", "run")
    assert "party-" in line
    assert "10922.7" in line
    assert "lower the learning rate" in line
    kept = RunConfig.from_mapping(read_toml(Path("run/config.toml")))
    assert kept.learning_rates == "1e6"
    assert not Path("run/result.json").exists()
    assert Path("run/metrics.jsonl").read_text() == ""
    assert "10922.7" in refused.line("--resume", "run")
    mended = ["--config", "run/config.toml", "--learning-rates", "0.05", "--out", "mended"]
    assert run(mended) == 0


@pytest.mark.slow
def test_parties_log_to_their_own_folders_and_the_terminal_gets_one_line(tmp_path: Path) -> None:
    """In a process of its own, where only the command configures logging."""
    flags = [*TINY, "--models", "mlp", "--optimizers", "sgd", "--learning-rates", "1e6"]
    command = [sys.executable, str(ROOT / "run_simulation.py"), *flags, "--epochs", "3"]
    done = subprocess.run(  # noqa: S603
        [*command, "--out", str(tmp_path / "run")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: party-")
    assert "largest value" not in done.stdout
    logs = list((tmp_path / "run").glob("*/log.txt"))
    assert logs
    for log in logs:
        text = log.read_text()
        assert "the largest value was" in text
        assert "BlindingError" in text
        assert "Traceback" not in text
        assert log.stat().st_mode & 0o777 == 0o600


def test_diverging_unblinded_run_is_not_a_success(refused: Refusals) -> None:
    """Without the ring nothing overflows; an infinite loss is no result either."""
    flags = [*TINY, "--models", "mlp", "--optimizers", "sgd", "--learning-rates", "1e30"]
    line = refused.line(*flags, "--blinding", "none", "--out", "run")
    assert "not finite" in line


def test_all_defaults_are_accepted() -> None:
    """The checks refuse impossible values only."""
    assert replace(RunConfig(), parties=2, blinding="none").parties == 2
    assert replace(RunConfig(), learning_rates="0.1, 1e-3, auto, 2").rate_of(1) == 1e-3
