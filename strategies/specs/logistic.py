"""Declaration of the vertical GLM; see `strategies.logistic`."""

from dataclasses import dataclass

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.catalog import FLOAT32
from vfl_flower.config.method_spec import MethodOptions, MethodSpec
from vfl_flower.config.schema import option
from vfl_flower.config.settings import Settings

_LEAST_BOUND = 256.0
"""Of rows under masks; below it, rounding shows in the fourth digit of coefficients."""


@dataclass(frozen=True, kw_only=True)
class LogisticOptions(MethodOptions):
    """Options of the vertical GLM's own."""

    ridge: float = option(
        1.0, "weight of half the coefficients' squared norm, 1/C of scikit-learn", least=0, most=1e9
    )
    lasso: float = option(0.0, "weight of the sum of their magnitudes", least=0, most=1e9)
    tolerance: float = option(
        1e-4, "error of the coefficients at which training ends", least=1e-9, most=1
    )


def check_logistic(cfg: Settings, options: LogisticOptions) -> None:
    """Refuse options without effect, and those that move the minimum."""
    if cfg.label_noise:
        raise ConfigError(
            f"label-privacy is {cfg.label_noise}, and {cfg.method} solves for the coefficients "
            "under true labels; use label-privacy = none, or agg_vfl or linear_admm"
        )
    if cfg.wire_precision != FLOAT32:
        raise ConfigError(
            f"wire-precision is {cfg.wire_precision}, which is too coarse for the coefficients of "
            f"{cfg.method}; use wire-precision = {FLOAT32}"
        )
    if cfg.blinded and cfg.row_bound is not None and cfg.row_bound < _LEAST_BOUND:
        raise ConfigError(
            f"embedding-bound is {cfg.row_bound:g}, which leaves masked sums too few digits for "
            f"the coefficients of {cfg.method}; use {_LEAST_BOUND:g} or more, or none"
        )


SPEC = MethodSpec(
    strategy="strategies.logistic:Logistic",
    client="clients.logistic:LogisticClient",
    options=LogisticOptions,
    checks=(check_logistic,),
    blinds=True,
    full_batch=True,
    usual_bound=f"{_LEAST_BOUND:g}",
    label_only=True,
    network="linear",
    unused=("optimizers", "learning_rates", "schedule", "batch_size", "loss", "top_layers"),
    weights_secret=False,
    label_exposure=(
        "every passive party reads the training labels off the residuals: y - p is positive at the "
        "true class alone"
    ),
    column_exposure=(
        "sums of linear predictors of as many steps as the passive parties have columns show the "
        "active party which linear combinations of rows all those columns are, together"
    ),
)
