"""Checks of the metric that decides, and of the threshold."""

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.catalog import BINARY, MULTI_LABEL, REGRESSION
from vfl_flower.config.evaluation.metrics import AUTO, METRICS, metrics_for
from vfl_flower.config.evaluation.threshold import USUAL, read_threshold
from vfl_flower.config.settings import Settings


def check_evaluation(cfg: Settings) -> None:
    """Refuse a metric, or a threshold, that cannot decide anything."""
    rule = read_threshold(cfg.threshold)
    if rule.chosen and not cfg.validation:
        raise ConfigError(
            f"threshold is {cfg.threshold}, and validation is 0; it is chosen on validation rows, "
            "so hold some out, or set a number"
        )
    if rule.chosen and not cfg.epochs and cfg.task == "train":
        raise ConfigError(
            f"threshold is {cfg.threshold}, and epochs is 0: validation rows are evaluated after "
            "epochs; set a number"
        )
    if cfg.metric == AUTO:
        return
    if not cfg.validation:
        raise ConfigError(
            f"metric is {cfg.metric}, and validation is 0; it is measured on validation rows, so "
            "hold some out"
        )
    if cfg.stop_drop and not METRICS[cfg.metric].share:
        raise ConfigError(
            f"stop-drop is in percentage points, and metric is {cfg.metric}, which has none; use "
            "another metric, or stop-drop = 0"
        )


def check_decides(cfg: Settings, task: str) -> None:
    """Refuse metric, threshold or rounding of another kind of labels.

    Parameters
    ----------
    cfg : Settings
        The run's configuration.
    task : str
        One of `TASKS`.

    Raises
    ------
    ConfigError
        Names the metrics that there are.
    """
    labels = {REGRESSION: "numbers", MULTI_LABEL: "several"}.get(task, f"{task} classes")
    if cfg.metric != AUTO and task not in METRICS[cfg.metric].tasks:
        known = ", ".join(metrics_for(task))
        raise ConfigError(
            f"metric is {cfg.metric}, and the labels are {labels}; use one of {known}, or auto"
        )
    if task != BINARY and read_threshold(cfg.threshold) != ("number", (USUAL,)):
        raise ConfigError(
            f"threshold is {cfg.threshold}, which is of two classes, and the labels are {labels}; "
            f"use {USUAL}"
        )
    if task == REGRESSION and cfg.score_digits:
        raise ConfigError(
            f"score-digits is {cfg.score_digits}, which rounds probabilities, and the labels are "
            f"{labels}; leave it at 0"
        )
