"""Declaration of VAFL; see `strategies.vafl`."""

from dataclasses import dataclass

from vfl_flower.config.method_spec import MethodOptions, MethodSpec
from vfl_flower.config.schema import option


@dataclass(frozen=True, kw_only=True)
class VAFLOptions(MethodOptions):
    """Options of VAFL's own."""

    vafl_mode: str = option(
        "synchronous",
        "synchronous, all parties in every step, or asynchronous, one passive party in turn",
        choices=("synchronous", "asynchronous"),
    )

    @property
    def in_turns(self) -> bool:
        """Whether a training step asks one passive party, each in its turn."""
        return self.vafl_mode == "asynchronous"


SPEC = MethodSpec(
    strategy="strategies.vafl:VAFL",
    client="clients.vafl:VAFLClient",
    gradients_only=True,
    soft_targets=True,
    options=VAFLOptions,
    noises=True,
    noises_gradients=True,
    label_only=True,
    embedding_gradients=True,
    leaves_out=True,
)
