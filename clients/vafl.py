"""VAFL, passive party.  Notation, and what it learns, as in `strategies.vafl`.

Its network's decision net is not used.
"""

from clients.splitnn import SplitNNClient


class VAFLClient(SplitNNClient):
    """Embeds its columns, and learns from the gradient of its embedding, which has its weight."""
