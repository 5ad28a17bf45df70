"""One paper, whose runs are of this process."""

import pytest

from benchmarks import reproduce
from benchmarks.reproducing import plan, workers
from tests.benchmarks.reproducing.made import PAPER, InThisProcess


@pytest.fixture(autouse=True)
def _made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Know one paper, and run in this process."""
    monkeypatch.setattr(plan, "papers", lambda: {"made": PAPER})
    monkeypatch.setattr(reproduce, "papers", lambda: {"made": PAPER})
    monkeypatch.setattr(workers, "ProcessPoolExecutor", InThisProcess)
