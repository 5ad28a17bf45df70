"""Analyses and predictions of runs whose split the active party has told."""

from pathlib import Path

import pytest

from vfl_flower.cli.main import run

STRATIFIED = ["--split", "stratified", "--parties", "3", "--models", "mlp"]
STRATIFIED += ["--epochs", "1", "--batch-size", "64", "--baselines", "off"]
TABLE = ["--dataset", "breast-cancer"]
"""Flags of runs with a split that needs labels."""


@pytest.fixture(scope="module")
def correlated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run whose partition is fitted on its training rows."""
    folder = tmp_path_factory.mktemp("told") / "run"
    made = ["train", "--method", "splitnn", *TABLE, "--partition", "correlation:0.5"]
    assert run([*made, *STRATIFIED, "--out", str(folder)]) == 0
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("flags", [[], ["--party", "party-1"]])
def test_parties_and_columns_are_explained(correlated: Path, flags: list[str]) -> None:
    assert run(["explain", str(correlated), "--repeats", "2", *flags]) == 0


def test_labels_stand_beside_predictions(correlated: Path, tmp_path: Path) -> None:
    out = tmp_path / "said.csv"
    assert run(["predict", str(correlated), "--rows", "test", "--truth", "--out", str(out)]) == 0
    assert out.read_text().splitlines()[0].startswith('"id","prediction"')


def test_pooled_columns_are_explained_by_party(tmp_path: Path) -> None:
    made = ["train", "--method", "central", *TABLE, *STRATIFIED, "--out", str(tmp_path / "run")]
    assert run(made) == 0
    assert run(["explain", str(tmp_path / "run"), "--repeats", "2"]) == 0


def test_pixels_of_parties_are_drawn(tmp_path: Path) -> None:
    made = ["train", "--method", "splitnn", *STRATIFIED, "--out", str(tmp_path / "run")]
    assert run(made) == 0
    figures = tmp_path / "figures"
    assert run(["explain", str(tmp_path / "run"), "--repeats", "2", "--out", str(figures)]) == 0
    assert (figures / "pixels.png").is_file()
