"""Peak memory is this process's own."""

import subprocess
import sys

import numpy as np
import pytest

from vfl_flower.runs.memory import peak_memory

PROGRAM = "from vfl_flower.runs.memory import peak_memory; print(peak_memory())"
LARGE = 1 << 28


@pytest.mark.slow
def test_peak_is_not_the_parent_s() -> None:
    kept = np.ones(LARGE, np.uint8)
    done = subprocess.run(  # noqa: S603  our own interpreter
        (sys.executable, "-c", PROGRAM), check=True, capture_output=True, text=True
    )
    own = peak_memory()
    assert own is not None
    assert 0 < int(done.stdout) < len(kept) < own


@pytest.mark.slow
def test_peak_stays_when_memory_is_given_back() -> None:
    before = peak_memory()
    np.ones(LARGE, np.uint8)
    after = peak_memory()
    assert before is not None
    assert after is not None
    assert after >= max(before, LARGE)
