"""VIM's tables that vary one thing."""

from dataclasses import replace
from itertools import product

from benchmarks.papers.vim.claims import ONE_NOISY
from benchmarks.papers.vim.settings import METHODS, SCALED, TWICE
from benchmarks.papers.vim.tables import (
    MORE_EPOCHS,
    NOISED,
    OF,
    SETS,
    TRAINING_ONLY,
    WHY,
)
from benchmarks.reproducing.cells import uncounted, variants
from benchmarks.reproducing.paper import Cell, Table

BY_PREDICTION = "precision-std:active"
BY_CLASS = "recall-std:active"

LONGER = "60 epochs are not distinguishable from it: see {}"
"""Why the centralised reference misses; tests hold it against results."""
REFERENCE = ("MNIST", "central")

_BALANCED_OR_NOT = tuple(
    Cell(
        row,
        f"{data}, {number}",
        f"{OF[data]} {run}",
        reading,
        claim,
        lower=lower,
        why=LONGER.format("that row") if (data, run) == REFERENCE else "",
        counted=claim is not None,
    )
    for row, data, run, accuracy, deviation in (
        ("VIMADMM, balanced", "MNIST", "vimadmm", 97.13, 0.76),
        ("VIMADMM, long tail", "MNIST", "vimadmm long tail", 95.69, 1.58),
        ("centralised reference, balanced", "MNIST", "central", 98.19, 0.45),
        ("centralised reference, long tail", "MNIST", "central long tail", 95.02, 2.70),
        ("VIMADMM, balanced", "CIFAR", "vimadmm", 75.25, 9.17),
        ("VIMADMM, long tail", "CIFAR", "vimadmm long tail", 62.81, 15.27),
        ("centralised reference, balanced", "CIFAR", "central", 77.61, 9.20),
        ("centralised reference, long tail", "CIFAR", "central long tail", 66.11, 15.29),
    )
    for number, reading, claim, lower in (
        ("accuracy", "test:active", accuracy, False),
        ("deviation by prediction", BY_PREDICTION, deviation, True),
        ("deviation by class", BY_CLASS, None, True),
    )
)
TABLE_5 = Table(
    name="table5",
    title="Balanced and long-tail data",
    place="Table V",
    cells=(*_BALANCED_OR_NOT, *variants(_BALANCED_OR_NOT, TWICE, [f"mnist central{TWICE}"])),
    note="The paper speaks of the deviation of the accuracy of classes, which is that by class "
    "here. The authors' program divides by the predictions of each class, which makes it that of "
    "precision: that is what the claim is held against.",
)


def _by_tau(*cells: Cell) -> tuple[Cell, ...]:
    """Return cells in the order of the local steps of their columns."""
    return tuple(sorted(cells, key=lambda each: int(each.column.split()[-1])))


TABLE_8 = Table(
    name="table8",
    title="Local steps under client-level privacy, epsilon 1",
    place="Table VIII",
    picture="lines",
    cells=_by_tau(
        *(
            Cell(data, f"tau {tau}", f"{OF[data]} vimadmm{run} epsilon 1", claim=claim)
            for data, tau, run, claim in (
                ("MNIST", 1, " tau 1", 90.63),
                ("MNIST", 5, " tau 5", 90.84),
                ("MNIST", 20, "", 92.09),
                ("CIFAR", 1, " tau 1", 48.19),
                ("CIFAR", 10, "", 61.65),
                ("CIFAR", 30, " tau 30", 62.87),
            )
        ),
        *(
            Cell("NUS-WIDE", f"tau {tau}", None, claim=claim, why=WHY["NUS-WIDE"])
            for tau, claim in ((1, 79.38), (3, 82.58), (10, 83.51))
        ),
    ),
    note=f"{TRAINING_ONLY} Each tau has a choice of its own, among 20 points of the paper's grid. "
    "Of MNIST, tau 1 and 5 have six epochs at most, and tau 20 three.",
)

TABLE_9 = Table(
    name="table9",
    title="Local steps under label privacy, epsilon 1.4",
    place="Table IX",
    picture="lines",
    cells=_by_tau(
        *(
            Cell(
                data,
                f"tau {tau}",
                f"{OF[data]} vimadmm{run} label epsilon 1.4",
                claim=claim,
                why=MORE_EPOCHS if (data, tau) == ("MNIST", 1) else "",
            )
            for data, tau, run, claim in (
                ("MNIST", 1, " tau 1", 92.28),
                ("MNIST", 5, " tau 5", 92.51),
                ("MNIST", 20, "", 92.8),
                ("CIFAR", 1, " tau 1", 46.08),
                ("CIFAR", 10, "", 52.97),
                ("CIFAR", 30, " tau 30", 56.13),
            )
        ),
        *(
            Cell("NUS-WIDE", f"tau {tau}", None, claim=claim, why=WHY["NUS-WIDE"])
            for tau, claim in ((1, 69.41), (3, 81.43), (10, 82.43))
        ),
    ),
)

LEAST = "the least important"
"""Clients without whom accuracy should stay, and with whom alone it should be low."""

