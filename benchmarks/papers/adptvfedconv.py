"""AdptVFedConv, Li et al. 2022, Algorithm 1, Tables 2 and 3."""

from collections.abc import Iterator

from benchmarks.reproducing.cells import uncounted
from benchmarks.reproducing.paper import Cell, Curve, Experiment, Paper, Table

COMMON = {"parties": "4", "partition": "grid:2x2", "schedule": "cosine"}

FULL = COMMON | {
    "optimizers": "momentum",
    "learning-rates": "0.02",
    "epochs": "100",
    "batch-size": "128",
    "views": "8",
}
"""Whole networks on all rows; the paper names neither rates of the classifier nor epochs."""

SMALLER = ", reduced"
"""Last words of runs that two cores can take, and of their rows."""

REDUCED = COMMON | {
    "dataset": "cifar10",
    "optimizers": "adam",
    "learning-rates": "0.001",
    "epochs": "8",
    "batch-size": "64",
    "width": "0.25",
    "train-rows": "5000",
    "validation": "0.02",
}
"""A quarter of all channels and 5,000 rows, which two cores train in minutes."""

FULL_STAGES = {"pretrain-epochs": "100", "local-epochs": "20", "compression": "float16"}
REDUCED_STAGES = {"pretrain-epochs": "8", "local-epochs": "2"}

SETS = {"CIFAR-10": "cifar10", "CIFAR-100": "cifar100", "CINIC-10": "cinic10"}
THERE = "CIFAR-10"
LACKING = "no copy of the data set was at hand"

OURS = {"method": "adptvfedconv"}
ROWS: dict[str, dict[str, str]] = {
    "AdptVFedConv": OURS,
    "Centralized (VGG-16)": {"method": "central", "cut": "2C+1M", "padding": "zeros"},
    "Non-cooperation": {"method": "local", "cut": "2C+1M"},
    "No model transfer": OURS | {"no-model-transfer": ""},
    "Zero-padding mode": OURS | {"padding": "zeros"},
}
"""Table 2's rows."""

MINUTES = {
    "AdptVFedConv": 1260,
    "Centralized (VGG-16)": 1040,
    "Non-cooperation": 340,
    "No model transfer": 1260,
    "Zero-padding mode": 1260,
    "1C": 1380,
    "2C": 1300,
    "3C+1M": 1230,
    "4C+1M": 1170,
    "4C+2M": 1170,
    "5C+2M": 1120,
    "6C+2M": 1040,
    "7C+2M": 960,
    "7C+3M": 960,
}
"""Of CIFAR-10, at full width, from the time of single steps."""

TIMES = {"CIFAR-10": 1.0, "CIFAR-100": 1.0, "CINIC-10": 1.8}
"""Times of the sets, for that of CIFAR-10."""

REDUCED_MINUTES = {"Non-cooperation": 1.0, "1C": 4.0, "2C": 4.0}
"""Where it is not `USUAL_MINUTES`."""

USUAL_MINUTES = 2.5

TABLE_2 = {
    "AdptVFedConv": (91.30, 69.72, 80.69),
    "Centralized (VGG-16)": (94.04, 73.24, 84.73),
    "Non-cooperation": (65.85, 37.88, 53.75),
    "No model transfer": (87.73, 63.87, 76.65),
    "Zero-padding mode": (90.79, 67.55, 79.69),
}
TABLE_3 = {
    "1C": (92.30, 70.75, 83.10),
    "2C": (91.07, 69.37, 80.49),
    "2C+1M": (91.30, 69.72, 80.69),
    "3C+1M": (89.63, 67.28, 77.59),
    "4C+1M": (87.06, 63.20, 74.06),
    "4C+2M": (85.47, 60.85, 70.43),
    "5C+2M": (81.42, 54.64, 67.08),
    "6C+2M": (77.13, 50.94, 62.62),
    "7C+2M": (69.67, 47.10, 60.18),
    "7C+3M": (73.11, 45.62, 59.83),
}
USUAL_CUT = "2C+1M"
CUTS = [cut for cut in TABLE_3 if cut != USUAL_CUT]


def _flags(name: str) -> dict[str, str]:
    """Return the flags of a row's own, of Table 2 or 3."""
    return ROWS.get(name) or OURS | {"cut": name}


def _full(dataset: str, name: str) -> Experiment:
    own = _flags(name)
    stages = FULL_STAGES if own["method"] == "adptvfedconv" else {}
    flags = FULL | {"dataset": SETS[dataset]} | own | stages
    lacking = "" if dataset == THERE else LACKING
    return Experiment(flags, MINUTES[name] * TIMES[dataset], most_seeds=1, lacking=lacking)


