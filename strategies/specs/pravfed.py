"""Declaration of PraVFed; see `strategies.pravfed`."""

from dataclasses import dataclass

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.method_spec import MethodSpec
from vfl_flower.config.options.shared import LocalEpochsOptions
from vfl_flower.config.schema import option
from vfl_flower.config.settings import Settings


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

    @property
    def uploads_once(self) -> bool:
        """Whether one upload before the first step has all training rows."""
        return True


def check_aggregation(cfg: Settings, options: PraVFedOptions) -> None:
    """Refuse accuracies, which nothing noises, beside noised uploads."""
    if cfg.noised and options.aggregation != "average":
        raise ConfigError(
            f"aggregation is {options.aggregation}, and noise is asked for: accuracies, by which "
            "embeddings are weighted, would leave their parties without any; use aggregation = "
            "average"
        )


SPEC = MethodSpec(
    strategy="strategies.pravfed:PraVFed",
    client="clients.pravfed:PraVFedClient",
    options=PraVFedOptions,
    checks=(check_aggregation,),
    blinds=True,
    standardizes="embed",
    noises=True,
    label_noise="randomized-response",
    gives_labels=True,
    embedding_gradients=True,
)
