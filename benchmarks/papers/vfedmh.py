"""VFedMH, Wang et al. 2023, arXiv:2310.13367v1, the first version of EASTER."""

from dataclasses import replace
from itertools import product
from math import ceil

from benchmarks.papers.easter import ALIKE, FOUR_RATES
from benchmarks.papers.easter.cells import LEVEL, LONGER, NOR_WHOLE_IMAGES, ONE_GRADIENT, SMALLER
from benchmarks.papers.easter.runs import (
    DIVERGING,
    FOUR,
    LATER,
    MIXED,
    OPTIMIZERS,
    PARTIES,
    PUBLISHED,
    SETS,
    SMALL,
    longer,
)
from benchmarks.papers.easter.runs import EXPERIMENTS as EXPERIMENTS_OF_EASTER
from benchmarks.reproducing.cells import uncounted, variants, with_spreads
from benchmarks.reproducing.paper import Cell, Curve, Experiment, Flags, Paper, Table

OF_EASTER = {
    **{name: name for name in ("Local", "Pyvertical", "C_VFL", "Heter_aggVFL")},
    "Homo_aggVFL": "Agg_VFL",
}
"""Rows whose runs are EASTER's, with their names there."""

MISSED = ("FMNIST", "CIFAR10")
"""Sets whose claims are missed after 20 epochs."""

ENOUGH = "the best evaluation of 60 epochs reaches it: see that row of Table 1"
CLOSER = "the best evaluation of 60 epochs comes closer: see that row of Table 1"
WHY = {
    **{("FMNIST", "VFedMH", network): ENOUGH for network in SMALL},
    **{("CIFAR10", "VFedMH", network): CLOSER for network in SMALL},
    ("CIFAR10", "Local", "LeNet"): SMALLER.format("EASTER's "),
    **{
        (dataset, "C_VFL", network): ONE_GRADIENT.format(" of EASTER's Table 2")
        for dataset, network in DIVERGING
    },
    ("FMNIST", "Homo_VFedMH", "LeNet"): LEVEL,
    ("CIFAR10", "Homo_VFedMH", "LeNet"): LONGER.format("EASTER's "),
    **{
        ("CIFAR10", name, "MLP"): NOR_WHOLE_IMAGES.format("EASTER's ")
        for name in ("Homo_VFedMH", "Homo_aggVFL")
    },
}
"""What explains misses and failures; tests hold it against results."""

RESNETS = ("ResNet18", "ResNet50", "ResNet101", "ResNet152")

BY_TABLE_4 = f"{FOUR_RATES} These rates were chosen for EASTER, which has another loss."

MINUTES = {"CNN": 8, "LeNet": 7, "MLP": 3}
RESIDUAL_MINUTES = 12000

TABLE_1 = """
MNIST Local 23.47 2.36 35.57 3.14 31.89 3.14
MNIST Pyvertical 65.36 3.71 49.56 1.66 78.86 1.91
MNIST C_VFL 89.71 1.65 94.72 1.74 95.33 4.6
MNIST VFedMH 97.58 1.71 97.87 1.47 97.73 1.48
FMNIST Local 65.55 3.41 76.24 1.04 70.40 2.37
FMNIST Pyvertical 72.62 1.63 76.34 2.35 73.86 2.12
FMNIST C_VFL 83.92 4.68 86.26 2.03 86.12 1.24
FMNIST VFedMH 87.78 1.07 88.33 0.99 88.08 2.13
CIFAR10 Local 37.35 0.49 53.04 0.65 32.33 0.48
CIFAR10 Pyvertical 37.95 1.71 53.71 2.35 33.85 1.82
CIFAR10 C_VFL 48.85 3.56 62.81 3.51 48.97 2.8
CIFAR10 VFedMH 62.38 2.46 64.72 1.77 64.64 2.62
"""
TABLE_2 = """
MNIST Local 23.47 35.57 31.89
MNIST Heter_aggVFL 36.29 45.15 68.78
MNIST Homo_aggVFL 82.67 77.11 82.11
MNIST Homo_VFedMH 96.05 98.61 96.57
MNIST VFedMH 97.58 97.87 97.73
FMNIST Local 65.55 76.24 70.40
FMNIST Heter_aggVFL 45.45 70.04 42.82
FMNIST Homo_aggVFL 69.93 79.35 71.89
FMNIST Homo_VFedMH 86.42 90.45 86.57
FMNIST VFedMH 87.78 88.33 88.08
CIFAR10 Local 37.35 53.04 32.33
CIFAR10 Heter_aggVFL 51.72 60.70 48.65
CIFAR10 Homo_aggVFL 52.76 61.71 60.54
CIFAR10 Homo_VFedMH 59.55 66.41 61.86
CIFAR10 VFedMH 62.38 64.72 64.64
"""
ROUNDS = {"MNIST": (5625, 2813), "FMNIST": (5625, 2813), "CIFAR10": (4688, 2344)}
"""Messages of an epoch: VFedMH's, and a baseline's for one network."""

