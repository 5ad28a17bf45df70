"""Declaration of the vertical GLM; see `strategies.logistic`."""

import math
from dataclasses import dataclass
from itertools import pairwise

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.catalog import FLOAT32
from vfl_flower.config.method_spec import MethodOptions, MethodSpec
from vfl_flower.config.schema import option
from vfl_flower.config.settings import Settings

USUAL_SCALE = "600:50:20"

_MOST_STRENGTHS, _MOST_STRENGTH = 100, 1e9

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
    penalty_path: str = option(
        "",
        "multiples of ridge and lasso, largest first, such as 100,10,1: each is solved for from "
        "the coefficients before, and keep = best takes the best on validation rows; empty: 1",
    )
    evidence_bins: int = option(
        0,
        "bins of each column, whose weight of evidence stands for its values; 0: the values",
        least=0,
        most=1000,
    )
    scorecard: str = option(
        USUAL_SCALE,
        "scorecards of bins: points, odds against the positive class that have them, points to "
        "double the odds",
    )

    standard_errors: bool = option(
        False,
        "standard errors and p-values of coefficients, which tell the active party combinations of "
        "all columns; policies must allow it, and ridge be 0",
    )

    @property
    def cross_products(self) -> str:
        """Sentence on the span of columns, for standard errors."""
        if not self.standard_errors:
            return ""
        return (
            "for standard errors the active party got as many combinations of the passive parties' "
            "columns of training rows as they span: a column that it knows in as many rows it "
            "learns in all rows, and columns that depend little on each other even without"
        )

    @property
    def label_exposure(self) -> str:
        """Sentence on residuals."""
        return (
            "every passive party reads the training labels off the residuals: y - p is positive at "
            "the true class alone"
        )

    @property
    def strengths(self) -> tuple[float, ...]:
        """Multiples of ridge and lasso, in turn."""
        return read_path(self.penalty_path)

    @property
    def scale(self) -> tuple[float, float, float]:
        """Points, the odds that have them, and points to double the odds."""
        return read_scale(self.scorecard)


def read_path(text: str) -> tuple[float, ...]:
    """Read the multiples of the penalty.

    Raises
    ------
    ConfigError
        If they are not two to 100 positive numbers, each smaller than the one before.
    """
    if not text:
        return (1.0,)
    try:
        found = tuple(float(each) for each in text.split(","))
    except ValueError:
        found = ()
    falling = all(first > second > 0 for first, second in pairwise(found))
    if not (2 <= len(found) <= _MOST_STRENGTHS and falling and found[0] <= _MOST_STRENGTH):
        raise ConfigError(
            f"penalty-path must be 2 to {_MOST_STRENGTHS} positive numbers up to "
            f"{_MOST_STRENGTH:g}, each smaller than the one before, as in 100,10,1, not '{text}'"
        )
    return found


def read_scale(text: str) -> tuple[float, float, float]:
    """Read the scale of scorecards.

    Raises
    ------
    ConfigError
        If it is not three numbers, the last two positive.
    """
    try:
        points, odds, double = (float(each) for each in text.split(":"))
        good = math.isfinite(points) and 0 < odds < math.inf and 0 < double < math.inf
    except ValueError:
        good = False
    if not good:
        raise ConfigError(
            f"scorecard must be points, odds and points to double the odds, as in {USUAL_SCALE}, "
            f"not '{text}'"
        )
    return points, odds, double


def check_logistic(cfg: Settings, options: LogisticOptions) -> None:
    """Refuse options without effect, and those that move the minimum."""
    read_scale(options.scorecard)
    _check_path(cfg, options)
    if options.evidence_bins == 1:
        raise ConfigError(
            "evidence-bins is 1, which tells no two values apart; use 2 or more, or 0"
        )
    if options.scorecard != USUAL_SCALE and not options.evidence_bins:
        raise ConfigError(
            f"scorecard is {options.scorecard}, and would change nothing: scorecards are of bins; "
            "set evidence-bins"
        )
    _check_errors(cfg, options)
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


def _check_path(cfg: Settings, options: LogisticOptions) -> None:
    """Refuse paths of no penalty, and those without ``keep = best``."""
    path = options.penalty_path
    if not path:
        return
    read_path(path)
    if not (options.ridge or options.lasso):
        raise ConfigError(
            f"penalty-path is {path}, and would change nothing: ridge and lasso are 0; set one"
        )
    if cfg.keep != "best":
        raise ConfigError(
            f"penalty-path is {path}, and its last coefficients alone would count; set keep = best"
        )


def _check_errors(cfg: Settings, options: LogisticOptions) -> None:
    """Refuse options under which standard errors would be false."""
    if not options.standard_errors:
        return
    for name, given, usual in (
        ("ridge", options.ridge, 0),
        ("lasso", options.lasso, 0),
        ("class-weights", cfg.class_weights, "none"),
        ("largest-weight", cfg.largest_weight, 1),
        ("stop-drop", cfg.stop_drop, 0),
    ):
        if given != usual:
            raise ConfigError(
                f"standard-errors is true, and {name} is {given}: errors are of the maximum of the "
                f"likelihood, where all rows count alike; set {name} to {usual}"
            )
    if cfg.shares_checked:
        raise ConfigError(
            "standard-errors is true, and share-check is on: what parties send for errors has a "
            "scale that each draws for itself; use share-check = off"
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
    leaves_out=True,
    column_exposure=(
        "sums of linear predictors of as many steps as the passive parties have columns show the "
        "active party all those columns up to a rotation, together"
    ),
)
