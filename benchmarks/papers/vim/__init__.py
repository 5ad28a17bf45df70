"""VIM, Xie et al. 2022, arXiv:2207.10226."""

from benchmarks.papers.vim import figures, hundred, others, rates, tables
from benchmarks.papers.vim.experiments import EXPERIMENTS
from benchmarks.papers.vim.scaling import SCALING
from benchmarks.reproducing.paper import Paper

PAPER = Paper(
    title="VIM",
    reference="Xie et al. 2022, arXiv:2207.10226",
    repeats=3,
    methods=("vimadmm", "vimadmm_j"),
    experiments=EXPERIMENTS,
    settings=(
        "Learning rates, tau, rho, optimizers, weight decay and epochs are those of the authors' "
        "program, github.com/AI-secure/VFL-ADMM. Each party scales its own pixels, by mean and "
        "deviation in its training rows; the program has one mean and deviation for all: see the "
        "table of scaling. The decay of heads is that program's, too: beta is 0.0005, where the "
        "text has 0.005; Linear-ADMM has the text's. VIMADMM's residual is by the heads before "
        "their step, as in that program: by Eq. 8 as printed, with the new heads, training "
        "diverges. VIMADMM-J's heads step together with their networks, not in turns as in "
        "Algorithm 3. FDML sums its parties' logits, where the text has an average. Searches of "
        "rates vary those of all parties; but for Fig. 2's, heads of ADMM methods keep theirs, "
        "which the paper tunes as one with the clients'. Split Learning's gradients are of the "
        "server's network before its step. Training ends once the validation accuracy is two "
        "percentage points below its best (20 with noise on uploads, or with ten rounds between "
        "evaluations), and accuracies are those of the best evaluation's weights, which validation "
        "rows choose, unless a table says otherwise. Not here are Fig. 4, pictures of embeddings "
        "without numbers, what Figs. 1, 2, 3 and 5 have of NUS-WIDE and ModelNet40, which were not "
        "at hand, and Figs. 2, 3 and 5 on CIFAR, of which each run of VIMADMM takes two cores days."
    ),
    tables=(
        tables.TABLE_3,
        tables.TABLE_4,
        others.TABLE_5,
        tables.TABLE_6,
        tables.SPENT,
        tables.TOPS,
        tables.CLIPS,
        rates.RATES,
        tables.FEDBCD,
        tables.TABLE_7,
        others.TABLE_8,
        others.TABLE_9,
        rates.LABEL_RATES,
        others.TABLE_10,
        hundred.TABLE_11,
        others.TABLE_12,
        others.TABLE_13,
        others.TABLE_14,
        SCALING,
        tables.RESNETS,
        figures.FIGURE_1,
        figures.FIGURE_1_JOINT,
        figures.ALGORITHM_3,
        figures.FIGURE_1_BYTES,
        figures.FIGURE_1_CIFAR,
        figures.FIGURE_2,
        figures.FIGURE_2_SUM,
        figures.FIGURE_3,
        figures.FIGURE_3_RANKS,
        figures.FIGURE_5,
    ),
)
