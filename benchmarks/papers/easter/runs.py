"""Runs of EASTER's tables."""

from dataclasses import replace
from itertools import product

from benchmarks.reproducing.paper import Experiment, Flags, Search
from vfl_flower.config.options.privacy import USUAL_BOUND

PUBLISHED = {
    "parties": "4",
    "partition": "strips",
    "optimizers": "sgd",
    "learning-rates": "0.05",
    "epochs": "20",
    "batch-size": "128",
}
EASTER = PUBLISHED | {"method": "easter"}

SETS = {"MNIST": "mnist", "FMNIST": "fashion-mnist", "CIFAR10": "cifar10"}
SMALL = ("CNN", "LeNet", "MLP")
RESIDUAL = ("ResNet18", "ResNet50", "ResNet101")
BASELINES = {"Local": "local", "Pyvertical": "splitnn", "C_VFL": "c_vfl", "Agg_VFL": "agg_vfl"}
OPTIMIZERS = {"SGD": "sgd", "SGD_Momentum": "momentum", "Adagrad": "adagrad", "Adam": "adam"}
PARTIES = ("active", "party-1", "party-2", "party-3")

_FOUR = {"optimizers": ",".join(OPTIMIZERS.values())}
FOUR = _FOUR | {
    "learning-rates": "0.05,0.005,0.05,0.005",
    "embedding-bound": USUAL_BOUND,
    "keep": "best",
}
"""Table 4's optimizers: the paper's 0.05 for SGD, and bounded embeddings."""

UNBOUNDED = _FOUR | {"learning-rates": "0.01,0.001,0.01,0.001"}
"""The same with smaller rates alone."""

ONE_RATE = _FOUR | {"learning-rates": "0.05"}
"""The same with the paper's rate for all, and without a bound."""

RATES = Search(
    {
        "learning-rates": (
            "0.01,0.001,0.01,0.001",
            "0.01,0.001,0.03,0.003",
            "0.02,0.002,0.03,0.003",
            "0.02,0.002,0.05,0.005",
            "0.05,0.005,0.05,0.005",
        )
    }
)
"""Those of Table 4's optimizers, in the order of `OPTIMIZERS`."""

POOLED = (("FMNIST", "LeNet"), ("CIFAR10", "LeNet"), ("CIFAR10", "MLP"))
"""Whose claims of Homo_EASTER are missed: more epochs, and whole images, say why."""

DIVERGING = (("MNIST", "CNN"), ("MNIST", "LeNet"), ("FMNIST", "LeNet"), ("CIFAR10", "LeNet"))
"""Runs of C_VFL that diverge at the rate of all others."""

QUARTER, SHARED = {"learning-rates": "0.0125"}, {"share-labels": ""}
VARIED = {
    "C_VFL (a quarter of the rate)": (DIVERGING, QUARTER),
    "C_VFL (labels shared)": (DIVERGING, SHARED),
    "C_VFL (labels shared, a quarter of the rate)": ([("CIFAR10", "LeNet")], QUARTER | SHARED),
}
"""What may keep them from diverging, and where: four local steps that are about one of the others',
or steps on gradients of their own, in place of four on one, as C-VFL's paper has them; or both."""

DECAYS = Search({"optimizers": [f"sgd:weight_decay={share}" for share in (0.001, 0.003)]})
"""Weight decay of 60 epochs, whose last ones know all training rows without it."""

MIXED = {"CNN": "cnn,lenet,mlp,mlp", "LeNet": "lenet,mlp,cnn,cnn", "MLP": "mlp,cnn,lenet,lenet"}
"""Four networks, by that of the active party."""

OTHERS = {"CNN": "pravfed-cnn", "LeNet": "pravfed-lenet", "MLP": "pravfed-mlp"}
"""Networks of the program of PraVFed, whose first author is EASTER's."""

OTHERS_MIXED = "pravfed-cnn,pravfed-lenet,pravfed-mlp,pravfed-mlp"
OTHER_MINUTES = {"CNN": 6, "LeNet": 18, "MLP": 1, "mixed": 30}

MINUTES = {"CNN": 8, "LeNet": 7, "MLP": 3, "ResNet18": 3000, "ResNet50": 6000, "ResNet101": 11000}
SHARES = {"easter": 1.0, "splitnn": 0.8, "c_vfl": 2.5, "agg_vfl": 0.9, "local": 0.25}
"""Times of the methods, for that of EASTER."""


def _minutes(dataset: str, network: str, method: str) -> float:
    return MINUTES[network] * SHARES[method] * (1.6 if dataset == "CIFAR10" else 1)


def _same(dataset: str, network: str, method: str) -> Experiment:
    """Describe runs in which all parties have one network."""
    flags = PUBLISHED | {"method": method, "dataset": SETS[dataset], "models": network.lower()}
    large = network in RESIDUAL
    changed = {"epochs": "100"} if large else {}
    minutes = _minutes(dataset, network, method)
    most = 0 if method == "easter" and not large else 1
    return Experiment(flags | changed, minutes, most_seeds=most)


