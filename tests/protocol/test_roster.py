"""The roll call: missing, duplicate and disagreeing parties, and its errors."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import NoReturn

import pytest
from flwr.app import RecordDict
from flwr.client import Client
from flwr.common import Code, GetPropertiesIns, GetPropertiesRes, Scalar, Status
from flwr.server import SimpleClientManager

from vfl_flower.common.errors import DataError, RosterError
from vfl_flower.protocol.roster import Roster, check_simulated, roll_call
from vfl_flower.transport.endpoint import RebuiltEndpoint
from vfl_flower.transport.local import LocalProxy

FACTS: dict[str, Scalar] = {
    "rows": 100,
    "embedding_dim": 8,
    "protocol_version": 1,
    "code": "0123456789abcdef",
    "folder": "/active/folder",
}


class Fake(Client):
    """Answers the roll call with given properties, or with `answer`."""

    def __init__(self, answer: Mapping[str, Scalar] | Callable[[], Mapping[str, Scalar]]) -> None:
        self.answer = answer

    def get_properties(self, ins: GetPropertiesIns) -> GetPropertiesRes:
        answer = self.answer() if callable(self.answer) else self.answer
        return GetPropertiesRes(Status(Code.OK, ""), dict(answer))


def properties(rank: int, **changes: Scalar) -> dict[str, Scalar]:
    own = {"folder": "/party/folder", "policy": "bank", "rules": "0123"}
    return {"rank": rank, **FACTS, **own, **changes}


def manager_of(*clients: Client) -> SimpleClientManager:
    manager = SimpleClientManager()
    for number, client in enumerate(clients):
        manager.register(LocalProxy(f"node-{number}", client))
    return manager


def call(*clients: Client, size: int = 3, timeout: float = 0.5) -> Roster:
    return roll_call(manager_of(*clients), size, FACTS, timeout)


def error_of(*clients: Client, size: int = 3, timeout: float = 0.5) -> str:
    with pytest.raises(RosterError) as caught:
        call(*clients, size=size, timeout=timeout)
    text = str(caught.value)
    assert len(text.splitlines()) == 1
    return text


def test_order_is_the_declared_rank() -> None:
    roster = call(*(Fake(properties(k)) for k in (3, 1, 2)))
    cids = [(k, name, proxy.cid) for k, name, proxy in roster]
    assert cids == [(1, "party-1", "node-1"), (2, "party-2", "node-2"), (3, "party-3", "node-0")]


def test_policies_are_listed_by_party_and_not_compared() -> None:
    roster = call(*(Fake(properties(k, policy=f"owner-{k}", rules=f"{k}")) for k in (3, 1, 2)))
    assert list(roster.policies) == ["party-1", "party-2", "party-3"]
    assert roster.policies["party-2"] == {"name": "owner-2", "digest": "2"}


@pytest.mark.parametrize("policy", ["x" * 2000, "bank\n", "\x1b[2Jbank", 3])
def test_a_policy_that_cannot_be_shown_is_refused(policy: Scalar) -> None:
    text = error_of(Fake(properties(1, policy=policy)), size=1)
    assert text.startswith("party-1 ")
    assert text.isprintable()


@pytest.mark.slow
def test_missing_parties_are_named_with_the_hint() -> None:
    started = time.monotonic()
    text = error_of(Fake(properties(2)))
    assert 0.4 < time.monotonic() - started < 25
    assert "party-1, party-3" in text
    assert "party-2" not in text
    assert "num-supernodes=3" in text
    assert "0.5 s" in text


def test_nobody_at_all() -> None:
    text = error_of(timeout=0.3)
    assert "party-1, party-2, party-3" in text


@pytest.mark.slow
def test_slow_but_present_party_is_not_called_missing() -> None:
    """Waiting for one party leaves the others their time to answer."""

    def slowly(rank: int) -> Callable[[], dict[str, Scalar]]:
        def answer() -> dict[str, Scalar]:
            time.sleep(0.5)
            return properties(rank)

        return answer

    text = error_of(Fake(slowly(1)), Fake(slowly(2)), timeout=1.0)
    assert "party-3" in text
    assert "party-1" not in text


def test_party_that_comes_late_but_in_time() -> None:
    manager = manager_of(Fake(properties(1)))
    late = threading.Timer(0.3, manager.register, [LocalProxy("late", Fake(properties(2)))])
    late.start()
    roster = roll_call(manager, 2, FACTS, 10)
    late.join()
    assert [proxy.cid for _, _, proxy in roster] == ["node-0", "late"]


def test_two_claim_one_rank() -> None:
    text = error_of(*(Fake(properties(k)) for k in (1, 2, 2)))
    assert "two parties" in text
    assert "party-2" in text
    assert "partition-id" in text


@pytest.mark.parametrize("rank", [4, 0])
def test_rank_outside_the_roster(rank: int) -> None:
    clients = [Fake(properties(k)) for k in (1, 2, 3, rank)]
    text = error_of(*clients)
    assert f"party-{rank}" in text
    assert "3 passive parties" in text


def test_one_too_many_is_told_so_even_if_it_could_not_be_built() -> None:
    strange = properties(4, error="ConfigError", message="there is no party-4")
    text = error_of(*(Fake(properties(k)) for k in range(1, 4)), Fake(strange))
    assert text.startswith("party-4 is here, but the run has 3 passive parties")


@pytest.mark.parametrize(
    ("fact", "theirs"), [("rows", 99), ("embedding_dim", 16), ("protocol_version", 2)]
)
def test_disagreement_names_party_and_both_values(fact: str, theirs: int) -> None:
    text = error_of(
        *(Fake(properties(k, **({fact: theirs} if k == 2 else {}))) for k in range(1, 4))
    )
    assert text.startswith("party-2 ")
    for part in (fact, str(theirs), str(FACTS[fact])):
        assert part in text


def test_other_code_names_both_folders() -> None:
    text = error_of(
        *(Fake(properties(k, **({"code": "f" * 16} if k > 1 else {}))) for k in range(1, 4))
    )
    for part in ("code", "f" * 16, str(FACTS["code"]), "/active/folder", "/party/folder"):
        assert part in text


def test_other_folder_alone_is_no_disagreement() -> None:
    roster = call(*(Fake(properties(k, folder=f"/copy/{k}")) for k in range(1, 4)))
    assert [rank for rank, *_ in roster] == [1, 2, 3]


@pytest.mark.slow
def test_party_that_hangs_is_missing() -> None:
    """The others are not held up by it, and it is named."""
    release = threading.Event()

    def hang() -> dict[str, Scalar]:
        release.wait(30)
        return properties(2)

    started = time.monotonic()
    try:
        text = error_of(Fake(properties(1)), Fake(properties(2)), Fake(hang), timeout=0.6)
        assert time.monotonic() - started < 25
    finally:
        release.set()
    assert "party-3" in text
    assert "party-1" not in text


def test_party_that_cannot_be_built_says_why() -> None:
    def build() -> NoReturn:
        raise DataError("column 3 holds NaN; clean it")

    broken = RebuiltEndpoint(build, 2, RecordDict())
    text = error_of(Fake(properties(1)), broken, Fake(properties(3)))
    assert text.startswith("party-2")
    assert "column 3 holds NaN; clean it" in text


def test_party_that_breaks_while_built_keeps_its_data_to_itself() -> None:
    """Foreign errors may quote data: the name travels, the text does not."""

    def build() -> NoReturn:
        raise ValueError("could not convert 'secret cell' to float")

    broken = RebuiltEndpoint(build, 2, RecordDict())
    text = error_of(Fake(properties(1)), broken, Fake(properties(3)))
    assert "party-2" in text
    assert "secret cell" not in text


@pytest.mark.parametrize("error", [RuntimeError("connection lost"), RuntimeError(), OSError("\n")])
def test_proxy_that_raises(error: Exception) -> None:
    """A transport's own failure is a RosterError too."""

    def fail() -> NoReturn:
        raise error

    text = error_of(Fake(properties(1)), Fake(fail), Fake(properties(3)))
    assert "party" in text


