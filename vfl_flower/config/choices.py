"""Values that options may take, by option."""

from vfl_flower.config.registry import METHODS

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


BINARY, MULTI_CLASS, REGRESSION = TASKS = "binary", "multi-class", "regression"
DEVICES = ("auto", "cpu", "cuda")
BACKBONES = ("resnet18", "resnet34", "resnet50", "resnet101", "resnet152", "vgg16_bn")
DEFAULT_RATES = {"sgd": 0.05, "momentum": 0.01, "adagrad": 0.02, "adam": 0.003}
PARTY_RANDOMNESS = ("auto", "public", "private")
