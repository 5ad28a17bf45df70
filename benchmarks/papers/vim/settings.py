"""Settings of VIM's runs: data sets, methods, grids of noise.

Learning rates, tau, rho, optimizers, weight decay and epochs are those of the authors' program
(github.com/AI-secure/VFL-ADMM, scripts/clean).
"""

from benchmarks.reproducing.paper import Search

Options = dict[str, str]

ONE_CLIENT = "momentum:weight_decay=0.001"
SERVER = "sgd:weight_decay=0.001"

COMMON = {
    "active-columns": "none",
    "embedding-dim": "60",
    "batch-size": "1024",
    "keep": "best",
    "stop-drop": "2",
}
MNIST = COMMON | {
    "dataset": "mnist",
    "parties": "15",
    "partition": "strips:rows",
    "models": "vim-mlp",
}
CIFAR = COMMON | {
    "dataset": "cifar10",
    "parties": "10",
    "partition": "grid:3x3",
    "models": "vim-cnn-32",
}
HUNDRED = MNIST | {"parties": "101", "partition": "overlapping:14"}

ADMM = {"optimizers": ONE_CLIENT, "head-rate": "0.1", "beta": "0.0005"}
"""The program's decay of heads, 0.001 of a weight, is that of this beta; the text has 0.005."""
OTHERS = {
    clients: {"optimizers": ",".join([SERVER, *[ONE_CLIENT] * clients])} for clients in (9, 14, 100)
}
"""Plain SGD at the server, momentum at so many clients."""

ONE_STEP = {"active-steps": "one"}
"""FedBCD's server takes one step between exchanges, as in VIM's program."""

ALL_STEPS, SUMMED = ", server steps too", ", embeddings summed"
"""Last words of FedBCD's runs in which its server takes tau steps as well, and of those in which it
adds up embeddings, so that it has nothing to train: both as in its own paper."""

USUAL = {"top-model": "usual"}
"""A ReLU and a layer with a bias, where the program has one layer without."""

ONCE = ", one local step"
TEN = ", ten epochs"
LESS = ", less decay"
"""Last words of runs of one local step, of ten epochs, and with a tenth of the weight decay."""

SLOWER = ", a tenth of the heads' rate"
STILL = ", no momentum"
"""Last words of runs whose heads step less, and of those whose networks step by plain SGD."""

TWICE = ", 60 epochs"
"""Last words of runs that are twice as long."""

WHOLE = {"pixel-scaling": "whole"}
"""One mean and deviation for all clients' pixels, as in VIM's program."""

SCALED = ", whole images"
"""Last words of runs in which pixels are scaled as whole images."""

METHODS = {
    "vafl": "VAFL",
    "splitnn": "Split Learning",
    "fedbcd": "FedBCD",
    "vimadmm": "VIMADMM",
    "fdml": "FDML",
    "vimadmm_j": "VIMADMM-J",
}
"""Names in the paper."""

WITH_TOPS = ("vafl", "splitnn", "fedbcd")
"""Baselines with one top model above all clients' embeddings."""

BY_ADMM = ("vimadmm", "vimadmm_j")
"""The paper's own methods."""

CLIPPED = ("vafl", "splitnn", "fdml")
"""Baselines that miss at epsilon 8 by 20 points, of which none has the widest clip."""

