"""Made tables of three parties, with shuffled, partly overlapping ids, as files."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer

from vfl_flower.common.names import party_name
from vfl_flower.config.registry import spec_of

ROWS, SHARE = 240, 8  # of the made tables; columns of a party
BUNCH = load_breast_cancer()
X, Y = BUNCH.data[:ROWS, : 3 * SHARE], BUNCH.target[:ROWS]
NAMES = [f"column {n}" for n in range(3 * SHARE)]
TINY: dict[str, Any] = {
    "dataset": "own",
    "parties": 3,
    "epochs": 2,
    "batch_size": 64,
    "embedding_dim": 8,
    "party_randomness": "public",
}
Rows = list[list[object]]


def write(
    folder: Path, rank: int, rows: Rows, header: list[str], label: str = "", more: str = ""
) -> Path:
    """Write one party's table and its description."""
    with (folder / f"{rank}.csv").open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    said = f'file = "{rank}.csv"\nid = "id"\n' + (f'label = "{label}"\n' if label else "")
    (folder / f"{rank}.toml").write_text(said + more)
    return folder / f"{rank}.toml"


def held(rank: int, rows: NDArray[np.int64], y: list[object] | None = None) -> Rows:
    """Return some rows of a party's file, the active one's with labels."""
    mine = slice(rank * SHARE, (rank + 1) * SHARE)
    return [
        [f"id-{row:03d}", *X[row, mine].tolist(), *([] if y is None else [y[row]])] for row in rows
    ]


def header(rank: int, *more: str) -> list[str]:
    return ["id", *NAMES[rank * SHARE : (rank + 1) * SHARE], *more]


def make(folder: Path, y: list[object] | None = None) -> str:
    """Write three tables with shuffled, partly overlapping ids; return their descriptions."""
    folder.mkdir(exist_ok=True)
    random = np.random.default_rng(7)
    labels = y or [BUNCH.target_names[each] for each in Y]
    paths = []
    for rank in range(3):
        rows = random.permutation(ROWS)[: ROWS - 20]
        given = {"label": "outcome"} if rank == 0 else {}
        said = header(rank, *given.values())
        paths.append(write(folder, rank, held(rank, rows, None if rank else labels), said, **given))
    return ",".join(map(str, paths))


def flags(tables: str, out: Path, *more: str) -> list[str]:
    methods = [each.partition("=")[2] for each in more if each.startswith("--method=")]
    unused = spec_of(methods[0]).unused if methods else ()
    tiny = [f"--{k.replace('_', '-')}={value}" for k, value in TINY.items() if k not in unused]
    return [*tiny, f"--tables={tables}", f"--out={out}", "--baselines=off", *more]


def result_of(out: Path) -> dict[str, Any]:
    result: dict[str, Any] = json.loads((out / "result.json").read_text())
    return result


def weights_of(out: Path) -> list[bytes]:
    return [(out / party_name(k) / "model" / "weights.safetensors").read_bytes() for k in range(3)]


def ids_of(tables: str, rank: int) -> list[str]:
    with Path(tables.split(",")[rank]).with_suffix(".csv").open() as file:
        return [row[0] for row in csv.reader(file)][1:]
