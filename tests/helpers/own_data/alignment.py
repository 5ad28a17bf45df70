"""Helpers of alignment tests and benchmark: parties with ids, and runs."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from flwr.common import Scalar

from tests.helpers.contract import Tap, carry, passive_parties
from vfl_flower.alignment.component import Aligner
from vfl_flower.alignment.messages import alignment_facts
from vfl_flower.alignment.psi import Common, align
from vfl_flower.common.codec import Array, decode
from vfl_flower.config.run_config import RunConfig
from vfl_flower.crypto.curve25519 import hash_to_field, to_curve
from vfl_flower.crypto.hashed_ids import Ids, normalised
from vfl_flower.protocol.client import ProtocolClient
from vfl_flower.protocol.exchange import Protocol
from vfl_flower.protocol.strategy import Coordinator
from vfl_flower.transport.endpoint import ARRAYS, RebuiltEndpoint


def mapped(numbers: Array) -> Array:
    """Map rows of 32 bytes to the curve, one by one."""
    data = b"".join(to_curve(number.tobytes() for number in numbers))
    return np.frombuffer(data, np.uint8).reshape(-1, 32)


CFG = RunConfig(models="linear", embedding_dim=2, batch_size=1000, blinding="none")
POINTS = mapped(hash_to_field([b"%d" % i for i in range(5)], b"test"))
ANNOUNCED = np.array([1, 5])
"""What an active party with five numbers may send."""


class Seeker(Coordinator):
    """Aligns, and nothing else."""

    found: Common

    def __init__(self, ids: Ids, parties: int) -> None:
        self.cfg, self.folder, self.ids = replace(CFG, parties=parties), None, ids
        super().__init__()

    def facts(self) -> dict[str, Scalar]:
        return alignment_facts()

    def protocol(self) -> Protocol:
        """Keep the rows and the messages on the way."""
        self.told: list[tuple[int, int]] = []
        self.found = yield from align(
            self.ids, self.cfg.present, lambda *progress: self.told.append(progress)
        )


class Holder(ProtocolClient):
    """Has ids."""

    components = (Aligner,)
    aligner: Aligner
    rank = 0

    def __init__(self, ids: Ids | None, rank: int, parties: int) -> None:
        self.cfg, self.rank, self.folder = replace(CFG, parties=parties), rank, None
        self.ids = ids
        super().__init__()

    def facts(self) -> dict[str, Scalar]:
        return alignment_facts()

    def check_begun(self) -> None:
        """Announce at any time: it has no table with names."""


def run(tables: Sequence[Ids], carrier: str = "local") -> tuple[Seeker, list[Array], list[Tap]]:
    """Align tables; return the active party, all rows, and the wire.

    The active party's table comes first.
    """
    active = Seeker(tables[0], len(tables))
    parties = passive_parties(carrier, lambda k: Holder(tables[k], k, len(tables)), len(tables) - 1)
    taps = [Tap(client) for client in parties.clients]
    carry(carrier, active, taps)
    return active, [active.found.rows, *(rows_of_party(tap) for tap in taps)], taps


def rows_of_party(tap: Tap) -> Array:
    """Return a passive party's rows at the end."""
    client: Any = tap.client
    if isinstance(client, RebuiltEndpoint):
        rows = client.state.array_records[ARRAYS]["state.aligner.rows"]
        return decode(rows.data)
    rows_live: Array = client.party.aligner.rows
    return rows_live


def aligned(
    tables: Sequence[Any], carrier: str = "local", duplicates: Any = "refuse"
) -> list[Array]:
    """Return every party's rows for columns of ids."""
    return run([normalised(table, duplicates) for table in tables], carrier)[1]


def numbers(count: int, start: int = 0) -> Ids:
    """Return so many ids in a row."""
    return normalised(np.arange(start, start + count))