FIGURE_4 = {"ResNet18": 92, "ResNet50": 90, "ResNet101": 98, "ResNet152": 83}

EPOCHS, BATCH = int(PUBLISHED["epochs"]), int(PUBLISHED["batch-size"])
MESSAGES = 6
"""Of an exchange, to and from three passive parties."""

ROWS = {"MNIST": 60_000, "FMNIST": 60_000, "CIFAR10": 50_000}
HELD_OUT = 10
"""One training row in so many is a validation row."""


def _own(dataset: str, network: str, more: Flags | None = None) -> Experiment:
    """Describe runs with one network, or with three if `network` is mixed."""
    models = MIXED["CNN"] if network == "mixed" else network.lower()
    flags = PUBLISHED | {"method": "vfedmh", "dataset": SETS[dataset], "models": models}
    minutes = MINUTES.get(network, MINUTES["LeNet"])
    return Experiment(flags | dict(more or {}), minutes * (1.6 if dataset == "CIFAR10" else 1))


def _of_easter(name: str) -> Experiment:
    """Describe runs that EASTER's paper has, too."""
    return replace(EXPERIMENTS_OF_EASTER[name], same_as=f"easter: {name}")


def _residual(more: Flags) -> Experiment:
    models = ",".join(RESNETS).lower()
    flags = PUBLISHED | {"method": "vfedmh", "dataset": "cifar10", "models": models}
    return Experiment(flags | {"epochs": "100"} | dict(more), RESIDUAL_MINUTES, most_seeds=1)


EXPERIMENTS = {
    **{f"{d} mixed": _own(d, "mixed") for d in SETS},
    **{f"{d} mixed{LATER}": longer(_own(d, "mixed")) for d in MISSED},
    **{
        f"{d} {network} {name}": _of_easter(f"{d} {network} {its}")
        for d, network, (name, its) in product(SETS, SMALL, OF_EASTER.items())
    },
    **{f"{d} {network} Homo_VFedMH": _own(d, network) for d, network in product(SETS, SMALL)},
    f"FMNIST LeNet Homo_VFedMH{LATER}": longer(_own("FMNIST", "LeNet")),
    **{
        f"MNIST {network} optimizers": _own("MNIST", network, FOUR) for network in (*SMALL, "mixed")
    },
    "CIFAR10 residual": _residual({}),
    "CIFAR10 residual optimizers": _residual(FOUR),
}


def _accuracy(dataset: str, name: str, network: str) -> tuple[str, str]:
    """Return the experiment and the reading of an accuracy."""
    if name == "VFedMH":
        return f"{dataset} mixed", f"test:{PARTIES[SMALL.index(network)]}"
    reading = "test-mean" if name == "Homo_VFedMH" else "test:active"
    return f"{dataset} {network} {name}", reading


def _table1() -> list[Cell]:
    cells = []
    for dataset, name, *numbers in map(str.split, TABLE_1.strip().splitlines()):
        for place, network in enumerate(SMALL):
            claim, spread = map(float, numbers[2 * place : 2 * place + 2])
            run = _accuracy(dataset, name, network)
            why = WHY.get((dataset, name, network), "")
            cells.append(Cell(f"{dataset}, {name}", network, *run, claim, spread, why=why))
    return cells


def _table2() -> list[Cell]:
    cells = [
        Cell(
            f"{dataset}, {name}",
            network,
            *_accuracy(dataset, name, network),
            float(claim),
            why=WHY.get((dataset, name, network), ""),
        )
        for dataset, name, *claims in map(str.split, TABLE_2.strip().splitlines())
        for network, claim in zip(SMALL, claims, strict=True)
    ]
    cells = with_spreads(cells, _table1())
    return cells + variants(cells, LATER, EXPERIMENTS)


