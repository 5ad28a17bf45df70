"""Modules that a run from Python imports, and when."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RUN = """
import sys
import numpy as np
import vfl_flower as vfl

class First(vfl.Callback):
    def on_step(self, step, losses):
        if step == 1:
            print(*({"scipy.stats", "sklearn", "matplotlib"} & set(sys.modules)))

x, y = np.eye(40, dtype=np.float32), np.arange(40) % 2
shares = [vfl.Arrays(x, y), vfl.Arrays(x)]
own = {"method": "splitnn", "batch_size": 8, "epochs": 1, "checkpoint_every": 2}
vfl.train(shares, **own, callbacks=[First()], progress=False)
print("torch._dynamo" in sys.modules)
"""


@pytest.mark.slow
def test_slow_imports_come_after_the_first_step_and_torch_s_compiler_never() -> None:
    """Torch's own optimizers import its compiler: 74 MiB and a second."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", RUN],
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout == "\nFalse\n"
