"""Linear-ADMM, passive party; notation and header in `strategies.linear_admm`."""

from .vimadmm_j import VIMADMMJClient


class LinearADMMClient(VIMADMMJClient):
    """The linear case."""
