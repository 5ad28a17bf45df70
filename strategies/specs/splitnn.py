"""Declaration of SplitNN; see `strategies.splitnn`."""

from dataclasses import dataclass

from vfl_flower.config.method_spec import MethodOptions, MethodSpec
from vfl_flower.config.schema import option


@dataclass(frozen=True, kw_only=True)
class SplitNNOptions(MethodOptions):
    """Options of SplitNN's own."""

    top_gradient: str = option(
        "before",
        "gradients of the top model: before or after its own step",
        choices=("before", "after"),
    )


SPEC = MethodSpec(
    strategy="strategies.splitnn:SplitNN",
    client="clients.splitnn:SplitNNClient",
    gradients_only=True,
    soft_targets=True,
    options=SplitNNOptions,
    noises=True,
    noises_gradients=True,
    label_only=True,
    embedding_gradients=True,
    leaves_out=True,
    allows_missing=True,
)
