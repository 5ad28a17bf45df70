"""Declaration of FDML; see `strategies.fdml`."""

from vfl_flower.config.method_spec import MethodSpec

SPEC = MethodSpec(
    strategy="strategies.fdml:FDML",
    client="clients.fdml:FDMLClient",
    blinds=True,
    noises=True,
    gives_labels=True,
    label_only=True,
)
