"""EASTER, Wang et al. 2023, arXiv:2310.13367."""

from benchmarks.papers.easter import cells
from benchmarks.papers.easter.runs import EXPERIMENTS, MIXED, OPTIMIZERS, PARTIES, SETS, SMALL
from benchmarks.reproducing.paper import Curve, Paper, Table

FOUR_RATES = (
    "SGD and Adagrad have the paper's rate of 0.05, momentum and Adam a tenth of it, the best of "
    "five sets of rates by MNIST's validation rows, LeNet and seed 0. Embeddings have the "
    "embedding-bound of 16, as is usual between machines, which the paper does not have."
)

SMALL_RATES = (
    "SGD and Adagrad have a rate of 0.01, momentum and Adam of 0.001, where the paper has 0.05. "
    "They were chosen by MNIST's validation rows after four epochs, of which no record is kept; "
    "the search behind EASTER's Table 4, after 20, has them last of five."
)

ALIKE = (
    "In all runs a tenth of the training rows is held out for validation, and each party has a "
    "strip of an image's columns. Where no optimizers are named, all take steps of plain SGD; the "
    "paper names none. It draws parties' networks; here they are placed as the tables say. C_VFL "
    "has its usual settings: 8 bits, four local steps an exchange, labels not shared. Homogeneous "
    "rows have one network everywhere, as one section of the paper says and another contradicts."
)

OWN = (
    "EASTER has the binary cross-entropy of Eq. 8, summed over classes, where that names neither "
    "sum nor mean; the baselines have cross-entropy. The paper names no epochs: 20 are VFedMH's, "
    "and so are the 100 of residual networks, which start from drawn weights."
)


def _courses(run: str, labels: dict[str, str]) -> list[Curve]:
    """Return the training accuracy of every party of a run by epoch."""
    return [Curve(label, run, reading=f"train:{party}") for party, label in labels.items()]


def _drawn(figure: int, dataset: str, networks: str, curves: list[Curve]) -> Table:
    letter = "abc"[list(SETS).index(dataset)]
    title = f"Training accuracy with {networks} and four optimizers, {dataset}"
    name, place = f"fig{figure}{letter}", f"Fig. {figure}({letter})"
    return Table(name, title, place, curves=curves, picture="curves", note=FOUR_RATES)


def _figure4(dataset: str) -> Table:
    curves = [
        curve
        for network in SMALL
        for curve in _courses(
            f"{dataset} {network} optimizers",
            {p: f"{network}, {name}" for p, name in zip(PARTIES, OPTIMIZERS, strict=True)},
        )
    ]
    return _drawn(4, dataset, "one network", curves)


def _figure5(dataset: str) -> Table:
    networks = MIXED["CNN"].split(",")
    labels = {
        party: f"{network}, {name}"
        for party, network, name in zip(PARTIES, networks, OPTIMIZERS, strict=True)
    }
    return _drawn(5, dataset, "three networks", _courses(f"{dataset} mixed optimizers", labels))


PAPER = Paper(
    title="EASTER",
    reference="Wang et al. 2023, arXiv:2310.13367",
    repeats=5,
    methods=("easter",),
    experiments=EXPERIMENTS,
    settings=f"{ALIKE} {OWN}",
    tables=(
        Table(
            "table2",
            "Test accuracy of EASTER with three networks in one run, and of baselines with one",
            "Table 2",
            [*cells.table2(), *cells.other_settings()],
            note="In one run of EASTER the active party has the CNN, a passive one LeNet, two have "
            "MLPs; the column is the party with that network. Baselines have the column's network "
            "everywhere. The paper does not say how many runs its deviations are of; five, as in "
            "PraVFed, are taken. Runs of C_VFL that failed are compared with nothing; "
            "those with labels shared have no claims. Among the failed ones is LeNet on FMNIST, of "
            "which the paper's abstract has EASTER 4 % above C_VFL: the row with labels shared is "
            "what there is to compare. In the row of 60 epochs weights are those "
            "of the best evaluation by validation rows, one of the first half, after which "
            "validation accuracy falls. A shortened row is one epoch of 12,800 rows, 100 steps, "
            "with ResNet18 at all parties, and their mean.",
        ),
        Table(
            "networks",
            "Test accuracy of EASTER, and of the active party alone, with other networks",
            "Table 2, other networks",
            cells.networks(),
            note="PraVFed is by the same first author, describes its networks in the same words, "
            "and has EASTER's numbers of Local on MNIST and FMNIST, to a tenth, in its row "
            "Standalone. Its program is "
            "public: a CNN with convolutions of single pixels, a LeNet with 64 channels and hardly "
            "a pooling, an MLP of 50 units with dropout. Here are Table 2's rows with those.",
        ),
        Table(
            "rounds",
            "Exchanges of a training",
            "Section 5.2.2",
            cells.rounds(),
            unit="exchanges",
            note="By the text an epoch of EASTER takes twice the rounds of a baseline, which has "
            "to be trained anew for each network: fewer in all, once there are three networks.",
        ),
        Table(
            "table3",
            "Test accuracy of aggregated embeddings and aggregated predictions",
            "Table 3",
            cells.table3(),
            note="Homo_EASTER is the mean over the four parties. In Heter_aggVFL, whose one "
            "prediction is a sum, the column is the active party's network. Local and EASTER are "
            "those of Table 2, whose Agg_VFL is Homo_aggVFL, with deviations. The last rows are "
            "not of the paper: where Homo_EASTER, or EASTER on CIFAR-10, misses its claim, they "
            "have more epochs and the weights of the best evaluation; or besides a rate that falls "
            "along half a cosine, and a weight decay, of 0.001 or 0.003 by validation rows; or the "
            "same network on all columns, which no party has.",
        ),
        Table(
            "table4",
            "Test accuracy of parties with one network and four optimizers, in one run",
            "Table 4",
            cells.table4(),
            note=f"{FOUR_RATES} Weights are those of the best evaluation by validation rows.",
        ),
        Table(
            "unbounded",
            "Table 4 without bounded embeddings",
            "Table 4, unbounded",
            cells.unbounded(),
            note="With the paper's one rate of 0.05 for all optimizers training fails: embeddings "
            "outgrow the ring's range, or parties guess. Without a bound LeNet diverges in some "
            "runs by small rates and by Table 4's; CNN and MLP train with small rates, and Table "
            "4's were not tried with them. Unbounded rows have small rates, and the weights of the "
            f"last epoch. {SMALL_RATES} Tuned rows differ from Table 4 in the bound alone: they "
            "are the search in which its rates were chosen.",
        ),
        *map(_figure4, SETS),
        *map(_figure5, SETS),
    ),
)
