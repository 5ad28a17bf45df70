"""PraVFed, Wang et al. 2025, IEEE Transactions on Consumer Electronics."""

from collections.abc import Iterator
from itertools import product

from benchmarks.papers.pravfed.claims import TABLE_2, TABLE_3, TABLE_4, TABLE_5, TABLE_6
from benchmarks.papers.pravfed.runs import (
    ALONE,
    EXPERIMENTS,
    KINDS,
    LOCAL_EPOCHS,
    TABLE_SETS,
    THETAS,
)
from benchmarks.reproducing.paper import Cell, Curve, Paper, Table

NO_CINIC = "no copy of CINIC-10 was at hand"
NO_CARDS = "no copy of the credit card table was at hand"
NETWORKS = ("pravfed-cnn", "pravfed-mlp")


def _lines(text: str) -> list[list[str]]:
    return [line.split() for line in text.strip().splitlines()]


def _pairs(numbers: list[str]) -> Iterator[tuple[float, float]]:
    values = map(float, numbers)
    return zip(values, values, strict=True)


def _run(dataset: str, name: str, kind: str, theta: str) -> str | None:
    """Return the experiment of a cell of Table II, if any."""
    if dataset == "CINIC10":
        return None
    if name in ALONE:
        kind = "homogeneous"
    epsilon = " epsilon 1.0" if name == "PraVFed" and kind != "homogeneous" else ""
    return f"{dataset} {kind} {theta} {name}{'' if dataset == 'CIFAR10' else epsilon}"


def _table2() -> list[Cell]:
    return [
        Cell(
            f"{dataset}, {name}",
            f"{kind}, {theta}",
            _run(dataset, name, kind, theta),
            claim=claim,
            spread=spread,
            why=NO_CINIC if dataset == "CINIC10" else "",
        )
        for dataset, name, *numbers in _lines(TABLE_2)
        for (kind, theta), (claim, spread) in zip(
            product(KINDS, THETAS), _pairs(numbers), strict=True
        )
    ]


def _of_tables(row: str, claims: list[float], spreads: list[float | None], end: str) -> list[Cell]:
    titles = ("Adult Income", "Breast Cancer", "Credit Card", "Diabetes")
    return [
        Cell(
            row,
            title,
            f"{title} {end}" if title in TABLE_SETS else None,
            claim=claim,
            spread=spread,
            why="" if title in TABLE_SETS else NO_CARDS,
        )
        for title, claim, spread in zip(titles, claims, spreads, strict=True)
    ]


def _table3() -> list[Cell]:
    cells = []
    for name, *numbers in _lines(TABLE_3):
        end = f"{name} epsilon 0.5" if name == "PraVFed" else name
        cells += _of_tables(name, list(map(float, numbers)), [None] * 4, end)
    return cells


def _table6() -> list[Cell]:
    cells = []
    for epsilon, *numbers in _lines(TABLE_6):
        claims, spreads = zip(*_pairs(numbers), strict=True)
        end = f"PraVFed epsilon {epsilon}"
        cells += _of_tables(f"epsilon {epsilon}", list(claims), list(spreads), end)
    return cells


def _table4() -> list[Cell]:
    return [
        Cell(
            f"{dataset}, {name}",
            f"to {float(share):.0%}",
            _run(dataset, name, "heterogeneous", "theta 2"),
            f"mib-to:{share}",
            float(claim),
            lower=True,
        )
        for dataset, name, share, claim in _lines(TABLE_4)
    ]


def _table5() -> list[Cell]:
    return [
        Cell(
            f"{dataset}, epsilon {epsilon}",
            theta,
            f"{dataset} heterogeneous {theta} PraVFed epsilon {epsilon}",
            claim=claim,
            spread=spread,
        )
        for dataset, epsilon, *numbers in _lines(TABLE_5)
        for theta, (claim, spread) in zip(THETAS, _pairs(numbers), strict=True)
    ]


def _published() -> list[Cell]:
    return [
        Cell(dataset, network, f"{dataset} {network} as published")
        for dataset, network in product(("MNIST", "FMNIST"), NETWORKS)
    ]


def _figure2() -> list[Cell]:
    sets = ("FMNIST", "Adult Income", "Diabetes")
    return [
        Cell(title, epochs, f"{title} PraVFed {epochs} local epochs")
        for title, epochs in product(sets, LOCAL_EPOCHS)
    ]


def _figure3(title: str, weighted: str) -> list[Curve]:
    runs = {"weighted": weighted, "average": f"{title} PraVFed average"}
    return [Curve(f"{title}, {label}", run) for label, run in runs.items()]


WEIGHTED = "FMNIST heterogeneous theta 2 PraVFed epsilon 1.0"
PAPER = Paper(
    title="PraVFed",
    reference="Wang et al. 2025, IEEE Transactions on Consumer Electronics",
    repeats=5,
    experiments=EXPERIMENTS,
    tables=(
        Table(
            "table2",
            "Test accuracy with one network everywhere, and with several",
            "Table II",
            _table2(),
            note="theta 1, 2, 3 are CNN, LeNet and MLP at the active party; of CIFAR-10 they are "
            "ResNet-18, 34 and 50. Labels are noised by randomised response with a true epsilon of "
            "1, of CIFAR-10 2. PraVFed has this package's networks, a top model of three layers, "
            "and ten epochs; `published` has the paper's.",
        ),
        Table(
            "published",
            "Test accuracy with the paper's own networks and one layer on top",
            "of Table II",
            _published(),
            note="All parties have the network, SGD at 0.01, and labels with Laplace noise of "
            "sensitivity 2. The protocol can be told from our deeper top model by this table.",
        ),
        Table(
            "table3",
            "Test accuracy on tables, epsilon 0.5",
            "Table III",
            _table3(),
            note="Breast Cancer is the Diagnostic set of 569 rows; Diabetes is Pima. Means over 20 "
            "splits, but for Adult. All have the paper's network with dropout.",
        ),
        Table(
            "table4",
            "2^20 bytes until an accuracy on validation rows",
            "Table IV",
            _table4(),
            unit="MiB",
            note="What the authors' program counts as MB are Mbit: its numbers are eight times "
            "too large. With an evaluation an epoch, ours are those of whole epochs.",
        ),
        Table("table5", "Test accuracy by epsilon", "Table V", _table5(), picture="lines"),
        Table("table6", "Test accuracy on tables by epsilon", "Table VI", _table6()),
        Table(
            "fig2",
            "Test accuracy by the number of local epochs",
            "Fig. 2",
            _figure2(),
            picture="lines",
            note="The paper has curves without numbers.",
        ),
        Table(
            "fig3",
            "Weighted and average aggregation",
            "Fig. 3",
            (
                Cell("FMNIST, LeNet", "weighted", WEIGHTED, claim=86.78),
                Cell("FMNIST, LeNet", "average", "FMNIST PraVFed average", claim=86.15),
            ),
            curves=(
                *_figure3("FMNIST", WEIGHTED),
                *_figure3("Adult Income", "Adult Income PraVFed epsilon 0.5"),
                *_figure3("Diabetes", "Diabetes PraVFed epsilon 0.5"),
            ),
            picture="curves",
        ),
    ),
)
