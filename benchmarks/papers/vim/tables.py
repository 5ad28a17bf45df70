"""VIM's tables over methods and data sets."""

from collections.abc import Mapping, Sequence
from itertools import product

from benchmarks.papers.vim.claims import A_ROUND, LABELS, MEBIBYTES, UPLOADS
from benchmarks.papers.vim.settings import ALL_STEPS, BY_ADMM, CLIPPED, METHODS, SUMMED, WITH_TOPS
from benchmarks.reproducing.cells import uncounted
from benchmarks.reproducing.paper import Cell, Table

SETS = ("MNIST", "CIFAR", "NUS-WIDE", "ModelNet40")
OF = {"MNIST": "mnist", "CIFAR": "cifar"}
"""First words of experiments, by data sets at hand."""

NOISED = {"infinite": "", "8": " epsilon 8", "1": " epsilon 1"}
LABELS_NOISED = {"infinite": "", "2.8": " label epsilon 2.8", "1.4": " label epsilon 1.4"}
"""Last words of experiments, by epsilon."""

WHY = {
    "NUS-WIDE": "NUS-WIDE with its 1,000 tags and five classes was not at hand",
    "ModelNet40": "ModelNet40's shaded views were not at hand",
}

AGAIN = {
    "fedbcd": "nor did the authors' program, run once, reach it within the claim's 14 epochs: see "
    "docs/peers.md",
}
"""What explains bytes to 96 % on MNIST that are more than the paper's."""

ON_TOP = "on top there are the indices of the batch's rows, and framing"
"""What explains bytes a round that are more than the paper's; tests hold it against results."""

MORE_OFTEN = "MNIST, 96 %, evaluated every ten rounds"

MORE_EPOCHS = "60 epochs reach it or come closer: see the tables of rates"
"""Why Split Learning, and VIMADMM without local steps, miss; tests hold it against results."""

BY_RATES = "larger rates with fewer local steps are level or better: see Tables VII and IX, rates"
"""Why FedBCD misses under label privacy; tests hold it against results."""

BY_SCALE = "whole images' scale of pixels reaches it: see the table of scaling"
"""Why VIMADMM-J misses under label privacy; tests hold it against results."""

CLOSER_BY_CLIP = "20 more points, of the widest clip, come closer: see Table VI, clips"
NOT_BY_CLIP = "nor do 20 more points, of the widest clip, reach it: see Table VI, clips"
"""Why baselines miss at epsilon 8; tests hold it against results."""

EXPLAINED = {
    ("fdml", "8"): CLOSER_BY_CLIP,
    **dict.fromkeys((("vafl", "8"), ("splitnn", "8")), NOT_BY_CLIP),
    ("vimadmm_j", "1.4"): BY_SCALE,
    **{("splitnn", epsilon): MORE_EPOCHS for epsilon in ("infinite", "2.8", "1.4")},
    **{("fedbcd", epsilon): BY_RATES for epsilon in ("2.8", "1.4")},
    ("fedbcd", "infinite"): "a rate of the paper's grid with fewer local steps comes closer, and "
    "so do as many steps of the server: see Table VI, rates, and Fig. 1, FedBCD",
    ("vafl", "1"): "the claim is of guessing: 11.35 % of the rows are of one class; of 20 points, "
    "the chosen one had a single lucky evaluation before it diverged",
}
"""What explains misses on MNIST, by method and epsilon."""

TRAINING_ONLY = (
    "Epsilon is that of training. Validation and test rows were sent without noise, as the "
    "authors' program does, and that makes the epsilon of the whole run infinite. Noise, clipping "
    "norm and learning rate were chosen by validation rows, which no epsilon covers."
)


def _by_epsilon(
    claimed: Mapping[str, Sequence[float]], noised: Mapping[str, str]
) -> tuple[Cell, ...]:
    """Return cells of methods, data sets and epsilons."""
    return tuple(
        Cell(
            METHODS[method],
            f"{name}, epsilon {epsilon}",
            f"{OF[name]} {method}{noised[epsilon]}" if name in OF else None,
            claim=claim,
            why=EXPLAINED.get((method, epsilon), "") if name == "MNIST" else WHY.get(name, ""),
        )
        for method, claims in claimed.items()
        for (name, epsilon), claim in zip(product(SETS, noised), claims, strict=True)
    )


TABLE_3 = Table(
    name="table3",
    title="VIMADMM and Linear-ADMM",
    place="Table III",
    cells=(
        Cell("VIMADMM", "MNIST", "mnist vimadmm", claim=97.13),
        Cell("VIMADMM", "NUS-WIDE", None, claim=88.51, why=WHY["NUS-WIDE"]),
        Cell("Linear-ADMM", "MNIST", "mnist linear_admm", claim=91.65),
        Cell("Linear-ADMM", "NUS-WIDE", None, claim=84.63, why=WHY["NUS-WIDE"]),
    ),
)

