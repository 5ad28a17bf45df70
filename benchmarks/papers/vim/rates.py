"""VIM's tables of rates and epochs."""

from benchmarks.papers.vim.claims import UPLOADS
from benchmarks.papers.vim.experiments import EXPERIMENTS
from benchmarks.papers.vim.others import TABLE_9
from benchmarks.papers.vim.settings import METHODS, TWICE
from benchmarks.papers.vim.tables import TABLE_7
from benchmarks.reproducing.cells import uncounted
from benchmarks.reproducing.paper import Cell, Table

RATES = Table(
    name="rates",
    title="Baselines with rates and local steps of the paper, and more epochs",
    place="Table VI, rates",
    cells=uncounted(
        Cell(METHODS[method], told, f"mnist {method}{end}", claim=UPLOADS[method][0])
        for method in ("splitnn", "fedbcd")
        for told, end in (
            ("as the authors' program", ""),
            ("best of the points", " tuned"),
            ("60 epochs", TWICE),
        )
    ),
    note="MNIST without privacy. The paper tunes rates over 0.05, 0.1, 0.3, 0.5 and 0.8, and shows "
    "several numbers of local steps of FedBCD; the authors' program has rates of 0.3 for Split "
    "Learning and 0.01 for FedBCD, and 20 steps. The points are the five rates, of FedBCD with 5, "
    "10 and 20 steps each, and the choice is by validation rows. A training has 30 epochs, as in "
    "the authors' program, but for the last column.",
)

CLAIMED = {cell.experiment: cell.claim for cell in (*TABLE_7.cells, *TABLE_9.cells)}

LABEL_RATES = Table(
    name="label-rates",
    title="Rates of the paper, and more epochs, under label differential privacy",
    place="Tables VII and IX, rates",
    cells=uncounted(
        Cell(row, told, f"{run}{end}", claim=CLAIMED[run])
        for row, run in (
            ("Split Learning, epsilon 2.8", "mnist splitnn label epsilon 2.8"),
            ("Split Learning, epsilon 1.4", "mnist splitnn label epsilon 1.4"),
            ("FedBCD, epsilon 2.8", "mnist fedbcd label epsilon 2.8"),
            ("FedBCD, epsilon 1.4", "mnist fedbcd label epsilon 1.4"),
            ("VIMADMM-J, epsilon 1.4", "mnist vimadmm_j label epsilon 1.4"),
            ("VIMADMM, tau 1, epsilon 1.4", "mnist vimadmm tau 1 label epsilon 1.4"),
        )
        for told, end in (
            ("as the authors' program", ""),
            ("best of the points", " tuned"),
            ("60 epochs", TWICE),
        )
        if f"{run}{end}" in EXPERIMENTS
    ),
    note="MNIST. The points are the paper's rates, 0.05, 0.1, 0.3, 0.5 and 0.8, of all parties "
    "alike; of FedBCD 0.05 and 0.1, with 5 and 10 local steps, where the authors' program has 0.01 "
    "and 20. The choice is by validation rows. The paper names no number of epochs under label "
    "privacy; 30 are those of its program without.",
)
