"""Fixtures of tests of run folders."""

from pathlib import Path

import pytest

from tests.helpers.outcomes.commands import train as run
from tests.helpers.outcomes.run_folders import FLAGS


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train without an interruption."""
    out = tmp_path_factory.mktemp("whole") / "run"
    assert run([*FLAGS, "--out", str(out)]) == 0
    return out
