"""Runs of PraVFed's tables."""

from dataclasses import replace
from itertools import product

from benchmarks.reproducing.paper import Experiment, Flags

COMMON = {"parties": "4", "partition": "strips", "batch-size": "128", "schedule": "cosine"}
OURS = COMMON | {"method": "pravfed", "epochs": "10"}
"""This package's settings: Adam at 0.003, D = 64, a top model of three layers."""

AS_PUBLISHED = {
    "embedding-dim": "50",
    "top-layers": "1",
    "optimizers": "adagrad,sgd,sgd,sgd",
    "learning-rates": "0.01",
    "epochs": "20",
    "label-privacy": "laplace",
}
"""The paper's, as far as it names them, with its noise; a network's own top model stays.

Optimizers, which it does not name, are those of its program (github.com/wangshuo105/PraVFed_main).
"""

ALL_SGD, TRUE, TWENTY = ", SGD at all parties", ", true labels", ", 20 local epochs"
DEEPER = ", Adam and three layers"
BOTH = f"{TRUE}{DEEPER}"
_SGD, _TRUE = {"optimizers": "sgd"}, {"label-privacy": "none"}
_ADAM, _DEEP = {"optimizers": "adam", "learning-rates": "0.003"}, {"top-layers": "3"}
OF_MLP = {
    f"{TRUE}, 200 dimensions": _TRUE | {"embedding-dim": "200"},
    f"{TRUE}, three layers on top": _TRUE | _DEEP,
    f"{TRUE}, Adam": _TRUE | _ADAM,
}
FURTHER: dict[str, Flags] = {
    "": {},
    ALL_SGD: _SGD,
    TWENTY: {"local-epochs": "20"},
    DEEPER: _ADAM | _DEEP,
    TRUE: _TRUE,
    f"{TRUE}{ALL_SGD}": _TRUE | _SGD,
    **OF_MLP,
    BOTH: _TRUE | _ADAM | _DEEP,
}
"""Last words of runs by the paper's own settings, and what they have besides."""

SETS = {"MNIST": "mnist", "FMNIST": "fashion-mnist", "CIFAR10": "cifar10"}
THETAS = ("theta 1", "theta 2", "theta 3")
SAME = {"theta 1": "cnn", "theta 2": "lenet", "theta 3": "mlp"}
MIXED = {
    "theta 1": "cnn,lenet,mlp,mlp",
    "theta 2": "lenet,cnn,mlp,mlp",
    "theta 3": "mlp,cnn,lenet,mlp",
}
PUBLISHED = {
    "homogeneous": {"theta 1": "pravfed-cnn", "theta 2": "pravfed-lenet", "theta 3": "pravfed-mlp"},
    "heterogeneous": {
        "theta 1": "pravfed-cnn,pravfed-lenet,pravfed-mlp,pravfed-mlp",
        "theta 2": "pravfed-lenet,pravfed-cnn,pravfed-mlp,pravfed-mlp",
        "theta 3": "pravfed-mlp,pravfed-cnn,pravfed-lenet,pravfed-mlp",
    },
}
LONG_ALONE = (
    ("MNIST", "homogeneous", "theta 3"),
    ("FMNIST", "homogeneous", "theta 3"),
    ("MNIST", "heterogeneous", "theta 2"),
)
"""Runs by the paper's own settings that were made with 20 local epochs, too, not four alone."""

RESIDUAL = {"theta 1": "resnet18", "theta 2": "resnet34", "theta 3": "resnet50"}
KINDS = ("homogeneous", "heterogeneous")
METHODS = {
    "Central": "central",
    "Standalone": "local",
    "Pyvertical": "splitnn",
    "C_VFL": "c_vfl",
    "Agg_VFL": "agg_vfl",
}
ALONE = ("Central", "Standalone")
MINUTES = {"central": 4, "local": 2, "splitnn": 6, "c_vfl": 16, "agg_vfl": 7, "pravfed": 2}
PUBLISHED_MINUTES = {",": 6, "lenet": 20, "cnn": 6, "mlp": 1}
"""With several of the paper's own networks, or one of them."""

RESIDUAL_MINUTES = {"theta 1": 590, "theta 2": 1100, "theta 3": 1650}
"""Times of PraVFed with residual networks: 62 epochs of one party's strips of 45,000 rows."""

SHARES = {"central": 2.7, "local": 0.8, "splitnn": 3.2, "c_vfl": 8, "agg_vfl": 3.2, "pravfed": 1}
"""Times of the methods with residual networks, for PraVFed's."""

BOUND = "16"
"""Usual between machines; without it embeddings of residual networks outgrow a weighted sum."""

