"""VFL-ADMM, the program of VIM's authors: VIMADMM, split learning, FedBCD.

Options are those of its ``scripts/clean/mnist``, for one epoch; of FedBCD for the 14 after which
the paper has 96 %. It is no package. Opacus is of the version that it asks for.
"""

from dataclasses import replace
from typing import Any

from benchmarks.peers.kind import ROUNDS
from benchmarks.peers.peer import SIMULATED, Peer

MOMENTUM, SGD = "momentum:weight_decay=0.001", "sgd:weight_decay=0.001"
COMMON: dict[str, Any] = {
    "parties": 15,
    "partition": "strips:rows",
    "models": "vim-mlp",
    "embedding-dim": 60,
    "batch-size": 1024,
    "epochs": 1,
    "dataset": "mnist",
}
ADMM: dict[str, Any] = {
    "method": "vimadmm",
    "optimizers": MOMENTUM,
    "learning-rates": "0.1",
    "head-rate": 0.1,
    "beta": 0.0005,
    "local-steps": 20,
    "rho": 1.0,
}
SPLIT: dict[str, Any] = {
    "method": "splitnn",
    "optimizers": ",".join([SGD, *[MOMENTUM] * 14]),
    "learning-rates": "0.3",
}
BCD: dict[str, Any] = SPLIT | {
    "method": "fedbcd",
    "learning-rates": "0.01",
    "local-steps": 20,
    "active-steps": "one",
}
FEW: dict[str, Any] = {"dataset": "digits", "parties": 9, "train-rows": 600, "batch-size": 200}
EIGHT: dict[str, Any] = {"optimizers": ",".join([SGD, *[MOMENTUM] * 8])}

VIMADMM = Peer(
    title="VFL-ADMM, VIM's authors' program",
    environment="vfl-admm",
    packages=("opacus==0.15.0", "scipy==1.17.1"),
    module="authors.vfl_admm",
    way=SIMULATED,
    runs="one program; processes for z alone",
    work=COMMON | ADMM,
    tiny=COMMON | ADMM | FEW,
    warm_up=2,
    kind=ROUNDS,
    repository="https://github.com/AI-secure/VFL-ADMM",
    commit="1fe1e1c90be286bb8c5f565343077e88c56f0e9d",
)
SPLIT_LEARNING = replace(
    VIMADMM,
    runs="one program",
    work=COMMON | SPLIT,
    tiny=COMMON | SPLIT | FEW | EIGHT,
)
FEDBCD = replace(
    SPLIT_LEARNING, work=COMMON | BCD | {"epochs": 14}, tiny=COMMON | BCD | FEW | EIGHT
)
