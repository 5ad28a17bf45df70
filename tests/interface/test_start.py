"""Modules that a run from Python imports before its first step."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
RUN = """
import os, sys
import numpy as np
import vfl_flower as vfl

class First(vfl.Callback):
    def on_step(self, step, losses):
        print(*({"scipy.stats", "sklearn", "matplotlib"} & set(sys.modules)))
        sys.stdout.flush()
        os._exit(0)

x, y = np.eye(40, dtype=np.float32), np.arange(40) % 2
shares = [vfl.Arrays(x, y), vfl.Arrays(x)]
vfl.train(shares, method="splitnn", batch_size=8, validation=0, callbacks=[First()])
"""


def test_the_first_step_comes_before_slow_imports() -> None:
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", RUN],
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout == "\n"
