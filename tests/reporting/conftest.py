"""Fixtures of tests of reports."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.outcomes.commands import train as run
from tests.helpers.outcomes.report_pages import SHORT


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Train EASTER, VFedMH, and three seeds."""
    root = tmp_path_factory.mktemp("runs")
    assert run([*SHORT, "--baselines", "on", "--out", str(root / "easter")]) == 0
    assert run([*SHORT, "--method", "vfedmh", "--out", str(root / "vfedmh")]) == 0
    assert run([*SHORT, "--seeds", "3", "--baselines", "on", "--out", str(root / "seeds")]) == 0
    yield root


@pytest.fixture
def copied(runs: Path, tmp_path: Path) -> Path:
    """Return a copy of the EASTER run that a test may change."""
    return Path(shutil.copytree(runs / "easter", tmp_path / "run"))
