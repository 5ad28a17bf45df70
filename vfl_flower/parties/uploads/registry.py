"""Registry of upload mechanisms, in the order of their application.

One line here adds a mechanism to every method. Those that change values come before those that
write the message.
"""

from vfl_flower.parties.uploads.compression import Compressor
from vfl_flower.privacy.client_dp.component import ClientPrivacy
from vfl_flower.privacy.secure_aggregation import Masker
from vfl_flower.protocol.uploads import UploadMechanism

MECHANISMS: tuple[type[UploadMechanism], ...] = (
    ClientPrivacy,
    Compressor,
    Masker,
)