@pytest.mark.parametrize("answer", [{}, {"rank": "first"}])
def test_stranger_is_refused_in_words(answer: dict[str, Scalar]) -> None:
    """A client of another app answers the roll call without a rank."""
    text = error_of(Fake(properties(1)), Fake(answer), Fake(properties(3)))
    assert "party" in text


@pytest.mark.slow
def test_a_simulation_with_too_few_nodes_is_refused_at_once() -> None:
    counts = iter([0, 1, 2])  # Flower registers them one after the other
    began = time.monotonic()
    with pytest.raises(RosterError, match="has 2 SuperNodes, and none for party-3") as refused:
        check_simulated(lambda: next(counts, 2), 3, 60)
    assert time.monotonic() - began < 10
    assert 'flwr run . --stream --federation-config "num-supernodes=3 ' in str(refused.value)
    assert "init-args-num-cpus=3" in str(refused.value)


def test_a_simulation_with_all_nodes_goes_on() -> None:
    counts = iter([0, 1, 3])
    check_simulated(lambda: next(counts), 3, 60)


def test_a_simulation_without_nodes_is_refused_after_the_timeout() -> None:
    with pytest.raises(RosterError, match="has 0 SuperNodes, and none for party-1, party-2"):
        check_simulated(lambda: 0, 2, 0.1)


@pytest.mark.parametrize("one_comes_later", [False, True])
def test_who_has_left_is_neither_waited_for_nor_heard(one_comes_later: bool) -> None:
    """It is connected, and as many are as are needed."""
    manager = manager_of(Fake(properties(1, rows=99)))
    first, second = (LocalProxy(f"other-{k}", Fake(properties(k))) for k in (2, 3))
    manager.register(first)
    coming = threading.Timer(0.3 * one_comes_later, lambda: manager.register(second))
    coming.start()
    roster = roll_call(manager, 3, FACTS, 10.0, left={1})
    coming.join()
    assert [(rank, proxy.cid) for rank, _, proxy in roster] == [(2, "other-2"), (3, "other-3")]
    assert list(roster.policies) == ["party-2", "party-3"]


@pytest.mark.slow
def test_others_are_missing_beside_who_has_left() -> None:
    manager = manager_of(Fake(properties(1)), Fake(properties(2)))
    with pytest.raises(RosterError, match=r"missing after 0.5 s: party-3;") as caught:
        roll_call(manager, 3, FACTS, 0.5, left={1})
    assert caught.value.missing == {3}
