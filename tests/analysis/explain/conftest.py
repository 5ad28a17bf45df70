"""Trained runs to be explained."""

import shutil
from pathlib import Path

import pytest

from tests.helpers.outcomes.explained import Runs


@pytest.fixture(scope="package")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    return Runs(tmp_path_factory.mktemp("explained"))


@pytest.fixture
def copied(runs: Runs, tmp_path: Path) -> Path:
    """Return a copy of a run that a test may change."""
    return Path(shutil.copytree(runs / "strips", tmp_path / "run"))
