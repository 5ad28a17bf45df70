"""Alignment equals set intersection, and shows no id to others."""

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256, sha512
from typing import Any
from unicodedata import normalize
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.blinding import send
from tests.helpers.contract import Tap, carry
from tests.helpers.own_data.alignment import (
    ANNOUNCED,
    POINTS,
    Holder,
    Seeker,
    aligned,
    mapped,
    numbers,
    run,
)
from vfl_flower.alignment import blinded_ids as blinded
from vfl_flower.alignment import component as aligner
from vfl_flower.alignment import psi as intersection
from vfl_flower.common.codec import Array
from vfl_flower.common.errors import DataError, PartyError
from vfl_flower.crypto.curve25519 import hash_to_field
from vfl_flower.crypto.hashed_ids import DOMAIN, Ids, normalised
from vfl_flower.transport.endpoint import Endpoint

CARRIERS = ("local", "amnesia")
WORDS = st.text(st.characters(exclude_categories=["Cs", "Z", "Cc"]), min_size=1, max_size=4)
FORMS = st.sampled_from([lambda t: normalize("NFC", t), lambda t: normalize("NFD", t)])
on_both_carriers = pytest.mark.parametrize("carrier", CARRIERS)


def same(text: str) -> str:
    return normalize("NFC", text).strip()


@contextmanager
def small_messages(chunk: int = 7, span: int = 5) -> Iterator[None]:
    """Let a handful of ids take several messages."""
    with (
        patch.object(blinded, "CHUNK", chunk),
        patch.object(aligner, "CHUNK", chunk),
        patch.object(intersection, "CHUNK", chunk),
        patch.object(intersection, "SPAN", span),
    ):
        yield


def checked(tables: Sequence[Sequence[str]], rows: Sequence[Array]) -> None:
    """Every party has the intersection in one order, and first rows."""
    common = set.intersection(*({same(each) for each in table} for table in tables))
    names = [[same(table[row]) for row in own] for table, own in zip(tables, rows, strict=True)]
    assert all(each == names[0] for each in names)
    assert len(names[0]) == len(common)
    assert set(names[0]) == common
    for table, own in zip(tables, rows, strict=True):
        assert own.dtype == np.int64
        firsts = {same(table[row]): row for row in reversed(range(len(table)))}
        assert [firsts[same(table[row])] for row in own] == own.tolist()


@pytest.mark.slow
@on_both_carriers
@settings(max_examples=15, deadline=None)
@given(st.data())
def test_rows_are_those_of_set_intersection(carrier: str, data: st.DataObject) -> None:
    """Two to four parties, any text, order and repeats, many messages."""
    common = data.draw(st.lists(WORDS, min_size=1, max_size=12))
    tables = []
    for _ in range(data.draw(st.integers(2, 4))):
        table = common + data.draw(st.lists(WORDS, max_size=20))
        table = [data.draw(FORMS)(f"{word} ") for word in table]
        tables.append(data.draw(st.permutations(table)))
    with small_messages():
        checked(tables, aligned(tables, carrier, "first"))


@pytest.mark.parametrize(("sizes", "shared"), [((10_000, 3000), 2000), ((1, 2500), 1), ((1, 1), 1)])
def test_large_and_uneven_tables(sizes: tuple[int, int], shared: int) -> None:
    tables = [
        [*range(shared), *range(10**6 * (k + 1), 10**6 * (k + 1) + size - shared)]
        for k, size in enumerate(sizes)
    ]
    for k, table in enumerate(tables):
        random.Random(k).shuffle(table)  # noqa: S311
    first, second = aligned(tables)
    assert [tables[0][row] for row in first] == [tables[1][row] for row in second]
    assert sorted(tables[0][row] for row in first) == list(range(shared))


@on_both_carriers
def test_duplicates_are_refused_before_anything_is_sent(carrier: str) -> None:
    with pytest.raises(DataError, match="1 of 3 rows repeat"):
        aligned([["a", "b"], ["a", "b", "a "]], carrier)


def test_the_order_is_nobodys() -> None:
    """The same for every order of the tables, and unsorted by id."""
    ids = [f"{i:02d}" for i in range(40)]
    orders = []
    for seed in range(3):
        tables = [random.Random(10 * seed + k).sample(ids, len(ids)) for k in range(3)]  # noqa: S311
        rows = aligned(tables)
        checked(tables, rows)
        orders.append([tables[0][row] for row in rows[0]])
    assert orders[0] == orders[1] == orders[2]
    assert orders[0] not in (ids, ids[::-1])


def test_the_active_party_knows_who_lacks_which_of_its_rows() -> None:
    tables = [[5, 1, 4, 2, 3], [1, 2, 9, 4], [2, 4, 5]]
    found = run([normalised(table) for table in tables])[0].found
    assert sorted(found.rows.tolist()) == [2, 3]
    assert found.missing.tolist() == [0, 1, 4]  # the ids 5, 1 and 3
    assert found.lacks.tolist() == [[True, False], [False, True], [True, True]]


@on_both_carriers
def test_nothing_in_common_is_an_error_with_all_sizes(carrier: str) -> None:
    with pytest.raises(DataError) as error:
        aligned([["a", "b", "c"], ["a", "d"], ["e", "b", "c", "f", "g"]], carrier)
    for words in (
        "the active party has 3 ids",
        "party-1 has 2 and shares 1",
        "party-2 has 5 and s",
    ):
        assert words in str(error.value)


