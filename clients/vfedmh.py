"""VFedMH, passive party: EASTER's, since only the active party's loss differs."""

from .easter import EasterClient


class VFedMHClient(EasterClient):
    """The client of `strategies.vfedmh`."""

    default_loss = "cross-entropy"
