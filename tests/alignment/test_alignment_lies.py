"""Alignment with parties that deviate: each is refused and named."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import RecordDict
from flwr.client import Client
from flwr.common import FitIns, FitRes, GetPropertiesIns, GetPropertiesRes

from tests.helpers.blinding import send
from tests.helpers.contract import ClientTransport, carry, passive_parties
from tests.helpers.own_data.alignment import ANNOUNCED, POINTS, Holder, Seeker, numbers
from tests.helpers.own_data.own import TINY, make
from vfl_flower.alignment.build import build_alignment_active, build_alignment_passive
from vfl_flower.common.codec import Array, from_parameters, to_parameters
from vfl_flower.common.errors import PartyError, ProtocolError, VflError
from vfl_flower.common.layout import ALIGNMENT
from vfl_flower.config.catalog import TASKS
from vfl_flower.config.run_config import RunConfig
from vfl_flower.crypto.curve25519 import tags
from vfl_flower.crypto.hashed_ids import Ids, normalised
from vfl_flower.protocol.client import ProtocolClient
from vfl_flower.transport.endpoint import Endpoint, RebuiltEndpoint
from vfl_flower.workflows.align import carried_out

Edit = Callable[[list[Array]], list[Array]]


@dataclass
class Liar(Client):
    """Changes its answers to one phase."""

    client: Client
    phase: str
    edit: Edit

    def get_properties(self, ins: GetPropertiesIns) -> GetPropertiesRes:
        return self.client.get_properties(ins)

    def fit(self, ins: FitIns) -> FitRes:
        res = self.client.fit(ins)
        if ins.config["phases"] == self.phase:
            res.parameters = to_parameters(self.edit(from_parameters(res.parameters)))
        return res


def twice(points: Array) -> Array:
    """Repeat the first point in the place of the last."""
    return np.concatenate([points[:-1], points[:1]])


def unusual(points: Array) -> Array:
    """Repeat it, written otherwise: X25519 ignores the highest bit."""
    copy = twice(points)
    copy[-1, 31] |= 128
    return copy


LIES: dict[str, tuple[str, Edit, str]] = {
    "fewer": ("blind_ids", lambda a: [a[0], a[1][:-1]], "announced 9 ids and owed 9 points"),
    "more": ("blind_ids", lambda a: [a[0], np.concatenate([a[1], a[1]])], "owed 9 points"),
    "fewer answers": ("blind_ids", lambda a: [a[0][1:], a[1]], "answers to 8"),
    "whole answers": ("blind_ids", lambda a: [a[1], a[1]], "answers to 8"),
    "other words": ("blind_ids", lambda a: [a[0], a[1].view("<u4")], "owed 9 points"),
    "nothing": ("blind_ids", lambda _: [], "it sent nothing"),
    "duplicates": ("blind_ids", lambda a: [a[0], twice(a[1])], "ids that repeat"),
    "hidden duplicates": ("blind_ids", lambda a: [a[0], unusual(a[1])], "ids that repeat"),
    "equal answers": ("blind_ids", lambda a: [twice(a[0]), a[1]], "answers that repeat"),
    "low order": ("blind_ids", lambda a: [a[0], a[1] * np.uint8(0)], "a point of low order"),
    "no ids": ("announce_ids", lambda a: [a[0] * [1, 0]], "not 1 to 2147483647"),
    "too many": ("announce_ids", lambda a: [a[0] + [0, 2**31]], "not 1 to 2147483647"),
    "a larger size": ("announce_ids", lambda a: [a[0] + [0, 1]], "announced 10 ids and owed 10"),
    "no kind": ("announce_ids", lambda a: [a[0] - [2, 0]], "no known kind"),
    "no size": ("announce_ids", lambda a: [a[0][:1]], "no known kind"),
    "floats": ("announce_ids", lambda a: [a[0].astype(np.float32)], "no known kind"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lying_party_is_named(lie: str) -> None:
    phase, edit, words = LIES[lie]
    active, table = Seeker(numbers(8), 3), numbers(9, start=4)
    clients: list[Client] = [Endpoint(Holder(table, k, 3)) for k in (1, 2)]
    clients[1] = Liar(clients[1], phase, edit)
    with pytest.raises(VflError) as error:
        carry("local", active, clients)
    assert isinstance(error.value, ProtocolError)
    assert "party-2" in str(error.value)
    assert words in str(error.value)


class Asked:
    """A passive party with nine ids, live or rebuilt for every request."""

    def __init__(self, live: bool) -> None:
        self.ids = numbers(9)
        self.party = Holder(self.ids, 1, 2)
        endpoint = RebuiltEndpoint(self._anew, 1, RecordDict())
        self.door: Any = self.party if live else self
        self.endpoint, self.exchange = endpoint, 0

    def _anew(self) -> ProtocolClient:
        self.party = Holder(self.ids, 1, 2)
        return self.party

    def fit(self, parameters: list[Array], config: Any) -> Any:
        res = self.endpoint.fit(FitIns(to_parameters(parameters), config))
        return from_parameters(res.parameters), res.num_examples, res.metrics

    def __call__(self, phase: str, *arrays: Any) -> Any:
        """Return the arrays of an answer, or the party's refusal."""
        self.exchange += 1
        reply, metrics = send(self.door, self.exchange, phase, *map(np.asarray, arrays))
        if metrics:
            return f"{metrics['error']!s}: {metrics['message']!s}"
        return reply


