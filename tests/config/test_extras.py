"""Runs without extras; refusals that name the missing one."""

import sys
import tomllib
from pathlib import Path

import pytest

from tests.helpers.outcomes.commands import (
    audit,
    data,
    explain,
    export,
    report,
    serve,
    train,
)
from vfl_flower.common.optional.extras import EXTRAS
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.validation.extras import check_extras

ROOT = Path(__file__).resolve().parents[2]
QUICK = ["--models", "mlp", "--epochs", "1", "--baselines", "off", "--train-rows", "256"]
LACKING = [
    ("--target-epsilon 8 --method splitnn", "dp-sigma or target-epsilon", "dp"),
    ("--models resnet18", "active: network resnet18", "images"),
    ("--models mlp,mlp,mlp,vgg16_bn", "party-3: network vgg16_bn", "images"),
    ("--method adptvfedconv", "network vgg16_bn", "images"),
    ("--dataset mnist", "dataset = mnist", "images"),
    ("--dataset modelnet40", "dataset = modelnet40", "images"),
    ("--tensorboard", "track = tensorboard", "tensorboard"),
    ("--track mlflow", "track = mlflow", "mlflow"),
    ("--track tensorboard,wandb", "track = tensorboard", "tensorboard"),
    ("--track wandb", "track = wandb", "wandb"),
]


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide all packages that extras install."""
    for package in EXTRAS:
        monkeypatch.setitem(sys.modules, package, None)


@pytest.mark.usefixtures("bare")
def test_the_core_trains_without_extras(tmp_path: Path) -> None:
    assert train([*QUICK, "--out", str(tmp_path / "run")]) == 0
    assert (tmp_path / "run" / "result.json").exists()


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize(("flags", "who", "extra"), LACKING, ids=[each[0] for each in LACKING])
def test_a_run_names_the_extra_that_it_needs(
    flags: str, who: str, extra: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train([*flags.split(), "--out", str(tmp_path / "run")]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert f"{who} needs the extra '{extra}': pip install 'vfl-flower[{extra}]'" in told
    assert not (tmp_path / "run").exists()


@pytest.mark.usefixtures("bare")
def test_a_command_names_the_extra_that_it_needs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = str(tmp_path)
    for command, arguments, extra in (
        (report, [run], "plots"),
        (explain, [run, "--out", str(tmp_path / "out")], "plots"),
        (audit, ["reconstruct", run], "audit"),
        (data, ["show", "--picture", str(tmp_path / "x.png")], "images"),
        (serve, [run, "--token", "token"], "serve"),
        (export, [run, "--out", run], "onnx"),
    ):
        assert command(arguments) == 2
        told = " ".join(capsys.readouterr().err.split())
        assert f"pip install 'vfl-flower[{extra}]'" in told


@pytest.mark.usefixtures("bare")
def test_a_party_needs_the_packages_of_its_own_network_only() -> None:
    check_extras(RunConfig(models="mlp,mlp,mlp,resnet18"), 1)


def test_extras_are_those_of_pyproject() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = set(declared["optional-dependencies"]) - {"dev", "all"}
    assert set(EXTRAS.values()) == extras
    (everything,) = declared["optional-dependencies"]["all"]
    assert everything == f"vfl-flower[{','.join(declared['optional-dependencies'])}]".replace(
        ",all,dev", ""
    )
