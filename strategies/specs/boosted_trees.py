"""Declaration of boosted trees; see `strategies.boosted_trees`."""

from dataclasses import dataclass

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.method_spec import MethodOptions, MethodSpec
from vfl_flower.config.schema import option, split_list
from vfl_flower.config.settings import Settings


@dataclass(frozen=True, kw_only=True)
class BoostedTreesOptions(MethodOptions):
    """Options of boosted trees' own."""

    tree_depth: int = option(6, "layers of splits of a tree, at most", least=1, most=10)
    bins: int = option(64, "bins of a column, at most", least=2, most=255)
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

    def usual_rate(self, optimizer: str, rate: float) -> float:
        """Return the usual shrinkage of leaves."""
        return 0.1


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


SPEC = MethodSpec(
    strategy="strategies.boosted_trees:BoostedTrees",
    client="clients.boosted_trees:BoostedTreesClient",
    options=BoostedTreesOptions,
    checks=(check_shrinkage, check_baselines),
    full_batch=True,
    network="trees",
    unused=(
        *("models", "weights", "top_layers", "embedding_dim", "batch_size", "optimizers"),
        *("schedule", "loss", "precision", "wire_precision", "eval_every", "long_tail"),
    ),
    label_exposure=(
        "passive parties were given the gradient of every training row, from whose sign they can "
        "read its label; label-privacy hides labels"
    ),
    column_exposure=(
        "passive parties answered with sums of gradients by the bins of their columns, and with "
        "who lies on which side of thresholds: the active party can work out rows' bins"
    ),
)
