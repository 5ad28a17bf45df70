"""VAFL, passive party; notation and header in `strategies.vafl`.

Its network's decision net is not used.
"""

from .splitnn import SplitNNClient


class VAFLClient(SplitNNClient):
    """Embeds its columns, and learns from its weighted embedding's gradient."""
