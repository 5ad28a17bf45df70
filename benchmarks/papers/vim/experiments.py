"""Runs behind VIM's tables."""

from dataclasses import replace

from benchmarks.papers.vim.settings import (
    BY_ADMM,
    CLIPPED,
    DP_EPOCHS,
    EVERY_TEN,
    LESS,
    MINUTES,
    ON_MNIST,
    ONCE,
    RUNS,
    SCALED,
    SEARCHES,
    STILL,
    TEN,
    TEST_NOISE,
    TWICE,
    UPLOADS_NOISED,
    USUAL,
    WHOLE,
    WIDEST,
    WITH_TOPS,
    Options,
)
from benchmarks.papers.vim.varied import GRID, VARIED
from benchmarks.reproducing.paper import Experiment, Search


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


def _less_decay(of: Experiment, flags: Options, minutes: float) -> Experiment:
    """Describe runs with a tenth of the weight decay, of heads too."""
    less = {"optimizers": of.flags["optimizers"].replace("0.001", "0.0001")}
    less |= {"beta": "0.00005"} if "beta" in of.flags else {}
    return replace(of.with_flags(flags | less), minutes=minutes)


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
        flags | {"method": method, **EVERY_TEN},
        1.2 * MINUTES["mnist"][method] * int(flags["epochs"]) + 0.2,
    )
    for method, flags in (
        ON_MNIST | {each: ON_MNIST[each] | {"epochs": "2"} for each in BY_ADMM}
    ).items()
}
"""Evaluated every ten rounds."""

HALVED = {
    f"{name} float16": each.with_flags({"wire-precision": "float16"})
    for name, each in OFTEN.items()
    if each.flags["method"] in BY_ADMM
}
"""With floats of 16 bits in messages."""

UPLOADS = {
    f"{data} {method} epsilon {epsilon}": _noised(data, method, flags, epsilon)
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
    f"{name} usual top": each.with_flags(USUAL)
    for name, each in (PLAIN | UPLOADS).items()
    if each.flags["method"] in WITH_TOPS and name.startswith("mnist")
}

WIDER = {
    f"{name} clip 1": replace(UPLOADS[name], search=WIDEST)
    for name in (f"mnist {method} epsilon 8" for method in CLIPPED)
}

BCD_RATES = Search({"learning-rates": ("0.05", "0.1"), "local-steps": ("5", "10")})
"""Rates and local steps at which FedBCD does not diverge without noise."""

RATES_TUNED = {
    f"{name} tuned": replace((LABELS | VARIED)[name], search=Search({"learning-rates": GRID}))
    for name in (
        "mnist splitnn label epsilon 2.8",
        "mnist splitnn label epsilon 1.4",
        "mnist vimadmm_j label epsilon 1.4",
        "mnist vimadmm tau 1 label epsilon 1.4",
        *(f"mnist splitnn noisy {epochs} epochs" for epochs in ("2", "5", "10")),
    )
} | {
    f"{name} tuned": replace(LABELS[name], minutes=3.5, search=BCD_RATES)
    for name in (f"mnist fedbcd label epsilon {epsilon}" for epsilon in ("2.8", "1.4"))
}

LONGER = {
    f"{name}{TWICE}": replace(
        each.with_flags({"epochs": "60"}),
        minutes=2 * each.minutes,
        most_seeds=most or each.most_seeds,
    )
    for name, most in (
        ("mnist central", 0),
        ("mnist splitnn", 0),
        ("mnist fedbcd", 1),
        ("mnist splitnn label epsilon 2.8", 0),
        ("mnist splitnn label epsilon 1.4", 0),
        ("mnist vimadmm tau 1 label epsilon 1.4", 0),
    )
    for each in ((PLAIN | LABELS | VARIED)[name],)
}

TEN_EPOCHS = {
    f"{name}{TEN}": replace(
        each.with_flags({"epochs": "10", "stop-drop": "10"}), minutes=27, most_seeds=1
    )
    for name in (f"mnist {method} 100 clients" for method in BY_ADMM)
    for each in (VARIED[name],)
}

DEEP_RATES = Search({"learning-rates": ("0.5", "0.8"), "head-rate": ("0.1", "0.3")})
"""Rates of VIMADMM's deep heads, of the paper's grid."""

CALM: Options = WHOLE | {"local-steps": "5", "epochs": "20", "stop-drop": "10"}
"""Of ADMM methods with 100 clients, whose parallel steps add up."""

LESS_DECAY = {
    f"{name}{LESS}": replace(_less_decay(VARIED[name], flags, minutes), most_seeds=1)
    for method, flags, minutes in (
        ("splitnn", {}, 12),
        ("vimadmm", CALM | {"head-rate": "0.02"}, 22),
        ("fdml", {}, 12),
        ("vimadmm_j", CALM, 22),
    )
    for name in (f"mnist {method} 100 clients",)
} | {
    f"{name}{LESS}": _less_decay(VARIED[name], {}, VARIED[name].minutes)
    for name in (f"mnist {method} deep heads" for method in (*WITH_TOPS, "vimadmm", "fdml"))
}

DEEP_TUNED = {
    f"{name} tuned": replace(LESS_DECAY[name].with_flags(flags), minutes=minutes, search=search)
    for method, flags, minutes, search in (
        ("vimadmm", {"rho": "0.5"}, 12, DEEP_RATES),
        ("fdml", {}, 2, Search({"learning-rates": GRID})),
    )
    for name in (f"mnist {method} deep heads{LESS}",)
}

DEEP_STILL = {
    f"{name}{STILL} tuned": replace(
        each.with_flags({"optimizers": each.flags["optimizers"].replace("momentum:", "sgd:")}),
        search=Search({"learning-rates": GRID}),
    )
    for name in (f"mnist fdml deep heads{LESS}",)
    for each in (LESS_DECAY[name],)
}

DEEP_ONCE = {
    f"{name}{ONCE}": replace(each.with_flags({"local-steps": "1"}), minutes=2.5, most_seeds=1)
    for name, each in (VARIED | LESS_DECAY).items()
    if name.startswith("mnist vimadmm deep heads")
}

ALIKE = {
    f"{name}{SCALED}": replace(each.with_flags(WHOLE), most_seeds=most or each.most_seeds)
    for most, names in (
        (0, ("vimadmm summary", "vimadmm_j label epsilon 1.4")),
        (0, ("splitnn noisy 5 epochs", "splitnn noisy 10 epochs")),
        (1, ("splitnn", "splitnn label epsilon 2.8", "splitnn label epsilon 1.4")),
        (1, ("vimadmm tau 1 label epsilon 1.4",)),
        (1, ("vimadmm 100 clients",)),
    )
    for name in (f"mnist {its}" for its in names)
    for each in ((PLAIN | LABELS | VARIED)[name],)
}
"""Runs with the scale of whole images."""

EXPERIMENTS = (
    PLAIN
    | LINEAR
    | OFTEN
    | HALVED
    | UPLOADS
    | USUAL_TOPS
    | WIDER
    | LABELS
    | RATES_TUNED
    | VARIED
    | LONGER
    | TEN_EPOCHS
    | LESS_DECAY
    | DEEP_TUNED
    | DEEP_STILL
    | DEEP_ONCE
    | ALIKE
)
