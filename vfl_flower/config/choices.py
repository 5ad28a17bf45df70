"""Values that options may take, by option."""

from collections.abc import Collection

from vfl_flower.config.catalog import (
    ACCOUNTANTS,
    LABEL_MECHANISMS,
    LOSSES,
    NETWORKS,
    OPTIMIZERS,
    REGRESSION_LOSSES,
    SCHEDULES,
)
from vfl_flower.config.dataset_specs import DATASETS
from vfl_flower.config.partition_spec import SCHEMES
from vfl_flower.config.registry import METHODS
from vfl_flower.config.transports import TRANSPORTS

VALUES: dict[str, Collection[str]] = {
    "method": METHODS,
    "dataset": DATASETS,
    "partition": SCHEMES,
    "active_columns": ("own", "none"),
    "models": NETWORKS,
    "optimizers": OPTIMIZERS,
    "schedule": SCHEDULES,
    "keep": ("last", "best"),
    "loss": (*LOSSES, *REGRESSION_LOSSES),
    "class_weights": ("none", "balanced"),
    "bounds": ("auto", "on", "off"),
    "blinding": ("auto", "pairwise", "none"),
    "party_randomness": ("auto", "public", "private"),
    "label_privacy": ("auto", "none", *LABEL_MECHANISMS),
    "dp_eval": ("noised", "clear"),
    "dp_accountant": ACCOUNTANTS,
    "local_output": ("raw", "softmax"),
    "aggregation": ("weighted", "average"),
    "padding": ("replicate", "zeros"),
    "augment": ("flip-crop", "flip", "crop"),
    "top_gradient": ("before", "after"),
    "vafl_mode": ("synchronous", "asynchronous"),
    "heads": ("sgd", "ridge"),
    "device": ("auto", "cpu", "cuda"),
    "carrier": ("auto", *TRANSPORTS),
}
"""By the name of a knob's field."""


BINARY, MULTI_CLASS, REGRESSION = TASKS = "binary", "multi-class", "regression"
DEVICES = ("auto", "cpu", "cuda")
PARTY_RANDOMNESS = ("auto", "public", "private")
