"""VFedMH, passive party: it cannot tell VFedMH from EASTER, for the loss is the active party's."""

from clients.easter import EasterClient


class VFedMHClient(EasterClient):
    """The client of `strategies.vfedmh`."""
