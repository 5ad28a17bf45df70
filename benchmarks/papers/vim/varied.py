"""Runs that vary one thing of VIM's: tau, rho, clients, classes, noise."""

from benchmarks.papers.vim.settings import (
    ADMM,
    ALL_STEPS,
    BY_ADMM,
    CIFAR,
    HUNDRED,
    MNIST,
    ON_CIFAR,
    ON_MNIST,
    ONE_CLIENT,
    OTHERS,
    SCALED,
    SEARCHES,
    SLOWER,
    SUMMED,
    TEST_NOISE,
    UPLOADS_NOISED,
    WHOLE,
    Options,
)
from benchmarks.reproducing.paper import Experiment, Search

VIMADMM: dict[str, Options] = {
    "mnist": ON_MNIST["vimadmm"] | {"method": "vimadmm"},
    "cifar": ON_CIFAR["vimadmm"] | {"method": "vimadmm"},
}
LABELS = {"label-privacy": "alibi", "label-epsilon": "1.4"}

TAUS = {
    f"mnist {method} tau {tau}": Experiment(
        ON_MNIST[method] | {"method": method, "local-steps": tau}, minutes
    )
    for method, taus in (
        ("vimadmm", (("1", 2.5), ("5", 5))),
        ("vimadmm_j", (("1", 2.5), ("5", 5), ("10", 8))),
        ("fedbcd", (("5", 3.5), ("10", 6))),
    )
    for tau, minutes in taus
}

TOGETHER = {
    f"mnist fedbcd tau {tau}{end}": Experiment(
        ON_MNIST["fedbcd"] | {"method": "fedbcd", "local-steps": tau, "active-steps": "all"} | top,
        minutes,
        most_seeds=most,
    )
    for end, top, most in ((ALL_STEPS, {}, 0), (SUMMED, {"top": "sum", "embedding-dim": "10"}, 1))
    for tau, minutes in (("5", 4), ("10", 7), ("20", 12))
}

GRID = ("0.05", "0.1", "0.3", "0.5", "0.8")
"""The paper's rates on MNIST."""

TUNED = {
    f"mnist {method} tuned": Experiment(
        ON_MNIST[method] | {"method": method},
        minutes,
        search=Search({"learning-rates": GRID, **more}),
    )
    for method, more, minutes in (
        ("splitnn", {}, 1.7),
        ("fedbcd", {"local-steps": ("5", "10", "20")}, 3.5),
    )
}

IN_TURNS = {
    "mnist vimadmm_j in turns": Experiment(
        ON_MNIST["vimadmm_j"] | {"method": "vimadmm_j", "head-steps": "in-turns"}, minutes=15
    ),
    f"mnist vimadmm_j in turns{SLOWER}": Experiment(
        ON_MNIST["vimadmm_j"]
        | {"method": "vimadmm_j", "head-steps": "in-turns", "head-rate": "0.01"},
        minutes=15,
        most_seeds=1,
    ),
}

TAUS_IN_PRIVATE = {
    **{
        f"mnist vimadmm tau {tau} epsilon 1": Experiment(
            VIMADMM["mnist"] | UPLOADS_NOISED["1"] | {"local-steps": tau, "epochs": "6"},
            minutes,
            search=SEARCHES["mnist", "1"],
        )
        for tau, minutes in (("1", 0.5), ("5", 0.8))
    },
    **{
        f"cifar vimadmm tau {tau} epsilon 1": Experiment(
            VIMADMM["cifar"] | UPLOADS_NOISED["1"] | {"local-steps": tau, "epochs": "3"},
            minutes,
            search=SEARCHES["cifar", "1"],
            most_seeds=1,
        )
        for tau, minutes in (("1", 18), ("30", 400))
    },
    **{
        f"{data} vimadmm tau {tau} label epsilon 1.4": Experiment(
            VIMADMM[data] | LABELS | {"local-steps": tau, "epochs": epochs}, minutes
        )
        for data, tau, epochs, minutes in (
            ("mnist", "1", "30", 2.5),
            ("mnist", "5", "30", 5),
            ("cifar", "1", "50", 300),
            ("cifar", "30", "20", 3600),
        )
    },
}

RHOS = {
    f"mnist vimadmm rho {rho}": Experiment(
        VIMADMM["mnist"] | {"rho": rho, "epochs": "5"}, minutes=2.5
    )
    for rho in ("0.5", "2")
}

ABOVE = {"top-layers": "2"}
"""Two-layer heads at the server."""