EPSILONS = ("0.1", "0.5", "1.0", "2.0", "4.0")
TABLE_SETS = {"Adult Income": "adult", "Breast Cancer": "breast-cancer", "Diabetes": "pima"}
TABLE_MLP = {"models": "pravfed-table", "embedding-dim": "32"}

LINEAR_SETS = ("Breast Cancer", "Diabetes")
LINEAR = ", linear layers"
"""Last words of runs on tables without hidden layers."""

DECAYED = ", weight decay"
DECAY = {"optimizers": "adam:weight_decay=0.03"}
"""Last words, and settings, of runs on tables with weight decay beside dropout."""

HALF = "CIFAR10 theta 1 Standalone in bfloat16"

LOCAL_EPOCHS = ("1", "2", "4", "8", "16")
LATE_EPOCHS = LOCAL_EPOCHS[2:]
"""Those that were tried with true labels, too."""


def published(dataset: str, kind: str, theta: str) -> str:
    """Return the name of an experiment with the paper's own networks."""
    network = PUBLISHED[kind][theta] if kind == "homogeneous" else f"{kind} {theta}"
    return f"{dataset} {network} as published"


def _of(dataset: str, kind: str, theta: str) -> dict[str, str]:
    networks = SAME if kind == "homogeneous" else MIXED
    return {"dataset": SETS[dataset], "models": networks[theta]}


def _baseline(dataset: str, name: str, kind: str, theta: str) -> Experiment:
    flags = COMMON | {"method": METHODS[name], "epochs": "20"} | _of(dataset, kind, theta)
    if name in ALONE:
        flags = flags | {"models": SAME[theta]}
    return Experiment(flags, MINUTES[METHODS[name]], most_seeds=1)


def _own(dataset: str, kind: str, theta: str, more: Flags) -> Experiment:
    return Experiment(OURS | _of(dataset, kind, theta) | dict(more), MINUTES["pravfed"])


def _published(dataset: str, kind: str, theta: str, end: str) -> Experiment:
    """Describe runs with the paper's own networks.

    Further ones have one seed, but for the smallest network.
    """
    models = PUBLISHED[kind][theta]
    flags = OURS | {"dataset": SETS[dataset], "models": models} | AS_PUBLISHED
    minutes = next(time for network, time in PUBLISHED_MINUTES.items() if network in models)
    most = 1 if end and minutes > 1 else 0
    return Experiment(flags | dict(FURTHER[end]), minutes, most_seeds=most)


def _published_table(title: str, end: str) -> Experiment:
    flags = AS_PUBLISHED | TABLE_MLP | dict(FURTHER[end])
    return _table("PraVFed", TABLE_SETS[title], "0.5", flags)


def _residual(name: str, kind: str, theta: str, epsilon: str = "2") -> Experiment:
    """Describe runs on CIFAR-10 of PraVFed, or of a baseline."""
    same, method = RESIDUAL[theta], METHODS.get(name, "pravfed")
    rest = list(RESIDUAL.values()) if kind == "heterogeneous" else [same] * 3
    models = same if name in ALONE else ",".join([same, *rest])
    flags = {"method": method, "dataset": "cifar10", "models": models, "epochs": "50"}
    if method == "pravfed":
        flags |= {"label-epsilon": epsilon, "embedding-bound": BOUND}
    minutes = RESIDUAL_MINUTES[theta] * SHARES[method]
    return Experiment(COMMON | flags, minutes, most_seeds=1)


def _halved() -> Experiment:
    """Describe Standalone's runs with ResNet-18, its layers in bfloat16."""
    return _residual("Standalone", "homogeneous", "theta 1").with_flags({"precision": "bf16"})


def _shortened() -> Experiment:
    """Describe 100 steps of each party with ResNet-18."""
    rows = {"train-rows": "12800", "validation": "0.02", "epochs": "1", "local-epochs": "1"}
    flags = {"method": "pravfed", "dataset": "cifar10", "models": "resnet18"}
    return Experiment(COMMON | flags | rows | {"label-epsilon": "2"}, minutes=12, most_seeds=1)


def _table(name: str, dataset: str, epsilon: str, more: Flags) -> Experiment:
    flags = OURS | {"dataset": dataset, "label-epsilon": epsilon, "epochs": "20"} | TABLE_MLP
    if name != "PraVFed":
        flags = COMMON | {"method": METHODS[name], "dataset": dataset, "epochs": "20"} | TABLE_MLP
    partition = {"partition": "columns"}
    minutes = 0.4 if dataset == "adult" else 0.2
    return Experiment(flags | partition | dict(more), minutes, least_seeds=20)