live_or_rebuilt = pytest.mark.parametrize("live", [True, False])


def in_order(positions: Array, party: Holder) -> Array:
    """Sort positions as an honest active party would."""
    own = party.aligner._own()
    sorted_: Array = positions[np.argsort(tags(own.ids.hashed[own.order[positions]]))]
    return sorted_


@live_or_rebuilt
def test_a_passive_party_answers_what_was_announced(live: bool) -> None:
    ask = Asked(live)
    assert "must be announced first" in ask("blind_ids", 0, POINTS)
    assert ask("announce_ids", ANNOUNCED)[0].tolist() == [1, 9]
    again, own = ask("blind_ids", 0, POINTS)
    assert again.shape == (5, 16)
    assert own.shape == (9, 32)
    chosen = in_order(np.array([2, 3, 8]), ask.party).astype(np.int32)
    assert ask("common_ids", chosen[:2]) == []
    assert ask("common_ids", chosen[2:]) == []
    assert ask("aligned", 3) == []
    assert len(ask.party.aligner.rows) == 3


@live_or_rebuilt
@pytest.mark.parametrize(
    ("start", "points"),
    [
        (0, POINTS[:4]),
        (0, np.concatenate([POINTS, POINTS])),
        (1, POINTS),
        (2**16, POINTS),
    ],
)
def test_other_chunks_than_those_due_are_refused(live: bool, start: Any, points: Array) -> None:
    ask = Asked(live)
    ask("announce_ids", ANNOUNCED)
    assert "ProtocolError: the active party announced 5 ids and owed 5" in ask(
        "blind_ids", start, points
    )


@live_or_rebuilt
@pytest.mark.parametrize(
    ("start", "points"),
    [([0, 0], POINTS), (0, POINTS[:, :16]), (0, POINTS.astype(np.float32))],
)
def test_chunks_of_another_form_are_refused(live: bool, start: Any, points: Array) -> None:
    ask = Asked(live)
    ask("announce_ids", ANNOUNCED)
    assert " of phase 'blind_ids' is " in ask("blind_ids", start, points)


@live_or_rebuilt
def test_points_of_low_order_are_refused(live: bool) -> None:
    ask = Asked(live)
    ask("announce_ids", ANNOUNCED)
    assert "the active party sent a point of low order" in ask("blind_ids", 0, 0 * POINTS)


@live_or_rebuilt
def test_no_more_points_are_multiplied_than_were_announced(live: bool) -> None:
    ask = Asked(live)
    ask("announce_ids", ANNOUNCED)
    assert len(ask("blind_ids", 0, POINTS)) == 2
    for start in (0, 2**16):
        assert "owed 0 points" in ask("blind_ids", start, POINTS)


