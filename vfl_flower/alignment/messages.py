"""Messages of an alignment and their checks."""

from hashlib import sha256

import numpy as np
from flwr.common import Scalar

from vfl_flower.common.codec import Array
from vfl_flower.common.names import party_log
from vfl_flower.common.versions import code_facts
from vfl_flower.crypto.hashed_ids import Ids
from vfl_flower.data.tables.reader import OwnTable
from vfl_flower.data.tables.summary import left_out, lines_of


def alignment_log(rank: int, table: OwnTable, ids: Ids | None, task: str) -> None:
    """Log the interpretation of a party's table.

    A training, which follows, names the columns that are left out itself.
    """
    for line in (*lines_of(table), *(left_out(table) if task != "train" else ())):
        party_log(rank).info("%s", line)
    if ids is not None and len(ids) < len(table.ids):
        twice = len(table.ids) - len(ids)
        party_log(rank).info("%d rows are left out: they have the id of an earlier one", twice)


def alignment_facts() -> dict[str, Scalar]:
    """Return facts of an alignment that must be equal everywhere.

    The rows are not among them.
    """
    return {**code_facts(), "task": "align"}


def name_digest(nonce: str, name: str) -> Array:
    """Return a salted digest of a name: (32,) uint8."""
    return np.frombuffer(sha256(f"{nonce}\0{name.casefold()}".encode()).digest(), np.uint8).copy()
