"""Options of networks."""

from dataclasses import dataclass

from vfl_flower.config.catalog import NETWORKS
from vfl_flower.config.schema import option

MIXED = ("cnn", "lenet", "mlp", "mlp")
"""Networks of the parties in turn for ``models = mixed``, of images."""


@dataclass(frozen=True, kw_only=True)
class NetworkOptions:
    """Networks of the parties."""

    models: str = option(
        "mixed",
        f"{', '.join(NETWORKS)} or your own package.module:Class: one, or a list, active party "
        f"first; mixed: {','.join(MIXED)} in turn (tables: mlp)",
        suggested=NETWORKS,
        listed=True,
    )
    weights: str = option(
        "",
        "files of torchvision weights: one, or a list",
        path="file",
    )
    top_layers: int = option(
        0,
        "linear layers of the active party's decision net, unless the network is your own, or of "
        "per-party heads; 0: the method's",
        least=0,
        most=100,
    )
    top_model: str = option(
        "network",
        "of a party without columns",
        choices=("network", "usual"),
        earlier="usual",
    )
    embedding_dim: int = option(64, "common embedding width D, numbers a row", least=1, most=10**6)
