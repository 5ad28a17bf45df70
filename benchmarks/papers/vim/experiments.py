"""Runs behind VIM's tables."""

from dataclasses import replace

from benchmarks.papers.vim.settings import (
    BY_ADMM,
    DP_EPOCHS,
    MINUTES,
    ON_MNIST,
    RUNS,
    SEARCHES,
    TEST_NOISE,
    UPLOADS_NOISED,
    USUAL,
    WIDEST,
    Options,
)
from benchmarks.papers.vim.varied import VARIED
from benchmarks.reproducing.paper import Experiment


def _noised(data: str, method: str, flags: Options, epsilon: str) -> Experiment:
    """Describe runs with noise on uploads.

    Many draws end early, when epsilon is spent.
    """
    epochs = DP_EPOCHS[method]
    return Experiment(
        flags | {"method": method, "epochs": epochs, **UPLOADS_NOISED[epsilon]},
        MINUTES[data][method] * int(epochs) * 0.7 + 0.2,
        search=SEARCHES[data, epsilon],
    )


def _with_own_top(flags: Options) -> Options:
    """Return flags without the choice of a top model."""
    return {name: value for name, value in flags.items() if name not in USUAL}


PLAIN = {
    f"{data} {method}": Experiment(
        flags | {"method": method},
        MINUTES[data][method] * int(flags["epochs"]) + 0.2,
        noise=TEST_NOISE.get((data, method), 0),
    )
    for data, runs in RUNS.items()
    for method, flags in runs.items()
}

LINEAR = {
    "mnist linear_admm": Experiment(
        ON_MNIST["vimadmm_j"]
        | {"method": "linear_admm", "models": "linear", "head-rate": "1", "beta": "0.005"},
        2.5,
    )
}

OFTEN = {
    f"mnist {method} often": Experiment(
        flags | {"method": method, "eval-every": "10"},
        1.2 * MINUTES["mnist"][method] * int(flags["epochs"]) + 0.2,
    )
    for method, flags in (
        ON_MNIST | {each: ON_MNIST[each] | {"epochs": "2"} for each in BY_ADMM}
    ).items()
}
"""Evaluated every ten rounds."""

HALVED = {
    f"{name} float16": Experiment({**each.flags, "wire-precision": "float16"}, each.minutes)
    for name, each in OFTEN.items()
    if each.flags["method"] in BY_ADMM
}
"""With numbers of 16 bits in messages."""

UPLOADS = {
    f"{data} {method} epsilon {epsilon}": _noised(data, method, _with_own_top(flags), epsilon)
    for data, runs in RUNS.items()
    for method, flags in runs.items()
    for epsilon in UPLOADS_NOISED
}

LABELS = {
    f"{data} {method} label epsilon {epsilon}": Experiment(
        flags
        | {
            "method": method,
            "label-privacy": "alibi",
            "label-epsilon": epsilon,
        },
        MINUTES[data][method] * int(flags["epochs"]) + 0.2,
    )
    for data, runs in RUNS.items()
    for method, flags in runs.items()
    for epsilon in ("2.8", "1.4")
}

USUAL_TOPS = {
    f"mnist {method} epsilon {epsilon} usual top": _noised("mnist", method, flags, epsilon)
    for method, flags in ON_MNIST.items()
    if flags.keys() >= USUAL.keys()
    for epsilon in UPLOADS_NOISED
}

WIDER = {
    "mnist fdml epsilon 8 clip 1": replace(UPLOADS["mnist fdml epsilon 8"], search=WIDEST),
}

EXPERIMENTS = PLAIN | LINEAR | OFTEN | HALVED | UPLOADS | USUAL_TOPS | WIDER | LABELS | VARIED