@pytest.mark.parametrize("swapped", [False, True])
def test_ids_of_two_kinds_are_an_error_that_names_both(swapped: bool) -> None:
    tables: list[Any] = [["1", "2"], ["2", "1"], [1, 2]]
    text = "party-2's ids are whole numbers and the active party's are text"
    if swapped:
        tables = [[1, 2], [1, 2], ["1", "2"]]
        text = "party-2's ids are text and the active party's are whole numbers"
    with pytest.raises(DataError, match=text):
        aligned(tables)


def test_a_party_without_ids_says_so() -> None:
    active = Seeker(numbers(3), 2)
    party = Holder(numbers(3), 1, 2)
    party.ids = None
    with pytest.raises(PartyError, match=r"party-1 .*not told which column"):
        carry("local", active, [Endpoint(party)])


# What travels ------------------------------------------------------------------------------------


def points_sent(taps: Sequence[Tap]) -> list[bytes]:
    """Return every point that any party sent or received, and every half."""
    arrays = [array for tap in taps for _, each in tap.requests() for array in each]
    arrays += [array for tap in taps for array in tap.replies()]
    return [row.tobytes() for a in arrays if a.dtype == np.uint8 for row in a]


@on_both_carriers
def test_nothing_on_the_wire_is_an_id_or_its_hash_or_repeats(carrier: str) -> None:
    names = [f"person {i} of many" for i in range(30)]
    tables = [normalised(names[:20]), normalised(names[10:])]
    runs = [points_sent(run(tables, carrier)[2]) for _ in range(2)]
    assert len(runs[0]) == len(set(runs[0])) == 20 + 20 + 20
    assert not set(runs[0]) & set(runs[1])

    domain = (DOMAIN + "text").encode()
    plain = [name.encode() for name in names]
    hashed = hash_to_field(plain, domain)
    known = [h(p).digest() for p in plain for h in (sha256, sha512)]
    known += [row.tobytes() for array in (hashed, mapped(hashed)) for row in array]
    wire = b"".join(runs[0])
    assert all(secret[:8] not in wire for secret in [*plain, *known])


def test_points_travel_in_an_order_of_their_own() -> None:
    """Runs of one table agree in the common ones' order by chance."""
    orders = []
    for _ in range(2):
        _, _, taps = run([numbers(40), numbers(40)])
        (positions,) = [a[0] for phase, a in taps[0].requests() if phase == "common_ids"]
        orders.append(positions.tolist())
    assert sorted(orders[0]) == sorted(orders[1]) == list(range(40))
    assert orders[0] != orders[1]


@on_both_carriers
def test_exchanges_and_bytes_are_what_the_header_says(carrier: str) -> None:
    tables = [numbers(20), numbers(30, start=10), numbers(6, start=12)]
    with small_messages():
        active, rows, taps = run(tables, carrier)
    assert len(rows[0]) == 6
    assert active.told == [(7, 30), (14, 30), (21, 30), (28, 30), (30, 30)]
    phases = [phase for phase, _ in taps[0].requests() if not phase.startswith("check")]
    assert phases == ["announce_ids", *["blind_ids"] * 5, "common_ids", "common_ids", "aligned"]
    for tap, size in zip(taps, (30, 6), strict=True):
        arrays = [array for _, each in tap.requests() for array in each] + tap.replies()
        points = sum(array.nbytes for array in arrays if array.dtype == np.uint8)
        assert points == 48 * 20 + 32 * size
        positions = sum(array.nbytes for array in arrays if array.dtype == np.int32)
        assert positions == 4 * 6


def test_a_passive_party_is_told_nothing_of_pairwise_intersections() -> None:
    """Its requests stay the same in kind and number."""
    asked = []
    for other in (["a", "b", "c"], ["a", "x", "y"]):
        taps = run([normalised(["a", "b", "c"]), normalised(["a", "b", "z"]), normalised(other)])[2]
        asked.append([(p, [a.shape for a in each]) for p, each in taps[0].requests()])
    assert asked[0] != []
    shared = [[each for each in one if each[0] != "common_ids"] for one in asked]
    assert shared[0] == shared[1]
    assert [shapes for phase, shapes in asked[1] if phase == "common_ids"] == [[(1,)]]


# Memory ------------------------------------------------------------------------------------------


def test_a_repeated_request_is_answered_alike_and_once() -> None:
    """A lost connection costs nothing: the same bytes come back."""
    party = Holder(numbers(9), 1, 2)
    send(party, 1, "announce_ids", ANNOUNCED)
    first, _ = send(party, 2, "blind_ids", np.asarray(0), POINTS)
    second, metrics = send(party, 2, "blind_ids", np.asarray(0), POINTS)
    assert not metrics
    assert [a.tobytes() for a in first] == [b.tobytes() for b in second]


def test_the_secret_is_fresh_in_no_checkpoint_and_forgotten() -> None:
    party = Holder(numbers(9), 1, 2)
    secrets = set()
    for exchange in (1, 2):
        send(party, exchange, "announce_ids", ANNOUNCED)
        secrets.add(party.aligner.state_dict()["secret"])
    assert len(secrets) == 2
    assert all(len(secret) == 32 for secret in secrets)
    assert "aligner" not in party.durable()
    assert "aligner" in party.memory()
    for exchange, phase, array in ((3, "blind_ids", None), (4, "aligned", np.asarray(0))):
        arrays = [np.asarray(0), POINTS] if array is None else [array]
        assert not send(party, exchange, phase, *arrays)[1]
    assert party.aligner.state_dict()["secret"] == b""


def test_ids_are_each_there_once_in_an_order_by_the_secret() -> None:
    ids: Ids = numbers(100)
    one, again, other = (blinded.Blinded(ids, bytes([b]) * 32) for b in (1, 1, 2))
    assert sorted(one.order) == list(range(100))
    assert one.order.tolist() == again.order.tolist() != other.order.tolist()
