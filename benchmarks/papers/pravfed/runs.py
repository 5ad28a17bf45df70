"""Runs of PraVFed's tables."""

from itertools import product

from benchmarks.reproducing.paper import Experiment, Flags

COMMON = {"parties": "4", "partition": "strips", "batch-size": "128", "schedule": "cosine"}
OURS = COMMON | {"method": "pravfed", "epochs": "10"}
"""This package's settings: Adam at 0.003, D = 64, a top model of three layers."""

AS_PUBLISHED = {
    "embedding-dim": "50",
    "top-layers": "1",
    "optimizers": "sgd",
    "learning-rates": "0.01",
    "epochs": "20",
    "label-privacy": "laplace",
}
"""The paper's, as far as it names them: 1 x 1 convolutions, one layer on top, its noise."""

SETS = {"MNIST": "mnist", "FMNIST": "fashion-mnist", "CIFAR10": "cifar10"}
THETAS = ("theta 1", "theta 2", "theta 3")
SAME = {"theta 1": "cnn", "theta 2": "lenet", "theta 3": "mlp"}
MIXED = {
    "theta 1": "cnn,lenet,mlp,mlp",
    "theta 2": "lenet,cnn,mlp,mlp",
    "theta 3": "mlp,cnn,lenet,mlp",
}
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
RESIDUAL_MINUTES = 2500
EPSILONS = ("0.1", "0.5", "1.0", "2.0", "4.0")
TABLE_SETS = {"Adult Income": "adult", "Breast Cancer": "breast-cancer", "Diabetes": "pima"}
TABLE_MLP = {"models": "pravfed-table", "embedding-dim": "32"}

LOCAL_EPOCHS = ("1", "2", "4", "8", "16")


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


def _residual(kind: str, theta: str) -> Experiment:
    rest = (
        "resnet18,resnet34,resnet50" if kind == "heterogeneous" else ",".join([RESIDUAL[theta]] * 3)
    )
    flags = {"dataset": "cifar10", "models": f"{RESIDUAL[theta]},{rest}", "epochs": "50"}
    return Experiment(OURS | flags | {"label-epsilon": "2"}, RESIDUAL_MINUTES, most_seeds=1)


def _table(name: str, dataset: str, epsilon: str, more: Flags) -> Experiment:
    small = dataset != "adult"
    flags = OURS | {"dataset": dataset, "label-epsilon": epsilon, "epochs": "20"} | TABLE_MLP
    if name != "PraVFed":
        flags = COMMON | {"method": METHODS[name], "dataset": dataset, "epochs": "20"} | TABLE_MLP
    partition = {"partition": "columns"}
    return Experiment(flags | partition | dict(more), 0.2 if small else 2, least_seeds=20 * small)


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
        f"{d} {network} as published": Experiment(
            OURS | {"dataset": SETS[d], "models": network} | AS_PUBLISHED, 4
        )
        for d, network in product(("MNIST", "FMNIST"), ("pravfed-cnn", "pravfed-mlp"))
    },
    **{
        f"CIFAR10 {kind} {theta} PraVFed": _residual(kind, theta)
        for kind, theta in product(KINDS, THETAS)
    },
    **{
        f"{title} {name}": _table(name, dataset, "0.5", {})
        for (title, dataset), name in product(TABLE_SETS.items(), METHODS)
    },
    **{
        f"{title} PraVFed epsilon {epsilon}": _table("PraVFed", dataset, epsilon, {})
        for (title, dataset), epsilon in product(TABLE_SETS.items(), EPSILONS)
    },
    **{
        f"{title} PraVFed {epochs} local epochs": _table(
            "PraVFed", dataset, "0.5", {"local-epochs": epochs}
        )
        for (title, dataset), epochs in product(TABLE_SETS.items(), LOCAL_EPOCHS)
        if title != "Breast Cancer"
    },
    **{
        f"FMNIST PraVFed {epochs} local epochs": _own(
            "FMNIST", "heterogeneous", "theta 2", {"local-epochs": epochs}
        )
        for epochs in LOCAL_EPOCHS
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
