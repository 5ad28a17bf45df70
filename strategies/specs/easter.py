"""Declaration of EASTER; see `strategies.easter`."""

from vfl_flower.config.method_spec import MethodSpec

SPEC = MethodSpec(
    strategy="strategies.easter:Easter",
    client="clients.easter:EasterClient",
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
