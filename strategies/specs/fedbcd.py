"""Declaration of FedBCD; see `strategies.fedbcd`."""

from dataclasses import dataclass

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.method_spec import MethodSpec
from vfl_flower.config.options.shared import LocalStepsOptions
from vfl_flower.config.schema import option
from vfl_flower.config.settings import Settings
from vfl_flower.config.validation.training import check_usual


@dataclass(frozen=True, kw_only=True)
class FedBCDOptions(LocalStepsOptions):
    """Options of FedBCD's own."""

    active_steps: str = option(
        "all",
        "steps of the active party between exchanges: all local-steps, or one, as VIM compares",
        choices=("all", "one"),
    )
    top: str = option(
        "network",
        "on all embeddings: the network's top model, or, as FedBCD's paper has it, their sum, with "
        "an embedding-dim of the number of classes",
        choices=("network", "sum"),
    )

    @property
    def steps_of_active(self) -> int:
        """Number of steps of the active party between exchanges."""
        return self.local_steps if self.active_steps == "all" else 1

    @property
    def adds_up(self) -> bool:
        """Whether the prediction is the sum of all embeddings."""
        return self.top == "sum"


def check_top(cfg: Settings, options: FedBCDOptions) -> None:
    """Refuse settings of a top model or of steps without one."""
    if not options.adds_up:
        return
    check_usual(cfg, ("top_layers", "top_model"), "with top = sum there is no top model")
    if options.active_steps == "one" and cfg.active_columns == "none":
        raise ConfigError(
            "active-steps is one, and would change nothing: with top = sum an active party without "
            "columns has nothing to train; leave it at all"
        )


SPEC = MethodSpec(
    strategy="strategies.fedbcd:FedBCD",
    client="clients.fedbcd:FedBCDClient",
    gradients_only=True,
    soft_targets=True,
    options=FedBCDOptions,
    checks=(check_top,),
    noises=True,
    label_only=True,
    embedding_gradients=True,
    leaves_out=True,
    allows_missing=True,
)
