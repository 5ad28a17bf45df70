"""Errors of noising parties, as others may hear of them."""

from vfl_flower.common.errors import (
    BlindingError,
    IdentityError,
    PolicyError,
    PrivacyError,
    ProtocolError,
    RunError,
)
from vfl_flower.common.names import party_log, party_name

TOLD = (ProtocolError, PrivacyError, PolicyError, BlindingError, IdentityError, RunError)
"""Errors of requests, counts, limits, keys and files, and of sums that are noised already."""


def without_columns(error: Exception, rank: int) -> Exception:
    """Replace an error that may depend on columns by one text."""
    if isinstance(error, TOLD):
        return error
    party_log(rank).error("%s", error, exc_info=error)
    return PrivacyError(
        f"{party_name(rank)} noises what it sends, and could not answer; its own log says why"
    )
