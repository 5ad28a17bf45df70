"""Secure aggregation by pairwise masking: masks cancel in the parties' sum.

    pair key   k_ij = HKDF(X25519(i, j), salt, both ranks)            fresh at every start
    mask key   m_ij = HKDF(k_ij, exchange, phase, SHA-256 of request, position)   used once
    mask       M_ij = ChaCha20 keystream under m_ij, as words of Z/2**32
    sent       [E_i] = encode(E_i) + sum_{j>i} M_ij - sum_{j<i} M_ij

The active party relays the public keys and sees [E_i] only. It learns sum_i E_i when all parties
were asked the same thing, and noise otherwise, for then their mask keys differ. The position
counts the uploads of one phase, so that each has masks of its own. The active party must not
collude with all passive parties but one. It relays the public keys, each with its owner's signature
(`vfl_flower.crypto.identity`); parties that pin no identities must trust it to relay them honestly.
"""

import secrets
from dataclasses import replace

import numpy as np
import torch
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from torch import Tensor

from vfl_flower.common.codec import Array
from vfl_flower.common.errors import BlindingError
from vfl_flower.common.names import party_log
from vfl_flower.common.state import State
from vfl_flower.config.run_config import RunConfig
from vfl_flower.crypto.fixed_point import Words, encode_ring
from vfl_flower.crypto.identity import SIGNATURE
from vfl_flower.crypto.masking import KEY, mask, pair_key
from vfl_flower.protocol.components import Answerer, Phase, Received, phase
from vfl_flower.protocol.exchange import Protocol, ask
from vfl_flower.protocol.uploads import Upload, UploadMechanism


def agree_keys(cfg: RunConfig) -> Protocol:
    """Sub-protocol of two exchanges: pairwise key agreement of passive parties."""
    if not cfg.blinded:
        return
    keys = yield ask("public_key", purpose="control")
    salt = np.frombuffer(secrets.token_bytes(16), np.uint8)
    yield ask("agree", np.stack(keys.singles), salt, purpose="control")


class Masker(UploadMechanism):
    """Pairwise masking at a passive party, for secure aggregation."""

    name = "masker"
    party: Answerer

    def __init__(self, party: Answerer) -> None:
        super().__init__(party)
        self.peers = party.cfg.parties - 1
        self._secret = b""
        self._keys: dict[int, bytes] = {}
        self._answered: Received | None = None
        self._position = 0

    @classmethod
    def wanted(cls, cfg: RunConfig) -> bool:
        """Tell whether the run's uploads travel under masks."""
        return cfg.blinded

    @phase(training=False, sends="control")
    def public_key(self) -> Array:
        """Draw a key pair; return public key and signature, (96,) uint8.

        The signature is zeros where the party has no identity.
        """
        private, identity = X25519PrivateKey.generate(), self.party.identity
        self._secret, self._keys = private.private_bytes_raw(), {}
        public = private.public_key().public_bytes_raw()
        signature = identity.sign(public) if identity else bytes(SIGNATURE)
        return np.frombuffer(public + signature, np.uint8)

    @phase(training=False)
    def agree(self, keys: Tensor, salt: Tensor) -> None:
        """Derive a key with every other party.

        (K, 96) uint8, (16,) uint8 ->
        """
        if not self._secret:
            raise BlindingError("this party has no key pair in use: it must be asked for one first")
        shapes = (self.peers, KEY + SIGNATURE), (16,)
        if (keys.shape, salt.shape) != shapes or {keys.dtype, salt.dtype} != {torch.uint8}:
            raise BlindingError(
                f"keys of shape {tuple(keys.shape)} arrived for a run with {self.peers} passive "
                "parties; blinding needs the keys of all"
            )
        if self.peers < 2:
            raise BlindingError("one passive party alone has nothing to hide behind")
        signed = [bytes(key.tolist()) for key in keys]
        relayed = [each[:KEY] for each in signed]
        private = X25519PrivateKey.from_private_bytes(self._secret)
        own = private.public_key().public_bytes_raw()
        if relayed[self.party.rank - 1] != own or len(set(relayed)) < len(relayed):
            raise BlindingError("the relayed keys repeat one or do not hold this party's own")
        if self.party.identity:
            for j, each in enumerate(signed, 1):
                self.party.identity.check(j, each[:KEY], each[KEY:])
        self._keys = {
            j: pair_key(private, key, bytes(salt.tolist()), self.party.rank, j)
            for j, key in enumerate(relayed, 1)
            if j != self.party.rank
        }
        self._secret = b""  # used up: keys are agreed once for each that was asked for

    def apply(self, upload: Upload, declared: Phase) -> Upload:
        """Mask an upload that is to be summed."""
        if not declared.masked:
            return upload
        if upload.message is not None:
            raise BlindingError("a compressed upload cannot be masked: it cannot be summed")
        again = self._answered is self.party.received
        self._answered, self._position = self.party.received, self._position + 1 if again else 0
        words = self.mask(upload.values, upload.weight, upload.total, self._position)
        return replace(upload, message=(words,))

    def mask(
        self, x: Tensor, weight: int = 1, total: int | None = None, position: int = 0
    ) -> Words:
        """Mask an answer to the request in hand.

        Parameters
        ----------
        x : Tensor
            Any shape, float32.
        weight : int
            How many times `x` counts in the sum.
        total : int, optional
            The sum of all parties' weights; as many as there are parties, unless said.
        position : int
            Which of the request's uploads it is, from 0; each has masks of its own.

        Returns
        -------
        ndarray
            ``weight * x`` under the masks: uint32 of the same shape.

        Raises
        ------
        BlindingError
            If no keys were agreed, or a value is too large for the ring.
        """
        if not self._keys:
            raise BlindingError("blinding is on, but no keys have been agreed since the start")
        received = self.party.received
        try:
            words = encode_ring(x, self.peers if total is None else total)
        except BlindingError:
            log = party_log(self.party.rank)  # what it says is for this party alone
            log.error("the largest value was %g", x.detach().abs().max())
            raise
        words *= np.uint32(weight)
        for j, key in self._keys.items():
            stream = mask(
                key, received.exchange, received.phase, received.digest, words.size, position
            )
            combine = np.add if self.party.rank < j else np.subtract
            combine(words, stream.reshape(words.shape), out=words)
        return words

    def state_dict(self) -> State:
        """Return the keys; they never leave the party's memory."""
        return {"secret": self._secret, "keys": self._keys}

    def load_state_dict(self, state: State) -> None:
        """Restore the state of `state_dict`."""
        self._secret, self._keys = state["secret"], state["keys"]
