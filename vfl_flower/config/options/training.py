"""Options of training and evaluation."""

from dataclasses import dataclass

from vfl_flower.config.catalog import LOSSES, REGRESSION_LOSSES
from vfl_flower.config.evaluation.metrics import AUTO, METRICS
from vfl_flower.config.evaluation.threshold import USUAL
from vfl_flower.config.optimization.optimizers import OPTIMIZERS
from vfl_flower.config.optimization.schedules import SCHEDULES
from vfl_flower.config.schema import option


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """Optimizers, epochs, batches and losses."""

    optimizers: str = option(
        "adam",
        f"{', '.join(OPTIMIZERS)}: one, or a list; with torch's arguments behind colons, as in "
        "adamw:weight_decay=0.01:betas=0.9/0.99",
        suggested=OPTIMIZERS,
        listed=True,
    )
    learning_rates: str = option("auto", "one, or a list; auto: each optimizer's", short="lr")
    schedule: str = option(
        "constant",
        f"learning rate over the run: {', '.join(SCHEDULES)}; with a warm-up, in percent of the "
        "steps or in steps, as in cosine:warmup=5%",
        suggested=SCHEDULES,
    )
    epochs: int = option(20, "passes over the training rows", least=0, most=10**9)
    batch_size: int = option(128, "rows a step", least=1)
    stop_drop: float = option(
        0.0,
        "early stopping: percentage points that the metric, a mean over the models on validation "
        "rows, may get worse than its best; 0: none",
        least=0,
        most=100,
    )
    keep: str = option(
        "last",
        "weights that count at the end; best: those of the best metric on validation rows",
        choices=("last", "best"),
    )
    loss: str = option(
        "",
        f"{', '.join([*LOSSES, *REGRESSION_LOSSES])} (regression); empty: the method's",
        choices=(*LOSSES, *REGRESSION_LOSSES),
    )
    class_weights: str = option(
        "none",
        "none, or balanced: classes count alike",
        choices=("none", "balanced"),
    )
    largest_weight: float = option(
        1.0,
        "largest weight of a training row, where their mean is 1; 1: rows have no weights",
        least=1,
        most=10_000,
    )


@dataclass(frozen=True, kw_only=True)
class EvaluationOptions:
    """Evaluations and baselines."""

    metric: str = option(
        AUTO,
        "metric on validation rows that keep, stop-drop and sweeps go by: auto (accuracy, or r2), "
        f"{', '.join(METRICS)}",
        choices=(AUTO, *METRICS),
    )
    threshold: str = option(
        f"{USUAL}",
        "probability from which on the positive class is predicted; by validation rows: f1, "
        "recall:0.9, cost:10:1 (missed : false alarm)",
        suggested=(f"{USUAL}", "f1", "recall:0.9", "cost:10:1"),
    )
    eval_every: int = option(0, "steps between evaluations; 0 is once an epoch", least=0)
    eval_batch_size: int = option(4096, "rows an exchange of an evaluation", least=1)
    baselines: str = option(
        "auto",
        "also train both baselines, local and central; auto: of small sets",
        choices=("auto", "on", "off"),
        alias="bounds",
    )
