"""Declaration of VFedMH; see `strategies.vfedmh`."""

from vfl_flower.config.method_spec import MethodSpec

SPEC = MethodSpec(
    strategy="strategies.vfedmh:VFedMH",
    client="clients.vfedmh:VFedMHClient",
    gradients_only=True,
    soft_targets=True,
    blinds=True,
    standardizes="embed",
    noises=True,
    noises_gradients=True,
    embedding_gradients=True,
    allows_missing=True,
    leaves_out=True,
    joins=True,
)
