"""Runs that several tests of analyses look at."""

from pathlib import Path

import pytest

from tests.helpers.outcomes.attacked_runs import RUNS
from tests.helpers.outcomes.attempts import Attempt


@pytest.fixture(scope="module")
def attacked_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a complete run of each kind."""
    root = tmp_path_factory.mktemp("attacked")
    for name, cfg in RUNS.items():
        Attempt(cfg, root / name).run()
    return root