EXPERIMENTS = {
    **{
        f"{d} {kind} {theta} {name}": _baseline(d, name, kind, theta)
        for d, name, kind, theta in product(("MNIST", "FMNIST"), METHODS, KINDS, THETAS)
        if kind == "homogeneous" or name not in ALONE
    },
    **{
        f"{d} homogeneous {theta} PraVFed": _own(d, "homogeneous", theta, {})
        for d, theta in product(("MNIST", "FMNIST"), THETAS)
    },
    **{
        f"{d} heterogeneous {theta} PraVFed epsilon {epsilon}": _own(
            d, "heterogeneous", theta, {"label-epsilon": epsilon}
        )
        for d, theta, epsilon in product(("MNIST", "FMNIST"), THETAS, EPSILONS)
    },
    **{
        f"{published(d, kind, theta)}{end}": _published(d, kind, theta, end)
        for d, kind, theta in product(("MNIST", "FMNIST"), KINDS, THETAS)
        for end in ("", ALL_SGD, DEEPER, TRUE, BOTH)
        if (kind, theta) != ("homogeneous", "theta 2") or end not in (DEEPER, BOTH)
    },
    **{
        f"{published(d, kind, theta)}{TWENTY}": _published(d, kind, theta, TWENTY)
        for d, kind, theta in LONG_ALONE
    },
    **{
        f"{published('MNIST', 'homogeneous', 'theta 3')}{end}": _published(
            "MNIST", "homogeneous", "theta 3", end
        )
        for end in OF_MLP
    },
    **{
        f"CIFAR10 {kind} {theta} {name}": _residual(name, kind, theta)
        for name, kind, theta in product((*METHODS, "PraVFed"), KINDS, THETAS)
        if kind == "homogeneous" or name not in ALONE
    },
    **{
        f"CIFAR10 heterogeneous {theta} PraVFed epsilon {epsilon}": _residual(
            "PraVFed", "heterogeneous", theta, epsilon
        )
        for theta, epsilon in product(THETAS, EPSILONS)
        if epsilon != "2.0"
    },
    HALF: _halved(),
    "CIFAR10 theta 1 PraVFed shortened": _shortened(),
    **{
        f"{title} {name}": _table(name, dataset, "0.5", {})
        for (title, dataset), name in product(TABLE_SETS.items(), METHODS)
    },
    **{
        f"{title} {name}{LINEAR}": _table(name, TABLE_SETS[title], "0.5", {"models": "linear"})
        for title, name in product(LINEAR_SETS, ALONE)
    },
    **{
        f"{title} {name}{DECAYED}": _table(name, TABLE_SETS[title], "0.5", DECAY)
        for title, name in product(LINEAR_SETS, (*ALONE, "PraVFed"))
    },
    **{
        f"{title} as published{end}": _published_table(title, end)
        for title, end in (
            *product(TABLE_SETS, ("", ALL_SGD)),
            *product(LINEAR_SETS, (TRUE, f"{TRUE}{ALL_SGD}", BOTH)),
        )
    },
    **{
        f"{title} PraVFed epsilon {epsilon}": _table("PraVFed", dataset, epsilon, {})
        for (title, dataset), epsilon in product(TABLE_SETS.items(), EPSILONS)
    },
    **{
        f"Breast Cancer PraVFed epsilon {epsilon} of 64 dimensions": _table(
            "PraVFed", "breast-cancer", epsilon, {"embedding-dim": "64"}
        )
        for epsilon in EPSILONS
    },
    **{
        f"{title} PraVFed {epochs} local epochs": replace(
            _table("PraVFed", dataset, "0.5", {"local-epochs": epochs}), pretrained=True
        )
        for (title, dataset), epochs in product(TABLE_SETS.items(), LOCAL_EPOCHS)
        if title != "Breast Cancer"
    },
    **{
        f"FMNIST PraVFed {epochs} local epochs{end}": replace(
            _own("FMNIST", "heterogeneous", "theta 2", {"local-epochs": epochs, **labels}),
            pretrained=True,
        )
        for epochs, (end, labels) in (
            *product(LOCAL_EPOCHS, [("", {})]),
            *product(LATE_EPOCHS, [(TRUE, _TRUE)]),
        )
    },
    "FMNIST PraVFed average": _own(
        "FMNIST", "heterogeneous", "theta 2", {"aggregation": "average"}
    ),
    **{
        f"{title} PraVFed average": _table("PraVFed", dataset, "0.5", {"aggregation": "average"})
        for title, dataset in TABLE_SETS.items()
        if title != "Breast Cancer"
    },
}
