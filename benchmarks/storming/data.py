"""Tables, options and undisturbed weights of a storm's runs."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.storming.loopback import Stuck
from vfl_flower.common.errors import RunError
from vfl_flower.common.names import party_name
from vfl_flower.common.sources import ROOT

SHARED = (
    'models="mlp" batch-size=256 embedding-dim=16 party-randomness="public" embedding-bound="none"'
)
"""Of all runs; randomness that follows from the seed makes two of them equal."""

FLAGS = ("--models", "mlp", "--batch-size", "256", "--embedding-dim", "16", "--baselines", "off")
SHARE = 0.9
"""Of the customers at each party."""


def make_tables(folder: Path, parties: int, customers: int) -> list[Path]:
    """Write a table for each party; the first has labels."""
    folder.mkdir(parents=True)
    draw = np.random.default_rng(0)
    columns = draw.standard_normal((customers, 2 * parties)).round(4)
    labels = (columns.sum(1) > 0).astype(np.int64)
    files = [folder / f"table-{k}.csv" for k in range(parties)]
    for k, file in enumerate(files):
        there = np.flatnonzero(draw.random(customers) < SHARE)
        held = [there, *columns[there, 2 * k : 2 * k + 2].T, *([labels[there]] if k == 0 else [])]
        head = ",".join(["customer", f"a{k}", f"b{k}", *(["bought"] if k == 0 else [])])
        form = ["c%d", "%.4f", "%.4f", *(["%d"] if k == 0 else [])]
        np.savetxt(file, np.stack(held, 1), form, ",", header=head, comments="")
    return files


def own(files: Sequence[Path]) -> list[str]:
    """Return the configurations of nodes with these tables."""
    return [f'table="{file}" id="customer"' for file in files]


def options(file: Path) -> str:
    """Return the options of a run with the active party's table."""
    return f'dataset="own" tables="{file}" id="customer" label="bought"'


def undisturbed(folder: Path, parties: int, flags: Sequence[str], limit: float) -> list[bytes]:
    """Train in one process; return all parties' weights."""
    words = [*FLAGS, "--parties", str(parties), *flags, "--out", str(folder)]
    command = [sys.executable, "-m", "vfl_flower", "train", *words]
    try:
        done = subprocess.run(  # noqa: S603
            command, cwd=ROOT, timeout=limit, capture_output=True, text=True, check=False
        )
    except subprocess.TimeoutExpired:
        raise Stuck("the undisturbed run in one process has not ended") from None
    if done.returncode:
        raise RunError(f"the undisturbed run ended with {done.returncode}: {done.stderr}")
    files = [folder / party_name(k) / "model/weights.safetensors" for k in range(parties)]
    return [file.read_bytes() for file in files]