DEEP = {
    f"mnist {method} deep heads": Experiment(
        ON_MNIST[method] | {"method": method} | heads | changed, minutes
    )
    for method, heads, changed, minutes in (
        ("vafl", ABOVE, {"learning-rates": "0.3"}, 2.5),
        ("splitnn", ABOVE, {"learning-rates": "0.2"}, 2.5),
        ("fedbcd", ABOVE, {"learning-rates": "0.1", "local-steps": "5"}, 4),
        ("vimadmm", ABOVE, {"learning-rates": "0.1", "local-steps": "10"}, 12),
        ("fdml", {"models": "vim-mlp-deep"}, {}, 2),
    )
}
"""FDML's networks end in the heads that VIMADMM's server has: the same sum, by joint training."""

CENTRAL = {
    f"{data} central{name}": Experiment(
        flags
        | {"method": "central", "optimizers": ONE_CLIENT, "learning-rates": rate, "epochs": epochs}
        | tail,
        minutes,
    )
    for data, flags, rate, epochs, minutes in (
        ("mnist", MNIST, "0.1", "30", 1.5),
        ("cifar", CIFAR, "0.05", "50", 60),
    )
    for name, tail in (("", {}), (" long tail", {"long-tail": "10"}))
}

LONG_TAIL = {
    f"{data} vimadmm long tail": Experiment(VIMADMM[data] | {"long-tail": "10"}, minutes)
    for data, minutes in (("mnist", 7), ("cifar", 1200))
}

CHOSEN = ("top:50", "bottom:50", "top:20", "bottom:20")
RETRAINED = {
    "mnist vimadmm summary": Experiment(
        VIMADMM["mnist"] | {"epochs": "5"}, minutes=6, retrained=CHOSEN
    ),
    f"cifar vimadmm summary{SCALED}": Experiment(
        VIMADMM["cifar"] | WHOLE | {"epochs": "20"}, minutes=2900, retrained=CHOSEN, most_seeds=1
    ),
}

CLIENTS_100 = {
    f"mnist {method} 100 clients": Experiment(
        HUNDRED | {"method": method} | flags, minutes, most_seeds=0 if method in BY_ADMM else 1
    )
    for method, flags, minutes in (
        ("vafl", OTHERS[100] | {"learning-rates": "0.3", "epochs": "30"}, 12),
        ("splitnn", OTHERS[100] | {"learning-rates": "0.3", "epochs": "30"}, 12),
        ("vimadmm", ADMM | {"learning-rates": "0.1", "local-steps": "20", "epochs": "3"}, 8),
        ("fdml", OTHERS[100] | {"learning-rates": "0.1", "epochs": "30"}, 12),
        ("vimadmm_j", ON_MNIST["vimadmm_j"] | HUNDRED | {"epochs": "3"}, 8),
    )
}

SUBSAMPLED = {
    f"{data} vimadmm {percent} percent{name}": Experiment(
        VIMADMM[data] | {"participation": share} | noise, minutes * float(share) + 0.5
    )
    for data, minutes, noises in (
        (
            "mnist",
            9,
            (
                ("", {}),
                *(
                    (
                        f" epsilon {epsilon}",
                        UPLOADS_NOISED[epsilon] | {"dp-clip": "0.001", "epochs": "3"},
                    )
                    for epsilon in UPLOADS_NOISED
                ),
            ),
        ),
        (
            "cifar",
            3000,
            (
                ("", {}),
                *(
                    (
                        f" epsilon {epsilon}",
                        UPLOADS_NOISED[epsilon] | {"dp-clip": "0.05", "epochs": "10"},
                    )
                    for epsilon in UPLOADS_NOISED
                ),
            ),
        ),
    )
    for percent, share in (("25", "0.25"), ("50", "0.5"))
    for name, noise in noises
}

NOISY = {
    f"{data} {method} noisy {epochs} epochs": Experiment(
        runs[method]
        | {
            "method": method,
            "column-noise": noise,
            "epochs": epochs,
            "keep": "last",
            "stop-drop": "0",
        },
        minutes[method] * int(epochs) + 0.2,
        noise=TEST_NOISE.get((data, method), 0) if epochs == "10" else 0,
    )
    for data, runs, noise, minutes in (
        ("mnist", ON_MNIST, "7:1", {"vafl": 0.06, "splitnn": 0.06, "vimadmm": 0.45}),
        ("cifar", ON_CIFAR, "5:3", {"vafl": 6, "splitnn": 6, "vimadmm": 60}),
    )
    for method in ("vafl", "splitnn", "vimadmm")
    for epochs in ("2", "5", "10")
}

RESNETS = {
    f"cifar vimadmm resnet{depth}": Experiment(
        VIMADMM["cifar"] | {"models": f"resnet{depth}"}, minutes, most_seeds=1
    )
    for depth, minutes in (("18", 6000), ("34", 11000))
}

VARIED = (
    TAUS
    | TOGETHER
    | TUNED
    | IN_TURNS
    | TAUS_IN_PRIVATE
    | RHOS
    | DEEP
    | CENTRAL
    | LONG_TAIL
    | RETRAINED
    | CLIENTS_100
    | SUBSAMPLED
    | NOISY
    | RESNETS
)