@live_or_rebuilt
@pytest.mark.parametrize("announcement", [[120, 5], [-1, 5], [1, 0], [1, -1], [1, 2**31]])
def test_announcements_that_cannot_be_are_refused(live: bool, announcement: list[int]) -> None:
    refused = Asked(live)("announce_ids", np.array(announcement, np.int64))
    assert refused.startswith("ProtocolError: the active party announced ids of no known kind")


@live_or_rebuilt
def test_common_ids_that_cannot_be_are_refused(live: bool) -> None:
    for positions, told in (
        (np.array([9], np.int32), "the active party named"),
        (np.array([-1], np.int32), "the active party named"),
        (np.array([[1]], np.int32), "array 1 of phase 'common_ids' is int32(1, 1)"),
        (np.array([1.0], np.float32), "array 1 of phase 'common_ids' is float32(1,)"),
    ):
        ask = Asked(live)
        ask("announce_ids", ANNOUNCED)
        assert told in ask("common_ids", positions)
    for places in ([2, 1, 0], [0, 0, 1], [0, 1]):  # not in order, one twice, one too few
        ask = Asked(live)
        ask("announce_ids", ANNOUNCED)
        chosen = in_order(np.array([2, 3, 8]), ask.party)[places]
        assert ask("common_ids", chosen.astype(np.int32)) == []
        assert "the common ids are not" in ask("aligned", 3)
        assert not len(ask.party.aligner.rows)


CHANGED = {
    "other ids": numbers(9, start=1),
    "another order": normalised(np.arange(9)[::-1]),
    "more rows": numbers(10),
    "another row of an id": normalised([0, 0, *range(1, 9)], "first"),
}


@pytest.mark.parametrize("ids", CHANGED.values(), ids=CHANGED)
@pytest.mark.parametrize("answered", range(1, 5))
def test_a_table_that_changes_between_two_requests_is_refused(answered: int, ids: Ids) -> None:
    """A rebuilt party reads it anew, with positions of other rows."""
    ask = Asked(live=False)
    assert len(ask("announce_ids", ANNOUNCED)) == 1
    chosen = in_order(np.array([2, 3, 8]), ask.party).astype(np.int32)
    requests: list[tuple[Any, ...]] = [
        ("blind_ids", 0, POINTS),
        ("common_ids", chosen),
        ("aligned", 3),
        ("aligned", 3),
    ]
    for request in requests[: answered - 1]:
        assert not isinstance(ask(*request), str)
    ask.ids = ids
    told = "DataError: this party's table was changed during the alignment; align again"
    assert told in ask(*requests[answered - 1])


@pytest.mark.parametrize("carrier", ["local", "amnesia"])
@pytest.mark.parametrize("told", [2, 4])
def test_an_alignment_of_another_number_of_parties_is_not_kept(
    told: int, carrier: str, tmp_path: Path
) -> None:
    """Three parties align, and the active one states another number."""
    cfg = RunConfig(**TINY, tables=make(tmp_path / "tables"))
    parties = passive_parties(carrier, lambda k: build_alignment_passive(cfg, k, tmp_path), 2)
    active = build_alignment_active(cfg, tmp_path)
    active.kept = replace(active.kept, parties=told)
    with pytest.raises(PartyError, match=r"party-1 .*to be kept that was not come to"):
        carried_out(active, ClientTransport(carrier, parties.clients))
    assert not list(tmp_path.rglob(ALIGNMENT))


def test_an_alignment_without_rows_is_not_kept(tmp_path: Path) -> None:
    """An active party asks for it before common ids are known."""
    cfg = RunConfig(**TINY, tables=make(tmp_path / "tables"))
    party = build_alignment_passive(cfg, 1, tmp_path)
    facts = np.array([cfg.parties, 2, TASKS.index("binary")])
    reply, metrics = send(party, 1, "keep_alignment", np.zeros(16, np.uint8), facts)
    assert reply == []
    assert metrics["error"] == "ProtocolError"
    assert "to be kept that was not come to" in str(metrics["message"])
    assert not list(tmp_path.rglob(ALIGNMENT))
