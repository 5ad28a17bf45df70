"""PraVFed_main, the program of PraVFed's authors, on true labels.

Networks are its own, a LeNet at the active party. It is no package, and pins none of what it needs.
"""

from typing import Any

from benchmarks.peers.kind import ROUNDS
from benchmarks.peers.peer import SIMULATED, Peer

COMMON: dict[str, Any] = {
    "method": "pravfed",
    "parties": 4,
    "active-columns": "own",
    "batch-size": 128,
    "learning-rates": "0.01",
    "optimizers": "adagrad,sgd,sgd,sgd",
    "label-privacy": "none",
    "top-layers": 1,
}
STRIPS: dict[str, Any] = {
    "dataset": "mnist",
    "partition": "strips",
    "models": "pravfed-lenet,pravfed-lenet,pravfed-cnn,pravfed-mlp",
    "embedding-dim": 50,
    "train-rows": 12800,
    "epochs": 2,
    "local-epochs": 2,
}
TABLE: dict[str, Any] = {
    "dataset": "breast-cancer",
    "partition": "columns",
    "models": "pravfed-table",
    "embedding-dim": 32,
    "epochs": 2,
    "local-epochs": 2,
}

PRAVFED = Peer(
    title="PraVFed_main, PraVFed's authors' program",
    environment="pravfed",
    packages=("pandas==2.3.3", "openpyxl==3.1.5", "xlsxwriter==3.2.9", "tqdm==4.67.1"),
    module="authors.pravfed",
    way=SIMULATED,
    runs="one program, one party after the other",
    work=COMMON | STRIPS,
    tiny=COMMON | TABLE,
    warm_up=0,
    variables={"CUDA_VISIBLE_DEVICES": ""},
    kind=ROUNDS,
    repository="https://github.com/wangshuo105/PraVFed_main",
    commit="6c58721e989d855b2ea4301a08a34c982816efdf",
)
