"""Secure aggregation by pairwise masking: masks cancel in the parties' sum.

    pair key   k_ij = HKDF(X25519(i, j), salt and options, both ranks)  fresh at every start
    mask key   m_ij = HKDF(k_ij, exchange, phase, SHA-256 of history and request, position)
    mask       M_ij = ChaCha20 keystream under m_ij, as words of Z/2**32, or of Z/2**16
    sent       [E_i] = encode(E_i) + sum_{j>i} M_ij - sum_{j<i} M_ij

The active party relays the public keys and sees [E_i] only. It learns sum_i E_i when all parties
were told the same options, have answered the same phases since they agreed (the history), and
were asked the same thing; noise otherwise, for then their keys differ. The position counts the
uploads of one phase, so that each has masks of its own, used once. The active party must not
collude with all passive parties but one. It relays the public keys, each with its owner's
signature (`vfl_flower.crypto.identity`); parties that pin no identities must trust it to relay
them honestly.

With `colluding-share`, masks are those of neighbours in a random graph alone, which holds as long
as no larger share of the passive parties colludes (`vfl_flower.crypto.mask_graph`). The parties
draw it together (`vfl_flower.crypto.joint_seed`), so that nobody can choose a party's neighbours.
The history begins with the draw: parties that were told different ones have different mask keys.
"""

import secrets
from dataclasses import replace
from hashlib import sha256

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from torch import Tensor

from vfl_flower.common.codec import Array
from vfl_flower.common.errors import BlindingError, PartyError
from vfl_flower.common.names import party_log, party_name
from vfl_flower.common.state import State
from vfl_flower.config.policy.run_options import terms_of
from vfl_flower.config.run_config import RunConfig
from vfl_flower.crypto.fixed_point import Words, encode_ring, ring_of
from vfl_flower.crypto.identity import SIGNATURE
from vfl_flower.crypto.joint_seed import COMMITMENT, SHARE, JointSeed
from vfl_flower.crypto.mask_graph import colluders, neighbours, neighbours_of_each
from vfl_flower.crypto.masking import KEY, mask, pair_key, usable
from vfl_flower.protocol.automaton.arrays import octets
from vfl_flower.protocol.components import Answerer, Phase, Received, phase
from vfl_flower.protocol.exchange import Protocol, ask, ask_each
from vfl_flower.protocol.uploads import Upload, UploadMechanism


def agree_keys(cfg: RunConfig) -> Protocol:
    """Sub-protocol of two exchanges: pairwise key agreement of passive parties.

    Three more come before them where not all mask each other: they draw the graph. Two more come
    after them where rows are used that some party lacks: who has which.

    Raises
    ------
    PartyError
        If a party's key is of low order: those that get it could only fail themselves.
    """
    if cfg.blinded:
        yield from _agree_pairs(cfg)
    if cfg.uses_missing:
        yield from _agree_presence()


def _agree_pairs(cfg: RunConfig) -> Protocol:
    if masks_of_each(cfg) < cfg.parties - 2:
        yield from _draw_neighbours()
    keys = yield ask("public_key", purpose="control")
    for rank in cfg.present:
        if not usable(keys.singles[rank - 1][:KEY].tobytes()):
            raise PartyError(
                f"{party_name(rank)} sent a public key that nobody can agree on a secret with"
            )
    salt = np.frombuffer(secrets.token_bytes(16), np.uint8)
    yield ask("agree", np.stack(keys.singles), salt, purpose="control")


def _draw_neighbours() -> Protocol:
    committed = yield ask("commit_seed", purpose="control")
    revealed = yield ask("reveal_seed", np.stack(committed.singles), purpose="control")
    yield ask("draw_neighbours", np.stack(revealed.singles), purpose="control")


def _agree_presence() -> Protocol:
    """Relay each passive party's presence of rows, sealed under masks."""
    told = yield ask("tell_presence", purpose="control")
    rows = np.stack(told.singles)  # of each sender, for each receiver
    yield ask_each("take_presence", [*rows.swapaxes(0, 1)], purpose="control")


