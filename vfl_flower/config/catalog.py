"""Networks, losses, mechanisms, trackers and tasks by name.

A value is ``module:name``, imported where it is used: names are known without importing torch. One
line here makes an implementation known everywhere.
"""

from math import log
from typing import NamedTuple


class NetworkSpec(NamedTuple):
    """A network's builder.

    Attributes
    ----------
    build : str
        ``module:function`` from (shape, embedding width, classes) to a network.
    published : bool
        Whether it can start from published weights (``weights``).
    chain : str
        ``module:function`` from (shape, classes, width) to the `Chain` that can be cut in two;
        empty if the network cannot.
    needs : str
        Import name of the optional package that builds it; see `vfl_flower.common.optional.extras`.
    top : str
        ``module:function`` from (embedding width, classes) to its top model, which a party without
        columns has alone.
    deep : str
        ``module:function`` from (embedding width, classes, layers) to such a one of two or more
        linear layers.
    """

    build: str
    published: bool = False
    chain: str = ""
    needs: str = ""
    top: str = "vfl_flower.learning.networks.base:head"
    deep: str = "vfl_flower.learning.networks.base:head"


class LossSpec(NamedTuple):
    """A loss.

    Attributes
    ----------
    loss : str
        ``module:function`` from (outputs, labels) to the mean over the batch.
    weighted : str
        ``module:function`` that takes a weight of each row besides.
    link : str
        ``module:LINK`` of the means m(R) that it compares with labels; see
        `vfl_flower.parties.residuals`.
    slope : float
        Its gradient at an output R, of one row, is this times m(R) less the label.
    """

    loss: str
    weighted: str
    link: str
    slope: float


class TrackerSpec(NamedTuple):
    """A tracker of experiments.

    Attributes
    ----------
    build : str
        ``module:class`` of a `vfl_flower.runs.callback.Callback` without arguments.
    needs : str
        Import name of its optional package; see `vfl_flower.common.optional.extras`.
    """

    build: str
    needs: str


_PLAIN = "vfl_flower.learning.networks.base"
_SMALL = "vfl_flower.learning.networks.small"
_PRAVFED = "vfl_flower.learning.networks.papers.pravfed"
_VIM = "vfl_flower.learning.networks.papers.vim"
_TORCHVISION = "vfl_flower.learning.networks.torchvision_models"
_BARE, _VIM_DEEP = f"{_PLAIN}:without_bias", f"{_VIM}:deep_top"
NETWORKS = {
    "mlp": NetworkSpec(f"{_SMALL}:mlp"),
    "cnn": NetworkSpec(f"{_SMALL}:cnn"),
    "lenet": NetworkSpec(f"{_SMALL}:lenet"),
    "linear": NetworkSpec(f"{_SMALL}:linear", top=_BARE),
    "vim-mlp": NetworkSpec(f"{_VIM}:vim_mlp", top=_BARE, deep=_VIM_DEEP),
    "vim-mlp-deep": NetworkSpec(f"{_VIM}:vim_mlp_deep", top=_BARE, deep=_VIM_DEEP),
    "vim-cnn": NetworkSpec(f"{_VIM}:vim_cnn", top=_BARE, deep=_VIM_DEEP),
    "vim-cnn-32": NetworkSpec(f"{_VIM}:vim_cnn_32", top=_BARE, deep=_VIM_DEEP),
    "pravfed-mlp": NetworkSpec(f"{_PRAVFED}:pravfed_mlp", top=f"{_PLAIN}:one_layer"),
    "pravfed-cnn": NetworkSpec(f"{_PRAVFED}:pravfed_cnn", top=f"{_PRAVFED}:dropped"),
    "pravfed-lenet": NetworkSpec(f"{_PRAVFED}:pravfed_lenet", top=f"{_PRAVFED}:two_layers"),
    "pravfed-table": NetworkSpec(f"{_PRAVFED}:pravfed_table", top=f"{_PLAIN}:one_layer"),
    "resnet18": NetworkSpec(f"{_TORCHVISION}:resnet18", published=True, needs="torchvision"),
    "resnet34": NetworkSpec(f"{_TORCHVISION}:resnet34", published=True, needs="torchvision"),
    "resnet50": NetworkSpec(f"{_TORCHVISION}:resnet50", published=True, needs="torchvision"),
    "resnet101": NetworkSpec(f"{_TORCHVISION}:resnet101", published=True, needs="torchvision"),
    "resnet152": NetworkSpec(f"{_TORCHVISION}:resnet152", published=True, needs="torchvision"),
    "vgg16_bn": NetworkSpec(
        f"{_TORCHVISION}:vgg16_bn",
        published=True,
        chain="vfl_flower.learning.networks.papers.vgg:vgg16_bn",
        needs="torchvision",
    ),
}
"""Networks by name."""


