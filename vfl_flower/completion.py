"""What a shell offers as a knob's value.

The names stand here once more because the modules that have them import torch, which takes longer
than a person waits for a shell. Nothing but the shell reads them; a test compares each with what is
accepted.
"""

import click
from click.shell_completion import CompletionItem

from vfl_flower.registry import METHODS

VALUES: dict[str, tuple[str, ...]] = {
    "method": tuple(METHODS),
    "dataset": (
        *("digits", "breast-cancer", "wine", "adult", "breast-cancer-original", "pima"),
        *("credit-default", "credit-card-fraud", "nus-wide", "mnist", "fashion-mnist"),
        *("cifar10", "cifar100", "cinic10", "modelnet40", "own"),
    ),
    "partition": (
        *("strips", "grid", "columns", "overlapping", "listed", "importance", "correlation"),
    ),
    "active_columns": ("own", "none"),
    "models": (
        *("mlp", "cnn", "lenet", "linear", "vim-mlp", "vim-cnn"),
        *("resnet18", "resnet34", "resnet50", "resnet101", "resnet152", "vgg16_bn"),
    ),
    "optimizers": ("sgd", "momentum", "adagrad", "adam"),
    "schedule": ("constant", "cosine"),
    "keep": ("last", "best"),
    "loss": ("cross-entropy", "binary-cross-entropy", "mean-squared-error"),
    "class_weights": ("none", "balanced"),
    "bounds": ("auto", "on", "off"),
    "blinding": ("auto", "pairwise", "none"),
    "party_randomness": ("auto", "public", "private"),
    "label_privacy": ("auto", "none", "laplace", "alibi", "randomized-response"),
    "dp_eval": ("noised", "clear"),
    "dp_accountant": ("rdp", "pld"),
    "local_output": ("raw", "softmax"),
    "aggregation": ("weighted", "average"),
    "padding": ("replicate", "zeros"),
    "augment": ("flip-crop", "flip", "crop"),
    "top_gradient": ("before", "after"),
    "vafl_mode": ("synchronous", "asynchronous"),
    "heads": ("sgd", "ridge"),
    "device": ("auto", "cpu", "cuda"),
    "carrier": ("auto", "local", "messages", "stream"),
}
"""By the name of a knob's field."""

LISTS = ("models", "optimizers")
"""Knobs that take more than one value, with commas."""

PATHS = {"out": "dir", "data_dir": "dir", "weights": "file", "tables": "file", "alignment": "dir"}
"""Knobs whose values are files' names, and of which kind."""


def complete(
    context: click.Context, option: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the values that begin as typed; of a list, the last."""
    name = option.name or ""
    if name in PATHS:
        return [CompletionItem(incomplete, type=PATHS[name])]
    before, comma, last = incomplete.rpartition(",") if name in LISTS else ("", "", incomplete)
    values = [value for value in VALUES.get(name, ()) if value.startswith(last)]
    return [CompletionItem(f"{before}{comma}{value}") for value in values]
