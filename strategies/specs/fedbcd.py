"""Declaration of FedBCD; see `strategies.fedbcd`."""

from dataclasses import dataclass

from vfl_flower.config.method_spec import MethodSpec
from vfl_flower.config.options.shared import LocalStepsOptions


@dataclass(frozen=True, kw_only=True)
class FedBCDOptions(LocalStepsOptions):
    """Options of FedBCD's own."""


SPEC = MethodSpec(
    strategy="strategies.fedbcd:FedBCD",
    client="clients.fedbcd:FedBCDClient",
    options=FedBCDOptions,
    noises=True,
    label_only=True,
)
