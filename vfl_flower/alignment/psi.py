"""Private set intersection of the active with every passive party.

Meadows (1986); Huberman, Franklin and Hogg (1999): Diffie-Hellman on hashed ids. H maps an id to a
point (`crypto.curve25519`), a and b_k are secrets of one run, x the active party's ids, y those of
passive party k.

    announce_ids   ->  kind and number of the x                <-  kind and number of the y
    blind_ids      ->  a H(x), shuffled       <-  b_k a H(x), in that order; b_k H(y), shuffled
                       a b_k H(y) = b_k a H(x) where x = y
    common_ids     ->  which of the b_k H(y) all parties have, sorted by hash
    aligned        ->  how many those were

Points travel in chunks of 2**16, 2 MiB; what comes back of the active party's own is compared only,
and cut to 16 bytes. The order of the aligned rows is that of the common ids' hashes: the same for
all parties and in every run, and it says nothing of how anybody's table is sorted.

With ``missing-parties = use`` rows are kept that at least so many passive parties have, -1 stands
for the id of one that lacks it, and the order of the rows is that of hashes under a key made of all
the active party's ids: who lacks an id can tell nothing from its place.

Learns
    The active party: kind and number of each passive party's ids, and which of its own each of them
    has. Of other ids of theirs it learns nothing.
    Passive party k: kind and number of the active party's ids, and which of its own all parties
    have. It learns neither what it has in common with the active party alone nor anything of the
    others. Where rows are kept that some party lacks, it learns which of its own the active party
    and enough others have, and how many there are that it lacks.
    Whoever relays the messages: kinds, all numbers of ids, and the number of common ones.
Assumes
    Parties that follow the protocol. One that makes up ids learns whether the others have them;
    where ids are few enough to list, as telephone numbers are, that is all of them.
Costs
    With n ids at the active party and m at a passive one, 2 (n + m) multiplications between the
    two, of which the active party has n + m, but n only once for all parties; 48 n + 32 m bytes,
    and 4 for each common id; max(n, m) / 2**16 exchanges, and three or four more. In memory 48
    bytes an id, at the active party 16 (n + m) more for each passive one; while ids are read or
    compared, some 160 and 220 bytes an id in all.
"""

import secrets
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import sha256
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vfl_flower.alignment.blinded_ids import CHUNK, Blinded, announced, announcement, due
from vfl_flower.common.codec import Array
from vfl_flower.common.errors import DataError, ProtocolError
from vfl_flower.common.names import party_name
from vfl_flower.crypto.curve25519 import POINT, TAG, multiply, tags
from vfl_flower.crypto.hashed_ids import Ids
from vfl_flower.protocol.exchange import Protocol, ask, ask_each

_BYTES = np.dtype(np.uint8)
SPAN = 2**19  # positions in a message: as many bytes as of points


def align(
    ids: Ids,
    ranks: Sequence[int],
    progress: Callable[[int, int], None] = lambda done, total: None,
    least: int | None = None,
) -> Protocol:
    """Sub-protocol of the active party: find the common rows.

    Parameters
    ----------
    ids : Ids
        The active party's.
    ranks : sequence of int
        Of the passive parties; each has an `Aligner`.
    progress : callable
        Is told after each chunk how many ids are done, and of how many: those of the largest table.
    least : int, optional
        Passive parties that must have a row; all unless said.

    Returns
    -------
    Common
        Each party's `Aligner.rows` are the same samples in the same order as its rows, and -1 where
        it lacks one.

    Raises
    ------
    DataError
        If the parties' ids are of different kinds, or no id is common to all.
    ProtocolError
        If a party sends anything but what it announced; the text names it.
    """
    own = Blinded(ids, secrets.token_bytes(POINT))
    pairs = yield from _announce(ids, ranks)
    yield from _meet(own, pairs, progress)
    positions = np.stack([pair.positions() for pair in pairs])  # (K, n)
    kept = (positions >= 0).sum(axis=0) >= (len(ranks) if least is None else least)
    at = np.flatnonzero(kept)
    if not (positions[:, at] >= 0).any(axis=1).all():
        raise DataError(_nothing_in_common(ids, pairs, positions))
    at = at[np.argsort(_ordering(ids, own.order[at], partly=least is not None))]
    for start in range(0, len(at), SPAN):
        span = positions[:, at[start : start + SPAN]].astype(np.int32)
        yield ask_each("common_ids", list(span), purpose="control", to=ranks)
    yield ask("aligned", np.array(len(at)), purpose="control", to=ranks)
    rest = np.flatnonzero(~kept)
    rest = rest[np.argsort(own.order[rest])]
    return Common(
        ids.rows[own.order[at]],
        ids.rows[own.order[rest]],
        positions[:, rest].T < 0,
        positions[:, at].T >= 0,
    )


def _ordering(ids: Ids, chosen: Array, *, partly: bool) -> Array:
    """Return sortable tags of chosen ids, (n,).

    Those of their hashes, or under a key where a party may lack an id.
    """
    hashed = ids.hashed[chosen]
    if not partly:
        return tags(hashed)
    key = sha256(ids.hashed[np.argsort(tags(ids.hashed))].tobytes()).digest()
    keyed = b"".join(sha256(key + each.tobytes()).digest() for each in hashed)
    return tags(np.frombuffer(keyed, np.uint8).reshape(-1, POINT))


