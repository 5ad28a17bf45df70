"""Declaration of Agg_VFL; see `strategies.agg_vfl`."""

from dataclasses import dataclass

from vfl_flower.config.method_spec import MethodOptions, MethodSpec
from vfl_flower.config.schema import option


@dataclass(frozen=True, kw_only=True)
class AggVFLOptions(MethodOptions):
    """Options of Agg_VFL's own."""

    adaptive_steps: int = option(
        0,
        "steps between exchanges, on average over parties, each party's in proportion to its "
        "columns; 0: one step of every party",
        least=0,
        most=1000,
    )

    @property
    def one_step(self) -> bool:
        """Whether a passive party takes one step on each residual."""
        return not self.adaptive_steps


SPEC = MethodSpec(
    strategy="strategies.agg_vfl:AdaptiveAggVFL",
    client="clients.agg_vfl:AdaptiveAggVFLClient",
    gradients_only=True,
    soft_targets=True,
    options=AggVFLOptions,
    blinds=True,
    standardizes="decide",
    noises=True,
    noises_gradients=True,
    label_only=True,
    own_decisions=True,
    embedding_gradients=True,
    allows_missing=True,
    leaves_out=True,
    joins=True,
)