TABLE_4 = Table(
    name="table4",
    title="Bytes to an accuracy",
    place="Table IV",
    unit="MiB",
    cells=(
        *(
            Cell(
                METHODS[method],
                f"{name}, {share} %",
                f"{OF[name]} {method}" if name in OF else None,
                f"mib-to:0.{share}",
                claim,
                lower=True,
                why=AGAIN.get(method, "") if name == "MNIST" else WHY.get(name, ""),
            )
            for method, claims in MEBIBYTES.items()
            for name, share, claim in zip(SETS, (96, 65, 85, 89), claims, strict=True)
        ),
        *uncounted(
            Cell(
                METHODS[method],
                column,
                f"mnist {method} often{ending}",
                "mib-to:0.96",
                MEBIBYTES[method][0],
                lower=True,
            )
            for column, ending, methods in (
                (MORE_OFTEN, "", MEBIBYTES),
                (f"{MORE_OFTEN}, 16 bits a number", " float16", BY_ADMM),
            )
            for method in methods
        ),
        *(
            Cell(
                METHODS[method],
                f"one round and client, MNIST, {way}",
                f"mnist {method}",
                f"mib-round:{way}",
                claim,
                lower=True,
                why=ON_TOP,
            )
            for method, (up, down) in A_ROUND.items()
            for way, claim in (("up", up), ("down", down), ("in all", up + down))
        ),
    ),
    note="All bytes of training, up and down, of all clients, when the validation accuracy first "
    "was the target. The paper evaluates once an epoch, of 53 rounds; another column shows what "
    "that hides, and one more has `wire-precision` float16. What comes down here is v_k in the "
    "place of lambda and s_k, half the bytes for the same updates. Of CIFAR the paper has 30 local "
    "steps of VIMADMM here, where the program and ours have ten. Claims of a round are not "
    "rounded: the paper's 0.23 are 1,024 rows of 60 floats, its 0.039 of ten.",
)

TABLE_6 = Table(
    name="table6",
    title="Accuracy under client-level differential privacy",
    place="Table VI",
    picture="heat",
    cells=_by_epsilon(UPLOADS, NOISED),
    note=f"{TRAINING_ONLY} "
    "Parties of the baselines learn through the clip of their uploads, FedBCD's in each of its "
    "local steps; the authors' clip in the first alone. No seed draws noise, so the same run "
    "again is another. Each of our choices is among 20 points of the paper's grid, with three "
    "epochs at most of ADMM methods, five of FedBCD and ten of the others. Deviations of noise "
    "that allow no step, or one, within epsilon 1 are left out: 2, 3 and 5. At epsilon 1 FDML is "
    "best with the widest clip, 1, which none of the 20 points of epsilon 8 has: a table below has "
    "more points. Baselines "
    "predict by one layer without a bias, as the authors' program; the table of top models "
    "tells how much that matters.",
)

SPENT = Table(
    name="spent",
    title="Epsilon that Table VI's trainings have spent, MNIST",
    place="Table VI, epsilon",
    alike=False,
    unit="epsilon",
    cells=uncounted(
        Cell(METHODS[method], f"epsilon {epsilon}", f"mnist {method} epsilon {epsilon}", "epsilon")
        for method in UPLOADS
        for epsilon in ("8", "1")
    ),
    note="A training ends when the next step would spend more than its epsilon, after its last "
    "epoch, or when validation accuracy falls: with much noise it ends with less spent.",
)

TOPS = Table(
    name="tops",
    title="Top models of baselines",
    place="Table VI, top models",
    cells=uncounted(
        Cell(METHODS[method], f"{told}, epsilon {epsilon}", f"mnist {method}{noised}{end}")
        for method in WITH_TOPS
        for told, end in (("without a bias", ""), ("ReLU and bias", " usual top"))
        for epsilon, noised in NOISED.items()
    ),
    note="MNIST, with client-level privacy and without. The authors' program has one layer without "
    "a bias above all embeddings; this package had a ReLU, and a layer with a bias, at a party "
    "without columns. Under noise each has a choice of its own among the same 20 points.",
)

CLIPS = Table(
    name="clips",
    title="Baselines with the widest clip under client-level privacy, MNIST, epsilon 8",
    place="Table VI, clips",
    cells=uncounted(
        Cell(METHODS[method], f"20 points of {told}", f"mnist {method} epsilon 8{end}")
        for method in CLIPPED
        for told, end in (("all clips", ""), ("clip 1", " clip 1"))
    ),
    note="None of the 20 points of Table VI has clip 1 at this epsilon. These have no claim of "
    "their own: there is one search a cell.",
)

NOTHING_ON_TOP = "embeddings summed, nothing to train at the server"
FEDBCD = Table(
    name="fedbcd",
    title="FedBCD's local steps, with one step of the server and with as many",
    place="Fig. 1, FedBCD",
    cells=(
        Cell("one step of the server", "tau 5", "mnist fedbcd tau 5"),
        Cell("one step of the server", "tau 10", "mnist fedbcd tau 10"),
        Cell("one step of the server", "tau 20", "mnist fedbcd"),
        *uncounted(
            Cell(told, f"tau {tau}", f"mnist fedbcd tau {tau}{end}")
            for told, end in (("tau steps of the server", ALL_STEPS), (NOTHING_ON_TOP, SUMMED))
            for tau in (5, 10, 20)
        ),
    ),
    note="MNIST, test rows. VIM's program has one plain step of the server; FedBCD's own paper "
    "has all take the same number, and sums embeddings, as in the last row, where an embedding "
    "has ten numbers in place of 60. One of its forms adds a proximal term, which is not here.",
)

TABLE_7 = Table(
    name="table7",
    title="Accuracy under label differential privacy",
    place="Table VII",
    picture="heat",
    cells=_by_epsilon(LABELS, LABELS_NOISED),
    note="ALIBI: Laplace noise on the one-hot labels of the training rows, once; validation rows "
    "have their true labels.",
)

RESNETS = Table(
    name="resnets",
    title="VIMADMM with larger networks",
    place="Appendix D, larger models",
    cells=(
        Cell("VIMADMM, CIFAR", "CNN", "cifar vimadmm", claim=75.25),
        Cell("VIMADMM, CIFAR", "ResNet-18", "cifar vimadmm resnet18", claim=81.35),
        Cell("VIMADMM, CIFAR", "ResNet-34", "cifar vimadmm resnet34", claim=82.58),
    ),
)
