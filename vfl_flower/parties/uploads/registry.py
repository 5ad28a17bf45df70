"""Registry of upload mechanisms, in the order of their application.

One line here adds a mechanism to every method. A check of values comes first, those that
change values before those that measure them, and those before what writes the message.
"""

from vfl_flower.parties.uploads.compression import Compressor
from vfl_flower.parties.uploads.drift import DriftCounter
from vfl_flower.parties.uploads.row_bound import RowBound
from vfl_flower.privacy.accounts.component import UploadAccount
from vfl_flower.privacy.accounts.limits import Limits
from vfl_flower.privacy.client_dp.component import ClientPrivacy
from vfl_flower.privacy.secure_aggregation import Masker
from vfl_flower.privacy.sum_shares.component import SumShares
from vfl_flower.protocol.uploads import UploadCounter, UploadMechanism

MECHANISMS: tuple[type[UploadMechanism], ...] = (
    RowBound,
    ClientPrivacy,
    SumShares,
    Compressor,
    Masker,
)

COUNTERS: tuple[type[UploadCounter], ...] = (Limits, UploadAccount, DriftCounter)
"""Counts of what leaves: for the owner's policy, and of strange inputs."""