class Common(NamedTuple):
    """The active party's rows after an alignment: common and missing.

    Attributes
    ----------
    rows : ndarray of int64
        (n,), those that all parties have, or enough of them.
    missing : ndarray of int64
        (m,), the others, in the table's order.
    lacks : ndarray of bool
        (m, K), which of these passive parties lacks which of them.
    presence : ndarray of bool
        (n, K), which of them has which of `rows`.
    """

    rows: Array
    missing: Array
    lacks: NDArray[np.bool_]
    presence: NDArray[np.bool_]

    def among(self, parties: int, ranks: Sequence[int]) -> "Common":
        """Return the same with a column for each passive party.

        One that took no part has no row, and is not said to lack any.
        """
        places, lengths = [rank - 1 for rank in ranks], (len(self.missing), len(self.rows))
        lacks, presence = (np.zeros((length, parties), np.bool_) for length in lengths)
        lacks[:, places], presence[:, places] = self.lacks, self.presence
        return self._replace(lacks=lacks, presence=presence)


class _Pair:
    """The active party's points of one passive party.

    Parameters
    ----------
    rank : int
        The passive party's.
    sizes : tuple of int
        Numbers of ids, the active party's and the passive one's.
    """

    def __init__(self, rank: int, sizes: tuple[int, int]) -> None:
        self.rank, self.name, self.sizes = rank, party_name(rank), sizes
        self._waiting = np.empty((0, POINT), np.uint8)
        self._ours, self._theirs = list[Array](), list[Array]()

    def take(self, start: int, arrays: Sequence[Array]) -> None:
        """Keep an answer to `blind_ids`; its points wait for `multiply`."""
        ours, theirs = (due(start, size) for size in self.sizes)
        shapes = [(array.shape, array.dtype) for array in arrays]
        if shapes != [((ours, TAG), _BYTES), ((theirs, POINT), _BYTES)]:
            answer = ", ".join(f"{dtype}{shape}" for shape, dtype in shapes)
            raise ProtocolError(
                f"{self.name} announced {self.sizes[1]} ids and owed {theirs} points, and answers "
                f"to {ours} of the active party's, from position {start} on; it sent "
                f"{answer or 'nothing'}"
            )
        self._ours.append(tags(arrays[0]))
        self._waiting = arrays[1]

    def multiply(self, secret: bytes) -> None:
        """Multiply the points that wait by the active party's secret."""
        self._theirs.append(tags(multiply(secret, self._waiting, self.name)))

    def positions(self) -> Array:
        """Return the active ids' positions at the passive party.

        (n,) int64; -1 for ids that it lacks.

        Raises
        ------
        ProtocolError
            If the passive party sent an id twice.
        """
        ours, here = self._sorted(self._ours, "answers")
        theirs, there = self._sorted(self._theirs, "ids")
        found = np.searchsorted(theirs, ours).clip(max=len(theirs) - 1)
        positions = np.empty(len(ours), np.int64)
        positions[here] = np.where(theirs[found] == ours, there[found], -1)
        return positions

    def _sorted(self, parts: Sequence[Array], kind: str) -> tuple[Array, Array]:
        """Sort tags; return them and their positions before."""
        sent = np.concatenate(parts)
        order = np.argsort(sent)
        ordered = sent[order]
        if (ordered[1:] == ordered[:-1]).any():
            raise ProtocolError(f"{self.name} sent {kind} that repeat; no two ids are alike")
        return ordered, order


def _announce(ids: Ids, ranks: Sequence[int]) -> Protocol:
    """Exchange kinds and numbers; return a `_Pair` for each passive party."""
    replies = yield ask("announce_ids", announcement(ids), purpose="control", to=ranks)
    pairs = []
    for rank, arrays in zip(ranks, replies.arrays, strict=True):
        name = party_name(rank)
        kind, size = announced(arrays, name)
        if kind != ids.kind:
            raise DataError(
                f"{name}'s ids are {kind} and the active party's are {ids.kind}: none could be "
                "the same; all parties must agree on one, with id, id-type and id-case in their "
                "descriptions"
            )
        pairs.append(_Pair(rank, (len(ids), size)))
    return pairs


def _meet(own: Blinded, pairs: Sequence[_Pair], progress: Callable[[int, int], None]) -> Protocol:
    """Exchange points with all parties, chunk by chunk.

    The active party works while the others do.
    """

    def work(start: int) -> Array:
        for pair in pairs:
            pair.multiply(own.secret)
        return own.points(start)

    total, ranks = max(size for pair in pairs for size in pair.sizes), [each.rank for each in pairs]
    points = own.points(0)
    for start in range(0, total, CHUNK):
        ahead, chunk = partial(work, start + CHUNK), (np.array(start), points)
        replies = yield ask("blind_ids", *chunk, own=ahead, purpose="control", to=ranks)
        points = replies.own
        for pair, arrays in zip(pairs, replies.arrays, strict=True):
            pair.take(start, arrays)
        progress(min(start + CHUNK, total), total)
    for pair in pairs:
        pair.multiply(own.secret)


def _nothing_in_common(ids: Ids, pairs: Sequence[_Pair], positions: Array) -> str:
    each = ", ".join(
        f"{pair.name} has {pair.sizes[1]} and shares {(found >= 0).sum()} of them"
        for pair, found in zip(pairs, positions, strict=True)
    )
    return (
        f"no id is common to all parties, or to enough of each: the active party has {len(ids)} "
        f"ids; {each}. Check that all name the same column and write ids alike"
    )
