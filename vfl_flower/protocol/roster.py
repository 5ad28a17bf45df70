"""The roster of passive parties, found by a roll call."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Thread

from flwr.common import GetPropertiesIns, Scalar
from flwr.server.client_manager import ClientManager
from flwr.server.client_proxy import ClientProxy

from vfl_flower.common.errors import (
    Interrupted,
    PartyAway,
    RosterError,
    last_line,
    printable,
    tellable,
)
from vfl_flower.common.names import party_name

_Properties = Mapping[str, Scalar]

POLL = 0.2  # seconds between looks at who is connected
REGISTERING = 1.0  # seconds that a simulation may take to register its nodes, after the first


@dataclass(frozen=True)
class Roster:
    """The passive parties in the order of their declared indices.

    The order of arrival does not count.

    Attributes
    ----------
    proxies : mapping of int to ClientProxy
        One for each party that is there, by rank.
    policies : dict of str to dict
        Name and digest of the policy that each party says it keeps to, by the party's name.
    """

    proxies: Mapping[int, ClientProxy]
    policies: dict[str, dict[str, str]] = field(default_factory=dict)

    def __iter__(self) -> Iterator[tuple[int, str, ClientProxy]]:
        return ((rank, party_name(rank), proxy) for rank, proxy in self.proxies.items())


def _never() -> bool:
    return False


def roll_call(
    manager: ClientManager,
    size: int,
    facts: _Properties,
    timeout: float,
    stopped: Callable[[], bool] = _never,
    left: Collection[int] = (),
) -> Roster:
    """Find the passive parties and check their agreement with the active one.

    Parameters
    ----------
    manager : ClientManager
        Knows who is connected.
    size : int
        How many passive parties the run has.
    facts : mapping of str to scalar
        What every party must hold equal: rows, embedding width, protocol version, code digest.
    timeout : float
        Seconds to wait for all to connect, and then as long again for their answers.
    stopped : callable
        Tells whether the run was stopped meanwhile.
    left : collection of int
        Ranks of parties that have left; nobody waits for them, or hears them.

    Returns
    -------
    Roster

    Raises
    ------
    RosterError
        If a party is missing, two claim one rank, or one disagrees about a fact.
    PartyAway
        If one left while it was asked.
    Interrupted
        If the run was stopped while it waited.
    """
    found: dict[int, ClientProxy] = {}
    policies: dict[int, dict[str, str]] = {}
    for proxy, properties in _answers(manager, size - len(left), timeout, stopped, left):
        rank = _rank(properties)
        if "error" in properties and (rank is None or rank <= size):
            raise RosterError(f"{_who(rank)}: {printable(properties.get('message'))}")
        if rank is None or not 1 <= rank <= size:
            raise RosterError(
                f"{_who(rank)} is here, but the run has {size} passive parties; raise parties, "
                f"or start with num-supernodes={size} and partition-id 0 to {size - 1}"
            )
        if rank in found:
            raise RosterError(
                f"two parties say that they are {_who(rank)}; give each its own partition-id"
            )
        _check_texts(_who(rank), properties)
        _check(_who(rank), properties, facts)
        found[rank], policies[rank] = proxy, _policy(_who(rank), properties)
    _check_all_there({*range(1, size + 1)} - {*found, *left}, size, timeout)
    return _in_order(found, policies)


def _answers(
    manager: ClientManager,
    parties: int,
    timeout: float,
    stopped: Callable[[], bool],
    left: Collection[int],
) -> list[tuple[ClientProxy, _Properties]]:
    """Wait for so many parties beside those that have left; ask all."""
    deadline, gone = time.monotonic() + timeout, set[str]()
    while True:
        while len(manager.all().keys() - gone) < parties and time.monotonic() < deadline:
            _check_stop(stopped)
            time.sleep(POLL)
        there = [proxy for cid, proxy in manager.all().items() if cid not in gone]
        answers = _ask_all(there, timeout, stopped)
        heard = {proxy.cid for proxy, properties in answers if _rank(properties) in left}
        if not heard or time.monotonic() > deadline:
            return [each for each in answers if each[0].cid not in heard]
        gone |= heard  # one of them may have stood for another party, who is on its way


def _check_all_there(missing: set[int], size: int, timeout: float) -> None:
    if missing:
        names = ", ".join(map(party_name, sorted(missing)))
        raise RosterError(
            f"missing after {timeout:g} s: {names}; start them, or raise "
            f"party-timeout (in a simulation all run at once: {simulation_of(size)})",
            missing,
        )


def _check_stop(stopped: Callable[[], bool]) -> None:
    if stopped():
        raise Interrupted("stopped while waiting for the parties; checkpoints, if any, stay")


def simulation_of(size: int) -> str:
    """Return the federation options of so many passive parties."""
    return (
        f'--federation-config "num-supernodes={size} client-resources-num-cpus=1 '
        f'init-args-num-cpus={size}"'
    )


def check_simulated(nodes: Callable[[], int], size: int, timeout: float) -> None:
    """Refuse a simulation with fewer nodes than passive parties, at once.

    Parameters
    ----------
    nodes : callable
        Returns the number of nodes; Flower registers all of them when the simulation starts.
    size : int
        How many passive parties the run has.
    timeout : float
        Seconds to wait for the first node.

    Raises
    ------
    RosterError
        Says how to start the simulation.
    """
    deadline = time.monotonic() + timeout
    while not nodes() and time.monotonic() < deadline:
        time.sleep(POLL)
    deadline = min(deadline, time.monotonic() + REGISTERING)
    while (there := nodes()) < size:
        if time.monotonic() >= deadline:
            lacking = ", ".join(map(party_name, range(there + 1, size + 1)))
            raise RosterError(
                f"this simulation has {there} SuperNodes, and none for {lacking}; start it with "
                f"flwr run . --stream {simulation_of(size)}"
            )
        time.sleep(POLL)


def _in_order(found: dict[int, ClientProxy], policies: dict[int, dict[str, str]]) -> Roster:
    named = {party_name(rank): policies[rank] for rank in sorted(found)}
    return Roster({rank: found[rank] for rank in sorted(found)}, named)


def _rank(properties: _Properties) -> int | None:
    rank = properties.get("rank")
    return rank if type(rank) is int else None


def _who(rank: int | None) -> str:
    return "a party without a rank" if rank is None else f"party-{rank}"


def _check_texts(who: str, properties: _Properties) -> None:
    """Refuse texts that are long or unprintable: they reach screens and files."""
    if any(not tellable(name) or not tellable(value) for name, value in properties.items()):
        raise RosterError(f"{who} tells a fact that is too long, or not printable")


def _ask_all(
    proxies: list[ClientProxy], timeout: float, stopped: Callable[[], bool]
) -> list[tuple[ClientProxy, _Properties]]:
    """Ask all connected clients for their properties at once.

    Late answers are not used.
    """
    arrived: SimpleQueue[tuple[ClientProxy, _Properties | PartyAway]] = SimpleQueue()

    def call(proxy: ClientProxy) -> None:
        try:
            answer: _Properties = proxy.get_properties(GetPropertiesIns({}), None, None).properties
        except PartyAway as away:
            arrived.put((proxy, away))
            return
        except Exception as error:
            answer = {"error": type(error).__name__, "message": last_line(error)}
        arrived.put((proxy, answer))

    for proxy in proxies:  # daemons, so that one that hangs does not keep the process alive
        Thread(target=call, args=(proxy,), daemon=True).start()
    answers: list[tuple[ClientProxy, _Properties]] = []
    deadline = time.monotonic() + timeout
    while len(answers) < len(proxies) and (left := deadline - time.monotonic()) > 0:
        try:
            proxy, answered = arrived.get(timeout=min(left, POLL))
        except Empty:
            _check_stop(stopped)
            continue
        if isinstance(answered, PartyAway):  # a transport that can wait for it will call again
            raise answered
        answers.append((proxy, answered))
    return answers


def _policy(who: str, properties: _Properties) -> dict[str, str]:
    """Return the policy that a party names; every party may have another."""
    name, digest = (properties.get(key) for key in ("policy", "rules"))
    if not isinstance(name, str) or not isinstance(digest, str):
        raise RosterError(f"{who} does not say which policy it keeps to")
    return {"name": name, "digest": digest}


NO_MODEL = "none"
"""Fact `model` of a party that joins the others' model, and has no part of it yet."""

_KEPT = {"align": "an alignment", "split": "a split"}
"""What a party keeps of the protocols that come before training, by their fact `task`."""


def _check(who: str, properties: _Properties, facts: _Properties) -> None:
    for name, value in facts.items():
        theirs = properties.get(name)
        if name == "folder" or theirs == value:
            continue
        if name == "model" and theirs == NO_MODEL:
            continue
        if name == "task":
            raise RosterError(
                f"{who} has {_KEPT[str(value)]} under this run-name already, and the active party "
                "has none; choose another run-name"
            )
        if properties.get("task") == "split" and "task" not in facts:
            raise RosterError(
                f"{who} has no split of this run, and the active party has one; start a new run"
            )
        where = ""
        if name == "code":
            where = f" (in {facts.get('folder')!s} here, in {properties.get('folder')!s} there)"
        raise RosterError(
            f"{who} has {name} = {theirs!s}, the active party {value!s}{where}; "
            "give all parties the same"
        )