def _reduced(name: str) -> Experiment:
    own = _flags(name)
    stages = REDUCED_STAGES if own["method"] == "adptvfedconv" else {}
    return Experiment(REDUCED | own | stages, REDUCED_MINUTES.get(name, USUAL_MINUTES))


EXPERIMENTS = {
    **{f"{d} {name}": _full(d, name) for d in SETS for name in (*ROWS, *CUTS)},
    **{f"{THERE} {name}{SMALLER}": _reduced(name) for name in (*ROWS, *CUTS)},
}


def _run(dataset: str, cut: str) -> str:
    return f"{dataset} {'AdptVFedConv' if cut == USUAL_CUT else cut}"


def _table2() -> Iterator[Cell]:
    for name, claims in TABLE_2.items():
        for dataset, claim in zip(SETS, claims, strict=True):
            run = f"{dataset} {name}"
            yield Cell(name, dataset, run, claim=claim)
    reduced = (Cell(f"{name}{SMALLER}", THERE, f"{THERE} {name}{SMALLER}") for name in TABLE_2)
    yield from uncounted(reduced)


def _table3() -> Iterator[Cell]:
    for cut, claims in TABLE_3.items():
        for dataset, claim in zip(SETS, claims, strict=True):
            yield Cell(cut, dataset, _run(dataset, cut), claim=claim)
    reduced = (Cell(f"{cut}{SMALLER}", THERE, f"{_run(THERE, cut)}{SMALLER}") for cut in TABLE_3)
    yield from uncounted(reduced)


def _figure3(letter: str, dataset: str) -> Table:
    """Return the accuracy by epoch on one set, and reduced."""
    names = list(ROWS)[:3]
    curves = [Curve(name, f"{dataset} {name}") for name in names]
    if dataset == THERE:
        curves += [Curve(f"{name}{SMALLER}", f"{THERE} {name}{SMALLER}") for name in names]
    return Table(
        f"fig3{letter}",
        f"Accuracy by epoch, {dataset}",
        f"Fig. 3({letter})",
        curves=curves,
        picture="curves",
        note="On validation rows; the paper's are test rows.",
    )


def _figure4() -> Iterator[Cell]:
    for place, dataset in enumerate(SETS):
        for cut, claims in TABLE_3.items():
            run = _run(dataset, cut)
            yield Cell(dataset, cut, run, claim=claims[place])
    reduced = (Cell(f"{THERE}{SMALLER}", cut, f"{_run(THERE, cut)}{SMALLER}") for cut in TABLE_3)
    yield from uncounted(reduced)


REDUCED_NOTE = (
    "Rows called reduced have a quarter of the network's width, 5,000 training rows, 8 epochs of "
    "pre-training, 2 of fine-tuning and 8 of training with Adam at 0.001 and batches of 64, "
    "without augmentation. Their levels cannot be compared with the paper's; which row comes out "
    "above which can."
)

PAPER = Paper(
    title="AdptVFedConv",
    reference="Li et al. 2022, Adaptive Vertical Federated Learning via Feature Map Transferring "
    "in Mobile Edge Computing",
    repeats=1,
    methods=("adptvfedconv",),
    experiments=EXPERIMENTS,
    settings="In all runs a tenth of the training rows is held out for validation, 2 % in reduced "
    "ones, whose other settings stand with the tables. In whole runs rows are seen in eight "
    "views with flips and crops within a tile, one of them as it is. "
    "Pre-training has 100 epochs and fine-tuning 20 at most, with SGD and momentum on a cosine. "
    "'No model transfer' leaves out step 1 of the paper, as its Section 4.3 says; Section 4.1 "
    "names step 2.",
    tables=(
        Table(
            "table2",
            "Test accuracy of different methods on three data sets",
            "Table 2",
            tuple(_table2()),
            ranked=SMALLER,
            note="The paper names no epochs, batches or rates of the classifier: 100 epochs of 128 "
            "rows with SGD and momentum at 0.02 on a cosine are taken, with eight augmented views "
            f"of each row, sent as float16. {REDUCED_NOTE}",
        ),
        Table(
            "table3",
            "Test accuracy by the layers in the feature extractor",
            "Table 3",
            tuple(_table3()),
            ranked=SMALLER,
            note=f"1C is a block of convolution, 1M a pooling. {REDUCED_NOTE}",
        ),
        *(_figure3(letter, dataset) for letter, dataset in zip("abc", SETS, strict=True)),
        Table(
            "fig4",
            "Test accuracy by the layers in the feature extractor",
            "Fig. 4",
            tuple(_figure4()),
            picture="lines",
            note=REDUCED_NOTE,
        ),
    ),
)
