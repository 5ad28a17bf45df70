"""Declaration of Linear-ADMM; see `strategies.linear_admm`."""

from dataclasses import replace

from .vimadmm_j import SPEC as VIMADMM_J

SPEC = replace(
    VIMADMM_J,
    strategy="strategies.linear_admm:LinearADMM",
    client="clients.linear_admm:LinearADMMClient",
    network="linear",
)