ON_MNIST: dict[str, Options] = {
    "vafl": MNIST | OTHERS[14] | {"learning-rates": "0.3", "epochs": "30"},
    "splitnn": MNIST | OTHERS[14] | {"learning-rates": "0.3", "epochs": "30"},
    "fedbcd": MNIST
    | OTHERS[14]
    | ONE_STEP
    | {"learning-rates": "0.01", "local-steps": "20", "epochs": "30"},
    "vimadmm": MNIST | ADMM | {"learning-rates": "0.1", "local-steps": "20", "epochs": "30"},
    "fdml": MNIST | OTHERS[14] | {"learning-rates": "0.1", "epochs": "30"},
    "vimadmm_j": MNIST | ADMM | {"learning-rates": "0.1", "local-steps": "20", "epochs": "30"},
}
ON_CIFAR: dict[str, Options] = {
    "vafl": CIFAR | OTHERS[9] | {"learning-rates": "0.008", "epochs": "50"},
    "splitnn": CIFAR | OTHERS[9] | {"learning-rates": "0.008", "epochs": "50"},
    "fedbcd": CIFAR
    | OTHERS[9]
    | ONE_STEP
    | {"learning-rates": "0.005", "local-steps": "10", "epochs": "50"},
    "vimadmm": CIFAR
    | ADMM
    | {"learning-rates": "0.008", "head-rate": "0.008", "local-steps": "10"}
    | {"rho": "2", "epochs": "50"},
    "fdml": CIFAR | OTHERS[9] | {"learning-rates": "0.008", "epochs": "50"},
    "vimadmm_j": CIFAR
    | ADMM
    | {"learning-rates": "0.005", "head-rate": "0.005", "local-steps": "30"}
    | {"rho": "2", "epochs": "50"},
}
RUNS: dict[str, dict[str, Options]] = {"mnist": ON_MNIST, "cifar": ON_CIFAR}

MINUTES: dict[str, dict[str, float]] = {
    "mnist": {
        "vafl": 0.06,
        "splitnn": 0.05,
        "fedbcd": 0.35,
        "vimadmm": 0.45,
        "fdml": 0.06,
        "vimadmm_j": 0.45,
    },
    "cifar": {
        "vafl": 6,
        "splitnn": 6,
        "fedbcd": 50,
        "vimadmm": 60,
        "fdml": 6,
        "vimadmm_j": 180,
    },
}
"""Of an epoch."""

DP_EPOCHS = {
    "vafl": "10",
    "splitnn": "10",
    "fedbcd": "5",
    "vimadmm": "3",
    "fdml": "10",
    "vimadmm_j": "3",
}
"""The epochs at most, with noise on uploads."""

TEST_NOISE = {("mnist", "vimadmm"): 10.0}
"""Deviation of Fig. 3's noise on one client's test columns, by data set and method."""

UPLOADS_NOISED: dict[str, Options] = {
    "8": {"target-epsilon": "8", "dp-eval": "clear", "eval-every": "9", "stop-drop": "20"},
    "1": {"target-epsilon": "1", "dp-eval": "clear", "eval-every": "3", "stop-drop": "20"},
}
"""By epsilon; evaluated more often, as with much of the grid's noise few steps are allowed."""

EVERY_TEN: Options = {"eval-every": "10", "stop-drop": "20"}
"""Of curves; of so many evaluations, a dip is no end."""

SIGMAS = {
    "8": ("2", "3", "5", "8", "10", "30", "50", "70"),
    "1": ("8", "10", "30", "50", "70"),
}
"""The paper's, by epsilon; 2, 3 and 5 allow no training step, or one, within 1."""

CHOICES = {
    "mnist": {
        "dp-clip": ("0.0005", "0.001", "0.005", "0.01", "0.1", "1"),
        "learning-rates": ("0.05", "0.3", "0.5", "1"),
    },
    "cifar": {
        "dp-clip": ("0.01", "0.05", "0.1", "0.5", "1"),
        "learning-rates": ("0.005", "0.01", "0.05", "0.1", "0.5", "1"),
    },
}
SEARCHES = {
    (data, epsilon): Search({"dp-sigma": sigmas} | choices)
    for data, choices in CHOICES.items()
    for epsilon, sigmas in SIGMAS.items()
}
"""By data set and epsilon; the paper's grids, 20 of their points."""

WIDEST = Search({"dp-sigma": SIGMAS["8"], **CHOICES["mnist"], "dp-clip": ("1",)})
"""Points of one clip, which none of the 20 of MNIST and epsilon 8 has."""
