"""Upload mechanisms in the order in which they apply. One line here adds one to every method."""

from vfl_flower.parties.uploads.compression import Compressor
from vfl_flower.privacy.client_dp.component import ClientPrivacy
from vfl_flower.privacy.secure_aggregation import Masker
from vfl_flower.protocol.uploads import UploadMechanism

MECHANISMS: tuple[type[UploadMechanism], ...] = (
    ClientPrivacy,
    Compressor,
    Masker,
)