def masks_of_each(cfg: RunConfig) -> int:
    """Return how many others each passive party masks with."""
    return neighbours_of_each(cfg.parties - 1, cfg.colluding_share)


def honest_parties(cfg: RunConfig) -> int:
    """Return how many passive parties do not collude, at the least."""
    passive = cfg.parties - 1
    return passive - colluders(passive, cfg.colluding_share)


class Masker(UploadMechanism):
    """Pairwise masking at a passive party, for secure aggregation."""

    name = "masker"
    party: Answerer

    def __init__(self, party: Answerer) -> None:
        super().__init__(party)
        self.peers = party.cfg.parties - 1
        self._secret = b""
        self._draw, self._graph = JointSeed(party.rank), b""
        self._keys: dict[int, bytes] = {}
        self._history = b""
        self._answered: Received | None = None
        self._position = 0

    @classmethod
    def wanted(cls, cfg: RunConfig) -> bool:
        """Tell whether the run's uploads travel under masks."""
        return cfg.blinded

    @property
    def keys(self) -> dict[int, bytes]:
        """Pair keys by the other party's rank; empty before they are agreed."""
        return self._keys

    @phase(training=False, gives=octets(KEY + SIGNATURE), sends="control")
    def public_key(self) -> Array:
        """Draw a key pair; return public key and signature, (96,) uint8.

        The signature is zeros where the party has no identity.
        """
        private, identity = X25519PrivateKey.generate(), self.party.identity
        self._secret, self._keys = private.private_bytes_raw(), {}
        public = private.public_key().public_bytes_raw()
        signature = identity.sign(public) if identity else bytes(SIGNATURE)
        return np.frombuffer(public + signature, np.uint8)

    @phase(training=False, takes=(octets("K", KEY + SIGNATURE), octets(16)))
    def agree(self, keys: Tensor, salt: Tensor) -> None:
        """Derive a key with every neighbour, or every other party.

        (K, 96) uint8, (16,) uint8 ->
        """
        if not self._secret:
            raise BlindingError("this party has no key pair in use: it must be asked for one first")
        there = self.party.cfg.present
        if len(there) < 2:
            raise BlindingError("one passive party alone has nothing to hide behind")
        signed = dict(enumerate(_rows(keys), 1))
        relayed = {rank: signed[rank][:KEY] for rank in there}
        private = X25519PrivateKey.from_private_bytes(self._secret)
        own = private.public_key().public_bytes_raw()
        if relayed.get(self.party.rank) != own or len({*relayed.values()}) < len(relayed):
            raise BlindingError("the relayed keys repeat one or do not hold this party's own")
        if self.party.identity:
            for j, each in relayed.items():
                self.party.identity.check(j, each, signed[j][KEY:])
        context = bytes(salt.tolist()) + terms_of(self.party.cfg)
        self._keys = {
            j: pair_key(private, relayed[j], context, self.party.rank, j)
            for j in sorted(self._neighbours() & {*there})
        }
        self._secret = b""  # keys are agreed once for each that was asked for
        self._history = self._graph

    @phase(training=False, gives=octets(COMMITMENT), sends="control")
    def commit_seed(self) -> Array:
        """Commit to a share of the draw of neighbours; (32,) uint8."""
        return np.frombuffer(self._draw.commit(self.party.received.exchange), np.uint8)

    @phase(
        training=False,
        after="commit_seed",
        takes=octets("K", COMMITMENT),
        gives=octets(SHARE),
        sends="control",
    )
    def reveal_seed(self, commitments: Tensor) -> Array:
        """Reveal the share once all commitments are there.

        (K, 32) uint8 -> (32,) uint8
        """
        share = self._draw.reveal(self.party.received.exchange, _rows(commitments))
        return np.frombuffer(share, np.uint8)

    @phase(training=False, after="reveal_seed", takes=octets("K", SHARE))
    def draw_neighbours(self, shares: Tensor) -> None:
        """Draw those that keys are agreed with from now on.

        (K, 32) uint8 ->
        """
        self._graph = self._draw.joined(_rows(shares))

    def _neighbours(self) -> set[int]:
        """Return the ranks that this party masks with; without a draw, all."""
        degree = masks_of_each(self.party.cfg) if self._graph else self.peers - 1
        return neighbours(self._graph, self.peers, degree, self.party.rank)

    def apply(self, upload: Upload, declared: Phase) -> Upload:
        """Mask an upload that is to be summed."""
        if not declared.masked:
            return upload
        if declared.training and self.party.cfg.left:
            raise BlindingError(
                "training goes on under masks with all parties only: a step that is repeated "
                "without one would tell its upload; train anew, or use blinding = none"
            )
        if upload.message is not None:
            raise BlindingError("a compressed upload cannot be masked: it cannot be summed")
        again = self._answered is self.party.received
        self._answered, self._position = self.party.received, self._position + 1 if again else 0
        own = (upload.values, upload.weight, upload.total, self._position, upload.noise)
        words = self.mask(*own)
        return replace(upload, message=(words,))

    def mask(
        self,
        x: Tensor,
        weight: int = 1,
        total: int | None = None,
        position: int = 0,
        noise: float = 0.0,
    ) -> Words:
        """Mask an answer to the request in hand.

        Parameters
        ----------
        x : Tensor
            Any shape, float32, or float64 with a share of distributed noise.
        weight : int
            How many times `x` counts in the sum.
        total : int, optional
            The sum of all parties' weights; as many as there are parties, unless said.
        position : int
            Which of the request's uploads it is, from 0; each has masks of its own.
        noise : float
            Deviation of the noise on `x`. In 16 bits what is too large then wraps.

        Returns
        -------
        ndarray
            ``weight * x`` under the masks: uint32 or uint16 of the same shape.

        Raises
        ------
        BlindingError
            If no keys were agreed, or a value is too large for the ring.
        """
        if not self._keys:
            raise BlindingError("blinding is on, but no keys have been agreed since the start")
        received = self.party.received
        summands = self.peers if total is None else total
        cfg = self.party.cfg
        ring = ring_of(cfg.narrow, cfg.row_bound, summands, noise)
        wraps = cfg.noise_distributed or (cfg.narrow and noise > 0)
        try:
            words = encode_ring(x, summands, ring, wraps=wraps)
        except BlindingError:
            log = party_log(self.party.rank)  # what it says is for this party alone
            log.error("the largest value was %g", x.detach().abs().max())
            raise
        words *= words.dtype.type(weight % (1 << ring.bits))
        digest = sha256(self._history + received.digest).digest()
        with self.party.profile.doing("masks"):
            for j, key in self._keys.items():
                of = (received.exchange, received.phase, digest, words.size, position)
                stream = mask(key, *of, ring)
                combine = np.add if self.party.rank < j else np.subtract
                combine(words, stream.reshape(words.shape), out=words)
        return words

    def bind(self, agreed: bytes) -> None:
        """Make mask keys depend on an agreement of passive parties."""
        self._history = sha256(self._history + agreed).digest()

    def note(self, received: Received) -> None:
        """Add a phase to the history, which mask keys depend on."""
        self._history = sha256(self._history + received.phase.encode()).digest()

    def state_dict(self) -> State:
        """Return keys and history; the keys never leave the party's memory."""
        own = {"secret": self._secret, "keys": self._keys, "history": self._history}
        return own | {"graph": self._graph, "draw": self._draw.state_dict()}

    def load_state_dict(self, state: State) -> None:
        """Restore the state of `state_dict`."""
        self._secret, self._keys = state["secret"], state["keys"]
        self._history, self._graph = state["history"], state["graph"]
        self._draw.load_state_dict(state["draw"])


def _rows(octets: Tensor) -> list[bytes]:
    return [bytes(row.tolist()) for row in octets]