TABLE_10 = Table(
    name="table10",
    title="Training with some of the clients",
    place="Table X and Section VI-C",
    cells=(
        *(
            Cell("all clients", data, f"{OF[data]} vimadmm", claim=claim)
            for data, claim in (("MNIST", 97.13), ("CIFAR", 75.25))
        ),
        *(
            Cell(
                row,
                data,
                f"{OF[data]} vimadmm summary{SCALED}",
                f"retrained:{choice}",
                claim,
                lower=choice.startswith("bottom"),
            )
            for row, choice, *claims in (
                ("the most important 50 %", "top:50", 96.58, 70.28),
                (f"{LEAST} 50 %", "bottom:50", 78.11, 62.67),
                ("the most important 20 %", "top:20", 88.72, 66.06),
                (f"{LEAST} 20 %", "bottom:20", 29.11, 54.99),
            )
            for data, claim in zip(("MNIST", "CIFAR"), claims, strict=True)
        ),
        *(
            Cell(row, "NUS-WIDE", None, claim=claim, lower=LEAST in row, why=WHY["NUS-WIDE"])
            for row, claim in (
                ("all clients", 88.51),
                ("the most important 50 %", 87.29),
                (f"{LEAST} 50 %", 75.80),
                ("the most important 20 %", 80.28),
                (f"{LEAST} 20 %", 59.34),
            )
        ),
        *(
            Cell(row, "ModelNet40", None, claim=claim, why=WHY["ModelNet40"])
            for row, claim in (("12 views", 91.04), ("8 views", 90.69), ("4 views", 90.64))
        ),
    ),
    note="The row of all clients has 30 epochs, and each client's own scale of pixels. Importance "
    "is the norm of a client's head after training with all, here for five epochs, "
    "as long as each training with some. Pixels are scaled as those of whole images, as in the "
    "authors' program; the table of scaling has the same by each client's own scale. The paper "
    "says that the least important clients alone come to much less, so of their rows a lower "
    "accuracy reaches the claim.",
)

TABLE_12 = Table(
    name="table12",
    title="Some of the clients in each round",
    place="Table XII",
    picture="heat",
    cells=tuple(
        Cell(
            f"epsilon {epsilon}",
            f"{data}, {percent} %",
            f"{OF[data]} vimadmm{'' if percent == 100 else f' {percent} percent'}{NOISED[epsilon]}",
            claim=claim,
        )
        for epsilon, *claims in (
            ("infinite", 94.20, 94.52, 97.13, 65.78, 66.10, 75.25),
            ("8", 85.98, 87.22, 92.35, 62.01, 62.86, 73.83),
            ("1", 85.51, 86.62, 91.09, 46.53, 46.69, 61.65),
        )
        for (data, percent), claim in zip(
            product(("MNIST", "CIFAR"), (25, 50, 100)), claims, strict=True
        )
    ),
    note=f"{TRAINING_ONLY} Only the columns of 100 % have such a choice; with 25 and 50 % uploads "
    "are clipped to 0.001, CIFAR's to 0.05, and noise is what epsilon leaves. The paper has 91.09 "
    "here for the cell that is 92.09 in its Tables VI and VIII, and 91.35 in its Appendix E.",
)

NOR_WITHOUT = (
    "nor do validation rows come to it after as many epochs without noise: see Fig. 1, first row"
)
"""Why Split Learning with a noisy client misses; tests hold it against results."""

_NOISY = tuple(
    Cell(
        METHODS[method],
        f"{data}, epoch {epochs}",
        f"{OF[data]} {method} noisy {epochs} epochs" if data in OF else None,
        claim=claim,
        spread=spread,
        why=WHY.get(data, NOR_WITHOUT if (method, data) == ("splitnn", "MNIST") else ""),
    )
    for method, claims in ONE_NOISY.items()
    for (data, epochs), (claim, spread) in zip(product(SETS, (2, 5, 10)), claims, strict=True)
)
_TUNED_NOISY = uncounted(
    replace(
        cell,
        row=f"{cell.row}, best of the paper's rates",
        experiment=f"{cell.experiment} tuned",
        why="",
    )
    for cell in _NOISY
    if cell.row == METHODS["splitnn"] and cell.column.startswith("MNIST")
)

TABLE_13 = Table(
    name="table13",
    title="One noisy client",
    place="Table XIII",
    cells=(*_NOISY, *_TUNED_NOISY),
    note="Gaussian noise on client 7's columns (CIFAR: client 5), of deviation 1 (3) where "
    "those are scaled to a deviation of 1, drawn once. The authors' program scales by the "
    "deviation of all clients' pixels and draws anew for each batch. Each epoch is a run of its "
    "own, whose last weights count. In the last row the rate is the best of 0.05, 0.1, 0.3, 0.5 "
    "and 0.8 by validation rows.",
)

SOTA = "the best model published anywhere, which no method of VIM's or ours stands for"
TABLE_14 = Table(
    name="table14",
    title="Centralised references",
    place="Table XIV",
    cells=(
        *uncounted(
            Cell("SOTA, centralised", data, None, claim=claim, why=SOTA)
            for data, claim in zip(SETS, (99.87, 99.50, 88.7, 96.6), strict=True)
        ),
        *(
            Cell(
                row,
                data,
                f"{OF[data]} {run}" if data in OF else None,
                claim=claim,
                why=WHY.get(data, LONGER.format("Table V") if (data, run) == REFERENCE else ""),
            )
            for row, run, *claims in (
                ("reference, centralised", "central", 98.19, 77.61, 87.71, 88.96),
                ("VIMADMM", "vimadmm", 97.13, 75.25, 88.51, 91.32),
            )
            for data, claim in zip(SETS, claims, strict=True)
        ),
    ),
    note="The reference is one client's network and head on all columns.",
)
