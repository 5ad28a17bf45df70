"""Declaration of Agg_VFL; see `strategies.agg_vfl`."""

from vfl_flower.config.method_spec import MethodSpec

SPEC = MethodSpec(
    strategy="strategies.agg_vfl:AggVFL",
    client="clients.agg_vfl:AggVFLClient",
    blinds=True,
    noises=True,
    label_only=True,
)
