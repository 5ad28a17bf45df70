"""Errors of contenders."""

from vfl_flower.common.errors import VflError


class PeerError(VflError):
    """A peer cannot be installed here, or its run failed."""
