"""Leakage under defences without a guarantee."""

from collections.abc import Mapping, Sequence
from itertools import chain, product
from typing import Any

from benchmarks.harness.benchmark import Arguments
from benchmarks.harness.report import Cell, Report
from benchmarks.shown.cards import EPOCHS, figures_of
from benchmarks.shown.runs import column, some, spread, trained
from vfl_flower import Run
from vfl_flower.analysis.audit.card import Terms, leakage_card

LONG = 30
"""Epochs that a defended run is trained for."""
SEVERAL_CLASSES = ("none", "isotropic:0.25", "isotropic:1", "discretized:9", "top-k:0.25")
TWO_CLASSES = ("none", "isotropic:1", "marvell:1", "discretized:9", "top-k:0.25")
DEFENDED = (
    *(("easter", "digits", each) for each in SEVERAL_CLASSES),
    *(("splitnn", "digits", each) for each in SEVERAL_CLASSES),
    *(("splitnn", "breast-cancer", each) for each in TWO_CLASSES),
)
"""Methods, data sets and defences of gradients."""
ENCODINGS = ("none", "confusional:1", "confusional:10")
ENCODED = tuple(
    (method, "digits", each) for method in ("splitnn", "easter", "vimadmm") for each in ENCODINGS
)
"""Methods, data sets and encodings of labels."""
ANSWERED = ("read-off", "denoised", "learnt", "norm", "cosine", "spectral", "completion")
"""Attacks on labels that defences of gradients are to answer."""
SHIELDED = ("easter", "splitnn", "vimadmm", "pravfed")
SHIELDS = ("none", "nopeek:1", "nopeek:10", "mid:0.001", "mid:0.01", "fedpass:5")
"""Methods with defences of embeddings, and these."""
TOLD = ("decoder", "public-weights", "unsplit", "membership")
"""Attacks on columns and rows that defences of embeddings may answer."""
READ: Mapping[str, Mapping[str, Any]] = {
    "linear_admm, wine": {
        "method": "linear_admm",
        "dataset": "wine",
        "partition": "listed:0-10;11-12",
        "parties": 2,
        "blinding": "none",
        "batch_size": 20,
    },
    "splitnn, digits": {"method": "splitnn"},
}
"""Runs whose predictions are read: a linear one with as many unknown columns as equations."""
DECIMALS = 0, 2, 1
BY_READERS = (
    *("equality-scores", "generative-scores", "membership"),
    *("equality-solving", "generative"),
)
"""Attacks by readers of prediction files, then the same by the active party."""
CONFUSED = ("read-off", "learnt", "norm", "cosine", "spectral", "completion", "backdoor")
"""Attacks that encodings of labels are to answer, and others."""


def defences(given: Arguments, report: Report) -> None:
    """Attack the labels of runs with each defence of gradients."""
    _compared(given, report, "gradient_defence", DEFENDED, ANSWERED)


def encodings(given: Arguments, report: Report) -> None:
    """Attack the labels of runs with each encoding of labels."""
    _compared(given, report, "label_encoding", ENCODED, CONFUSED)


def _compared(
    given: Arguments,
    report: Report,
    option: str,
    cases: Sequence[tuple[str, str, str]],
    attacks: Sequence[str],
) -> None:
    """Train with each value of an option, and attack the labels."""
    columns = {"method": "", "data": "", option.split("_")[1]: ""} | column("accuracy, %", ".1f")
    table = report.table("", columns | dict.fromkeys(attacks, ".2f"))
    for method, data, value in some(given, cases):
        options = {"method": method, option: value}
        accuracy, found = _defended(given, attacks, data, **options)
        table.add(method, data, value, *accuracy, *(mean for mean, _ in found))
    fooled = ", share of fooled rows (backdoor)" if "backdoor" in attacks else ""
    table.title = (
        f"4 parties, MLPs; test accuracy after {LONG} epochs, and accuracy or AUC (norm, cosine, "
        f"spectral){fooled} of attacks on labels in {EPOCHS} epochs, 10 labels a class known; "
        f"means of {given.seeds} seeds"
    )


def scores(given: Arguments, report: Report) -> None:
    """Attack runs whose probabilities are written with fewer decimals."""
    columns = dict.fromkeys((*BY_READERS, "own columns"), ".2f")
    table = report.table("", {"run": "", "decimals": ""} | columns)
    for name, decimals in some(given, product(READ, DECIMALS)):
        options: dict[str, Any] = {"epochs": EPOCHS, "score_digits": decimals} | {**READ[name]}
        run = trained(given, data=options.pop("dataset", "digits"), **options)
        found = _attacked(given, run, BY_READERS)
        alone = found["generative"]["without"]["baseline"]
        means = [_figures(found.get(attack))[0] for attack in BY_READERS]
        table.add(name, str(decimals or "all"), *means, alone)
    table.title = (
        f"R² of the passive parties' columns, AUC of membership; {EPOCHS} epochs, up to 200 "
        f"auxiliary rows and 300 predictions of test rows; means of {given.seeds} seeds"
    )


def embedding_defences(given: Arguments, report: Report) -> None:
    """Attack single embeddings of runs with each defence of embeddings."""
    columns = {"method": "", "defence": ""} | column("accuracy, %", ".1f")
    for attack in TOLD:
        columns |= column(attack, ".2f")
    table = report.table("", columns)
    for method, defence in some(given, product(SHIELDED, SHIELDS)):
        options = {"method": method, "embedding_defence": defence, "blinding": "none"}
        accuracy, found = _defended(given, TOLD, **options)
        table.add(method, defence, *accuracy, *chain(*found))
    table.title = (
        f"digits, 4 parties, MLPs, no masks, public weights; accuracy after {LONG} epochs, and "
        f"R² (AUC of membership) of attacks in {EPOCHS} epochs with 200 auxiliary rows; means of "
        f"{given.seeds} seeds"
    )


def _defended(
    given: Arguments,
    attacks: Sequence[str],
    data: str = "digits",
    **options: Any,  # noqa: ANN401
) -> tuple[list[Cell], list[list[Cell]]]:
    """Train and attack; return accuracy with spread, and each attack's figures."""
    seeds = range(given.seeds)
    runs = [trained(given, seed, data, epochs=LONG, **options) for seed in seeds]
    accuracy = spread([100 * run.result["test_accuracy"]["active"] for run in runs])
    found = _attacked(given, runs[0], attacks)
    return accuracy, [_figures(found.get(attack)) for attack in attacks]


def _attacked(given: Arguments, run: Run, attacks: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Attack a run; return the lines of its card, by attack."""
    terms = Terms(min(EPOCHS, given.epochs), seeds=given.seeds, attacks=attacks)
    return {each["attack"]: each for each in leakage_card(run.path, terms)["lines"]}


def _figures(line: Mapping[str, Any] | None) -> list[Cell]:
    """Return mean and half of the interval on the run itself."""
    return figures_of(line and (line["with"] or line["without"]))[:2]
