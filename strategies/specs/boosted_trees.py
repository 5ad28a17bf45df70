"""Declaration of boosted trees; see `strategies.boosted_trees`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.method_spec import MethodOptions, MethodSpec
from vfl_flower.config.schema import option, split_list
from vfl_flower.config.settings import Settings

DIRECTIONS = {"rising": 1, "falling": -1}
"""Signs of monotone constraints by their names."""

LEAST_EPSILON = 0.001
"""Of gradient-epsilon."""


@dataclass(frozen=True, kw_only=True)
class BoostedTreesOptions(MethodOptions):
    """Options of boosted trees' own."""

    tree_depth: int = option(6, "layers of splits of a tree, at most", least=1, most=10)
    tree_leaves: int = option(1024, "leaves of a tree, at most", least=2, most=1024)
    bins: int = option(255, "bins of a column, at most", least=2, most=255)
    leaf_l2: float = option(1.0, "penalty of squared leaves (lambda)", least=0, most=1e9)
    least_child: float = option(
        1.0, "least sum of hessians on either side of a split", least=0, most=1e9
    )
    row_share: float = option(
        1.0, "share of the training rows that a round learns from", above=0, most=1
    )
    column_share: float = option(
        1.0, "share of its columns that a party offers in a round", above=0, most=1
    )
    monotone: str = option(
        "",
        "columns with which scores of the second class, or predicted numbers, may only rise or "
        "only fall, as in income:falling,age:rising",
    )
    patience: int = option(
        0,
        "early stopping: rounds without a better metric on validation rows; 0: none",
        least=0,
        most=10_000,
    )

    gradient_epsilon: float = option(
        0.0, "epsilon of labels, by noise on gradients in all rounds; 0: none", least=0, most=1000
    )
    gradient_delta: float = option(1e-5, "delta beside it", above=0, below=1)
    gradient_encryption: str = option(
        "none",
        "encryption of gradients and of sums of them: none or paillier",
        choices=("none", "paillier"),
    )

    @property
    def signs(self) -> Mapping[str, int]:
        """Signs of monotone constraints, by column: 1 rising, -1 falling."""
        return read_monotone(self.monotone)

    @property
    def stops_early(self) -> str:
        """Name of the option that ends training early, if set."""
        return "patience" if self.patience else ""

    @property
    def labels_noised(self) -> str:
        """Guarantee of noise on gradients; empty without."""
        if not self.gradient_epsilon:
            return ""
        return (
            "labels of training rows by discrete Gaussian noise on each row's gradients in each "
            f"round, label differential privacy with epsilon {self.gradient_epsilon:g} at delta "
            f"{self.gradient_delta:g} a label over all rounds (adjacency: one label replaced)"
        )

    @property
    def encrypted(self) -> bool:
        """Whether gradients and sums travel encrypted."""
        return self.gradient_encryption != "none"

    @property
    def labels_encrypted(self) -> str:
        """Protection of gradients and sums; empty in the clear."""
        if not self.encrypted:
            return ""
        return (
            "gradients of training rows, and sums of them, encrypted for the active party alone "
            "(Paillier's cryptosystem, with a modulus of 2048 bits)"
        )

    @property
    def label_exposure(self) -> str:
        """Sentence on gradients, or on splits alone."""
        if self.encrypted:
            return (
                "passive parties see which training rows part at each split, and can guess labels "
                "from that, as splits part classes; label-privacy hides labels"
            )
        return (
            "passive parties were given the gradient of every training row, from whose sign they "
            "can read its label; label-privacy hides labels"
        )

    @property
    def own_protections(self) -> Mapping[str, Mapping[str, Any]]:
        """Noise on gradients, and their encryption."""
        noise = {"gradient_epsilon": 0.0, "gradient_delta": BoostedTreesOptions.gradient_delta}
        named = (
            (f"noised gradients (epsilon {self.gradient_epsilon:g})", self.gradient_epsilon, noise),
            ("encrypted gradients", self.encrypted, {"gradient_encryption": "none"}),
        )
        return {name: without for name, there, without in named if there}

    @property
    def needs(self) -> Mapping[str, str]:
        """Package of large numbers."""
        return {"gmpy2": "gradient-encryption = paillier"} if self.encrypted else {}

    def usual_rate(self, optimizer: str, rate: float) -> float:
        """Return the usual shrinkage of leaves."""
        return 0.1


def read_monotone(text: str) -> dict[str, int]:
    """Read monotone constraints: signs by column.

    Raises
    ------
    ConfigError
        If one is no column with rising or falling, or a column has two.
    """
    found = dict[str, int]()
    for each in split_list(text) if text else ():
        name, _, word = (part.strip() for part in each.rpartition(":"))
        if not name or word not in DIRECTIONS:
            raise ConfigError(
                f"monotone has '{each}'; say columns with rising or falling, as in age:rising"
            )
        if name in found:
            raise ConfigError(f"monotone names {name} twice")
        found[name] = DIRECTIONS[word]
    return found


def check_monotone(cfg: Settings, options: BoostedTreesOptions) -> None:
    """Refuse constraints that cannot be read."""
    read_monotone(options.monotone)


def check_shrinkage(cfg: Settings, options: BoostedTreesOptions) -> None:
    """Refuse a learning rate for each party: leaves are the active party's."""
    if len(split_list(cfg.learning_rates)) > 1:
        raise ConfigError(
            f"learning-rates is {cfg.learning_rates}, and {cfg.method} has one, by which the "
            "active party shrinks leaves"
        )


def check_baselines(cfg: Settings, options: BoostedTreesOptions) -> None:
    """Refuse baselines, which are networks."""
    if cfg.baselines == "on":
        raise ConfigError(
            f"baselines is on, and they train the method's networks, of which {cfg.method} has "
            "none; use baselines = auto or off"
        )


def check_gradient_noise(cfg: Settings, options: BoostedTreesOptions) -> None:
    """Refuse noise on gradients with a false epsilon, or on noised labels."""
    noise = f"gradient-epsilon is {options.gradient_epsilon:g}"
    if not options.gradient_epsilon:
        if options.gradient_delta != BoostedTreesOptions.gradient_delta:
            raise ConfigError("gradient-delta would change nothing: gradient-epsilon is 0")
        return
    if options.gradient_epsilon < LEAST_EPSILON:
        raise ConfigError(f"gradient-epsilon must be 0, or {LEAST_EPSILON:g} and more")
    for name, given in (
        ("label-privacy", cfg.label_noise),
        ("split", cfg.split if cfg.split_spec.labels else ""),
        ("class-weights", cfg.class_weights.replace("none", "")),
        ("largest-weight", "" if cfg.largest_weight == 1 else f"{cfg.largest_weight:g}"),
    ):
        if given:
            raise ConfigError(f"{noise}, which is not true with {name} = {given}; remove one")


SPEC = MethodSpec(
    strategy="strategies.boosted_trees:BoostedTrees",
    client="clients.boosted_trees:BoostedTreesClient",
    options=BoostedTreesOptions,
    checks=(check_shrinkage, check_baselines, check_gradient_noise, check_monotone),
    full_batch=True,
    network="trees",
    label_only=True,
    keeps_gaps=True,
    weights_secret=False,
    unused=(
        *("models", "weights", "top_layers", "embedding_dim", "batch_size", "optimizers"),
        *("schedule", "loss", "precision", "wire_precision", "eval_every", "long_tail"),
    ),
    column_exposure=(
        "passive parties answered with sums of gradients by the bins of their columns, and with "
        "who lies on which side of thresholds: the active party can work out the order of rows in "
        "each column, up to bins"
    ),
)
