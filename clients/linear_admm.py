"""Linear-ADMM, passive party.  Notation, and what it learns, as in `strategies.linear_admm`."""

from clients.vimadmm_j import VIMADMMJClient


class LinearADMMClient(VIMADMMJClient):
    """The linear case."""
