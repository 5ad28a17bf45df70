"""VIM's runs with other scales of pixels."""

from benchmarks.papers.vim.others import LEAST
from benchmarks.papers.vim.settings import SCALED
from benchmarks.reproducing.cells import uncounted
from benchmarks.reproducing.paper import Cell, Table

ROWS = (
    ("Table VI, Split Learning", "splitnn", ""),
    ("Table VII, Split Learning, epsilon 2.8", "splitnn label epsilon 2.8", ""),
    ("Table VII, Split Learning, epsilon 1.4", "splitnn label epsilon 1.4", ""),
    ("Table VII, VIMADMM-J, epsilon 1.4", "vimadmm_j label epsilon 1.4", ""),
    ("Table IX, tau 1", "vimadmm tau 1 label epsilon 1.4", ""),
    ("Table X, all clients, five epochs", "vimadmm summary", ""),
    ("Table X, the most important 50 %", "vimadmm summary", "top:50"),
    (f"Table X, {LEAST} 50 %", "vimadmm summary", "bottom:50"),
    ("Table X, the most important 20 %", "vimadmm summary", "top:20"),
    (f"Table X, {LEAST} 20 %", "vimadmm summary", "bottom:20"),
    ("Table XI, VIMADMM, settings of 14 clients", "vimadmm 100 clients", ""),
    ("Table XIII, Split Learning, epoch 5", "splitnn noisy 5 epochs", ""),
    ("Table XIII, Split Learning, epoch 10", "splitnn noisy 10 epochs", ""),
)
"""Headings, runs on MNIST, and which clients are retrained with."""

SCALING = Table(
    name="scaling",
    title="Pixels scaled by each party, and as those of whole images",
    place="Tables VI to XIII, scaling",
    alike=False,
    cells=uncounted(
        Cell(
            row,
            told,
            f"mnist {run}{end}",
            f"retrained:{clients}" if clients else "test:active",
            lower=LEAST in row,
        )
        for row, run, clients in ROWS
        for told, end in (("each by itself", ""), ("whole images", SCALED))
    ),
    note="MNIST; the claims are in the tables that rows name. The authors' program has one mean "
    "and one deviation for all pixels. A client that scales its own two rows of the image blows up "
    "those that are hardly ever drawn on. Of 100 clients, whose windows are lists of pixels, each "
    "pixel has a mean and a deviation of its own unless whole images have one.",
)
