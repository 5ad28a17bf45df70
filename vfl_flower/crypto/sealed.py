"""Short messages between two passive parties, sealed under their pair key.

    key     = HKDF-Expand(k_ij, protocol, exchange, sender, receiver)     32 bytes, for one message
    sealed  = ChaCha20-Poly1305(key, nonce 0, message)                    16 bytes longer

The pair key is that of masks (`vfl_flower.crypto.masking`): fresh at every start, bound to the
run's options, and under pinned identities unknown to whoever relays. The exchange counter never
repeats under one pair key, so each key seals one message only, and the nonce may be constant. A
message that was changed, is of another exchange, or is from or for somebody else does not open.
"""

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from vfl_flower.common.errors import ProtocolError
from vfl_flower.common.names import party_name

PROTOCOL = b"vfl-flower sealed 1"  # none of masks' contexts begins with it
TAG = 16  # bytes that a sealed message has more
_NONCE = bytes(12)


def seal(key: bytes, message: bytes, exchange: int, sender: int, receiver: int) -> bytes:
    """Encrypt and authenticate one message.

    Parameters
    ----------
    key : bytes
        The pair key of both parties.
    message : bytes
        One for this exchange, sender and receiver; a second one would share its keystream.
    exchange : int
        The run's exchange counter.
    sender, receiver : int
        Ranks.
    """
    return _cipher(key, exchange, sender, receiver).encrypt(_NONCE, message, None)


def unseal(key: bytes, sealed: bytes, exchange: int, sender: int, receiver: int) -> bytes:
    """Decrypt a message of `seal`, given the same arguments.

    Raises
    ------
    ProtocolError
        Names the sender, if it is not what that party sealed.
    """
    try:
        return _cipher(key, exchange, sender, receiver).decrypt(_NONCE, sealed, None)
    except InvalidTag as error:
        raise ProtocolError(
            f"what {party_name(sender)} sealed for {party_name(receiver)} did not arrive as it "
            "was sent: somebody changed, repeated or swapped it on its way"
        ) from error


def _cipher(key: bytes, exchange: int, sender: int, receiver: int) -> ChaCha20Poly1305:
    places = exchange.to_bytes(8, "little") + b"".join(
        rank.to_bytes(4, "little") for rank in (sender, receiver)
    )
    return ChaCha20Poly1305(HKDFExpand(SHA256(), 32, PROTOCOL + places).derive(key))