def _rounds() -> list[Cell]:
    """Return the messages of a batch as exchanges of a whole training."""
    cells = []
    for dataset, (own, other) in ROUNDS.items():
        rows = ROWS[dataset]
        batches = EPOCHS * ceil((rows - rows // HELD_OUT) / BATCH)
        for name, run, messages in (
            ("VFedMH, three networks", "mixed", own),
            ("Pyvertical, one network", "MLP Pyvertical", other),
            ("C_VFL, one network", "MLP C_VFL", other),
        ):
            claim = batches * round(messages * BATCH / rows) / MESSAGES
            cells.append(Cell(name, dataset, f"{dataset} {run}", "exchanges", claim, lower=True))
    return uncounted(cells)


def _figure(letter: str, network: str) -> Table:
    """Return a figure of four optimizers on MNIST."""
    own = MIXED["CNN"].split(",") if network == "mixed" else [network] * len(PARTIES)
    curves = [
        Curve(f"{each}, {name}", f"MNIST {network} optimizers", reading=f"train:{party}")
        for party, each, name in zip(PARTIES, own, OPTIMIZERS, strict=True)
    ]
    which = "three networks" if network == "mixed" else f"{network} everywhere"
    return Table(
        f"fig3{letter}",
        f"Training accuracy with four optimizers, MNIST, {which}",
        f"Fig. 3({letter})",
        curves=curves,
        picture="curves",
        note=BY_TABLE_4,
    )


def _residual_figure(name: str, run: str, labels: dict[str, str]) -> Table:
    """Return a figure of four residual networks on CIFAR-10."""
    ends = FIGURE_4 if name == "fig4" else {}
    cells = [
        Cell(f"CIFAR10, {network}", "after 100 epochs", run, f"train:{party}", ends[network])
        for party, network in zip(PARTIES, RESNETS, strict=True)
        if ends
    ]
    curves = [Curve(label, run, reading=f"train:{party}") for party, label in labels.items()]
    title = "Training accuracy of four residual networks, CIFAR10"
    return Table(
        name,
        title if ends else f"{title}, four optimizers",
        f"Fig. {name[3:]}",
        cells,
        curves,
        picture="curves",
        note="The paper starts from published weights, of which no copy was at hand; here networks "
        "start from drawn ones." + ("" if ends else f" {BY_TABLE_4}"),
    )


PAPER = Paper(
    title="VFedMH",
    reference="Wang et al. 2023, arXiv:2310.13367v1",
    repeats=5,
    methods=("vfedmh",),
    experiments=EXPERIMENTS,
    settings=f"{ALIKE} All methods have the cross-entropy, which the paper names as an example of "
    "a loss (Eq. 7).",
    tables=(
        Table(
            "table1",
            "Test accuracy of VFedMH with three networks in one run, and of baselines with one",
            "Table 1",
            [*_table1(), *variants(_table1(), LATER, EXPERIMENTS)],
            note="In one run of VFedMH the active party has the CNN, a passive one LeNet, two have "
            "MLPs; the column is the party with that network. Baselines have the column's network "
            "everywhere. The paper does not say how many runs its deviations are of; five are "
            "taken. EASTER's runs, on its own page, differ from these in the loss alone, binary "
            "cross-entropy summed over classes. Rows of 60 epochs have more steps, and the weights "
            "of the best evaluation by validation rows.",
        ),
        Table(
            "rounds",
            "Exchanges of a training",
            "Table 1, rounds",
            _rounds(),
            unit="exchanges",
            note="The paper counts messages an epoch, 1 x 5625 or 3 x 2813 of MNIST: twelve, or "
            "six of each of three networks, for each batch of 128. An exchange is six messages, "
            "to and from three passive parties. The claim has as many for each batch of 20 epochs "
            "without a tenth of the rows, which are held out here.",
        ),
        Table(
            "table2",
            "Test accuracy of aggregated embeddings and aggregated predictions",
            "Table 2",
            _table2(),
            note="Homo_VFedMH is the mean over the four parties. In Heter_aggVFL, whose one "
            "prediction is a sum, the column is the active party's network. Rows that repeat "
            "Table 1 have its deviations.",
        ),
        *(_figure(*each) for each in zip("abcd", (*SMALL, "mixed"), strict=True)),
        _residual_figure("fig4", "CIFAR10 residual", dict(zip(PARTIES, RESNETS, strict=True))),
        _residual_figure(
            "fig5",
            "CIFAR10 residual optimizers",
            {
                party: f"{network}, {name}"
                for party, network, name in zip(PARTIES, RESNETS, OPTIMIZERS, strict=True)
            },
        ),
    ),
)
