"""Declaration of FedBCD; see `strategies.fedbcd`."""

from dataclasses import dataclass

from vfl_flower.config.method_spec import MethodSpec
from vfl_flower.config.options.shared import LocalStepsOptions
from vfl_flower.config.schema import option


@dataclass(frozen=True, kw_only=True)
class FedBCDOptions(LocalStepsOptions):
    """Options of FedBCD's own."""

    active_steps: str = option(
        "all",
        "steps of the active party between exchanges: all local-steps, or one, as VIM compares",
        choices=("all", "one"),
    )

    @property
    def steps_of_active(self) -> int:
        """Number of steps of the active party between exchanges."""
        return self.local_steps if self.active_steps == "all" else 1


SPEC = MethodSpec(
    strategy="strategies.fedbcd:FedBCD",
    client="clients.fedbcd:FedBCDClient",
    gradients_only=True,
    soft_targets=True,
    options=FedBCDOptions,
    noises=True,
    label_only=True,
    embedding_gradients=True,
    leaves_out=True,
    allows_missing=True,
)
