"""Declaration of the baseline central; see `strategies.central`."""

from dataclasses import replace

from .local import SPEC as LOCAL

SPEC = replace(
    LOCAL,
    strategy="strategies.central:Central",
    client="clients.central:CentralClient",
    pools=True,
    label_only=True,
)