def _mixed(dataset: str, method: str, models: str, more: Flags) -> Experiment:
    """Describe runs in which parties have different networks."""
    flags = PUBLISHED | {"method": method, "dataset": SETS[dataset], "models": models}
    return Experiment(flags | dict(more), _minutes(dataset, "LeNet", method))


LATER, SLOWED = ", 60 epochs", ", 60 epochs, falling rate"
"""Last words of runs that are three times as long, and of those whose rate falls besides."""


def longer(of: Experiment) -> Experiment:
    """Describe 60 epochs, with the weights of the best evaluation."""
    more = of.with_flags({"epochs": "60", "keep": "best"})
    return replace(more, minutes=3 * of.minutes)


def _large(dataset: str) -> Experiment:
    """Describe the run with residual networks."""
    flags = EASTER | {"dataset": SETS[dataset], "epochs": "100"}
    models = {"models": "resnet18,resnet50,resnet101,resnet101"}
    return Experiment(flags | models, _minutes(dataset, "ResNet50", "easter"), most_seeds=1)


def _other(dataset: str, column: str) -> Experiment:
    """Describe runs with the networks of PraVFed's program: alone, or several together."""
    alone = {"method": "local", "models": OTHERS.get(column, "")}
    mixed = {"method": "easter", "models": OTHERS_MIXED}
    flags = PUBLISHED | {"dataset": SETS[dataset], "embedding-dim": "50"}
    made = flags | (alone if column in OTHERS else mixed)
    return Experiment(made, OTHER_MINUTES[column], most_seeds=1)


def _pooled(dataset: str, network: str) -> Experiment:
    """Describe runs of one network on all columns, which no party has."""
    flags = PUBLISHED | {"method": "central", "dataset": SETS[dataset], "models": network.lower()}
    return Experiment(flags, _minutes(dataset, network, "easter") / 2, most_seeds=1)


def _optimizers(dataset: str, network: str, more: Flags) -> Experiment:
    """Describe runs of one network and four optimizers."""
    of = _mixed(dataset, "easter", network.lower(), more)
    return replace(of, minutes=_minutes(dataset, network, "easter"))


def _shortened(dataset: str) -> Experiment:
    """Describe 100 steps with residual networks, which two cores can take."""
    rows = {"train-rows": "12800", "validation": "0.02", "epochs": "1"}
    models = {"models": "resnet18", "dataset": SETS[dataset]}
    return Experiment(EASTER | models | rows, minutes=12, most_seeds=1)


EXPERIMENTS = {
    **{f"{d} mixed": _mixed(d, "easter", MIXED["CNN"], {}) for d in SETS},
    **{f"{d} {column} of PraVFed": _other(d, column) for d, column in product(SETS, OTHER_MINUTES)},
    **{f"{d} {network} Central": _pooled(d, network) for d, network in POOLED},
    **{
        f"{d} {network} {name}": _same(d, network, "c_vfl").with_flags(more)
        for name, (where, more) in VARIED.items()
        for d, network in where
    },
    **{
        f"{d} {network} Homo_EASTER{LATER}": longer(_same(d, network, "easter"))
        for d, network in POOLED
    },
    **{
        f"CIFAR10 {network} Homo_EASTER{SLOWED}": replace(
            longer(_same("CIFAR10", network, "easter")).with_flags({"schedule": "cosine"}),
            search=DECAYS,
        )
        for network in ("LeNet", "MLP")
    },
    f"CIFAR10 mixed{LATER}": longer(_mixed("CIFAR10", "easter", MIXED["CNN"], {})),
    **{f"{d} residual": _large(d) for d in SETS},
    **{f"{d} ResNet18 shortened": _shortened(d) for d in SETS},
    **{
        f"{d} {network} {name}": _same(d, network, method)
        for d, network, (name, method) in product(SETS, SMALL + RESIDUAL, BASELINES.items())
    },
    **{
        f"{d} {network} Homo_EASTER": _same(d, network, "easter") for d in SETS for network in SMALL
    },
    **{
        f"{d} {network} Heter_aggVFL": _mixed(d, "agg_vfl", MIXED[network], {})
        for d, network in product(SETS, SMALL)
    },
    **{
        f"{d} {network} optimizers": _optimizers(d, network, FOUR)
        for d, network in product(SETS, SMALL)
    },
    **{
        f"MNIST {network} optimizers, unbounded": _optimizers("MNIST", network, UNBOUNDED)
        for network in SMALL
    },
    **{
        f"MNIST {network} optimizers, one rate": _optimizers("MNIST", network, ONE_RATE)
        for network in SMALL
    },
    "MNIST LeNet optimizers, tuned": replace(
        _optimizers("MNIST", "LeNet", UNBOUNDED | {"keep": "best"}), search=RATES
    ),
    **{f"{d} mixed optimizers": _mixed(d, "easter", MIXED["CNN"], FOUR) for d in SETS},
}