def cut_networks() -> list[str]:
    """Return the networks that can be cut, the usual one first."""
    return [name for name, spec in NETWORKS.items() if spec.chain]


_LOSSES = "vfl_flower.learning.losses"
LOSSES = {
    "cross-entropy": LossSpec(
        f"{_LOSSES}:cross_entropy", f"{_LOSSES}:weighted_cross_entropy", f"{_LOSSES}:SOFTMAX", 1.0
    ),
    "binary-cross-entropy": LossSpec(
        f"{_LOSSES}:binary_cross_entropy",
        f"{_LOSSES}:weighted_binary_cross_entropy",
        f"{_LOSSES}:SIGMOID",
        1 / log(2),
    ),
}
"""Losses of classes by name."""

REGRESSION_LOSSES = {
    "mean-squared-error": LossSpec(
        f"{_LOSSES}:mean_squared_error",
        f"{_LOSSES}:weighted_mean_squared_error",
        f"{_LOSSES}:IDENTITY",
        2.0,
    )
}
"""Losses of labels that are numbers, by name."""

MULTI_LABEL_LOSSES = {"binary-cross-entropy": LOSSES["binary-cross-entropy"]}
"""Losses of several labels of a row, by name: summed over the labels."""

_LABEL_DP = "vfl_flower.privacy.label_dp.mechanisms"
LABEL_MECHANISMS = {
    "laplace": f"{_LABEL_DP}:Laplace",
    "alibi": f"{_LABEL_DP}:Alibi",
    "randomized-response": f"{_LABEL_DP}:RandomizedResponse",
}
"""Mechanisms of label differential privacy, each a `LabelNoise`."""

AUDITED_MECHANISM = "randomized-response"
"""Mechanism that audits compare with, if a run has none."""

_ACCOUNTING = "vfl_flower.privacy.client_dp.accounting"
ACCOUNTANTS = {"rdp": f"{_ACCOUNTING}:rdp_epsilon", "pld": f"{_ACCOUNTING}:pld_epsilon"}
"""Privacy accountants: from noise ratio and delta to epsilon."""

ADJACENCIES = ("party", "row")
"""Units that client-level noise protects: all data of one party, or one row of them."""

_TRACKERS = "vfl_flower.runs.trackers"
TRACKERS = {
    "tensorboard": TrackerSpec(f"{_TRACKERS}.tensorboard_log:TensorBoard", "tensorboard"),
    "mlflow": TrackerSpec(f"{_TRACKERS}.mlflow_log:MLflow", "mlflow"),
    "wandb": TrackerSpec(f"{_TRACKERS}.wandb_log:WeightsAndBiases", "wandb"),
}
"""Trackers that a run's options and metrics are sent to."""

FLOAT32, FLOAT16, BFLOAT16, INT8 = WIRE_PRECISIONS = ("float32", "float16", "bfloat16", "int8")
"""Precisions of numbers in messages."""

PRECISIONS = ("float32", "bf16")
"""Precisions in which layers compute."""

DEVICES = ("auto", "cpu", "cuda")
"""Where networks compute; auto is a GPU if there is one."""

BINARY, MULTI_CLASS, REGRESSION, MULTI_LABEL = TASKS = (
    *("binary", "multi-class", "regression"),
    "multi-label",
)
"""Tasks, by the kind of labels; alignments hold their places."""

USUAL_LOSSES = {REGRESSION: "mean-squared-error", MULTI_LABEL: "binary-cross-entropy"}
"""Losses of tasks in which methods have none of their own."""
