"""VIM, Xie et al. 2022, arXiv:2207.10226."""

from benchmarks.papers.vim.experiments import EXPERIMENTS
from benchmarks.papers.vim.tables import TABLES
from benchmarks.reproducing.paper import Paper

PAPER = Paper(
    title="VIM",
    reference="Xie et al. 2022, arXiv:2207.10226",
    repeats=3,
    experiments=EXPERIMENTS,
    tables=TABLES,
)
