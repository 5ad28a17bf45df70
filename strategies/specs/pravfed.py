"""Declaration of PraVFed; see `strategies.pravfed`."""

from dataclasses import dataclass

from vfl_flower.config.method_spec import MethodSpec
from vfl_flower.config.options.shared import LocalEpochsOptions
from vfl_flower.config.schema import option


@dataclass(frozen=True, kw_only=True)
class PraVFedOptions(LocalEpochsOptions):
    """Options of PraVFed's own."""

    local_output: str = option(
        "raw",
        "outputs that the local squared error compares: raw or their softmax",
        choices=("raw", "softmax"),
    )
    aggregation: str = option(
        "weighted",
        "of embeddings: weighted by accuracy, or average",
        choices=("weighted", "average"),
    )


SPEC = MethodSpec(
    strategy="strategies.pravfed:PraVFed",
    client="clients.pravfed:PraVFedClient",
    options=PraVFedOptions,
    blinds=True,
    standardizes="embed",
    label_noise="randomized-response",
    gives_labels=True,
    embedding_gradients=True,
)
