"""Who takes part: the passive parties of a run in a fixed order, found by a roll call."""

import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from concurrent.futures import TimeoutError as TooLate
from dataclasses import dataclass

from flwr.common import GetPropertiesIns, Scalar
from flwr.server.client_manager import ClientManager
from flwr.server.client_proxy import ClientProxy

from vfl_flower.errors import RosterError
from vfl_flower.names import party_name

POLL = 0.2  # seconds between looks at who is connected


@dataclass(frozen=True)
class Roster:
    """The passive parties in the order of the index that each declared, never of arrival."""

    proxies: tuple[ClientProxy, ...]

    def __len__(self) -> int:
        return len(self.proxies)

    def __iter__(self) -> Iterator[tuple[int, str, ClientProxy]]:
        return ((k, party_name(k), proxy) for k, proxy in enumerate(self.proxies))


def roll_call(
    manager: ClientManager, size: int, facts: Mapping[str, Scalar], timeout: float
) -> Roster:
    """Find the passive parties and check that they agree with the active party.

    Parameters
    ----------
    manager : ClientManager
        Knows who is connected.
    size : int
        How many passive parties the run has.
    facts : mapping of str to scalar
        What every party must hold equal: rows, embedding width, protocol version, code digest.
    timeout : float
        Seconds to wait for all of them.

    Returns
    -------
    Roster

    Raises
    ------
    RosterError
        If a party is missing, two claim one index, or one disagrees about a fact.
    """
    deadline = time.monotonic() + timeout
    while manager.num_available() < size and time.monotonic() < deadline:
        time.sleep(POLL)
    answers = _ask_all(list(manager.all().values()), max(deadline - time.monotonic(), POLL))
    members: dict[int, ClientProxy] = {}
    for proxy, properties in answers:
        if "error" in properties:
            raise RosterError(f"{_who(properties)}: {properties['message']!s}")
        index = int(properties["index"])
        if index in members:
            raise RosterError(
                f"two parties say that they are {party_name(index)}; give each its own partition-id"
            )
        if index >= size:
            raise RosterError(
                f"{party_name(index)} is here, but the run has {size} passive parties; raise "
                f"parties, or start with num-supernodes={size}"
            )
        _check(properties, facts)
        members[index] = proxy
    missing = [party_name(k) for k in range(size) if k not in members]
    if missing:
        raise RosterError(
            f"missing after {timeout:g} s: {', '.join(missing)}; start them, or raise "
            f"party-timeout (in a simulation: num-supernodes={size}, one per passive party)"
        )
    return Roster(tuple(members[k] for k in range(size)))


def _who(properties: Mapping[str, Scalar]) -> str:
    return party_name(int(properties["index"])) if "index" in properties else "a party"


def _ask_all(
    proxies: list[ClientProxy], timeout: float
) -> list[tuple[ClientProxy, Mapping[str, Scalar]]]:
    """Ask everybody connected for its properties at once; who is too late is left out."""
    if not proxies:
        return []
    pool = ThreadPoolExecutor(len(proxies))
    asked = {
        pool.submit(proxy.get_properties, GetPropertiesIns({}), None, None): proxy
        for proxy in proxies
    }
    answers: list[tuple[ClientProxy, Mapping[str, Scalar]]] = []
    try:
        for future in as_completed(asked, timeout):
            answer: Mapping[str, Scalar]
            try:
                answer = future.result().properties
            except Exception as error:
                answer = {"error": type(error).__name__, "message": str(error).splitlines()[-1]}
            answers.append((asked[future], answer))
    except TooLate:
        pass  # the missing are named by the caller
    pool.shutdown(wait=False, cancel_futures=True)
    return answers


def _check(properties: Mapping[str, Scalar], facts: Mapping[str, Scalar]) -> None:
    for name, value in facts.items():
        theirs = properties.get(name)
        if name == "folder" or theirs == value:
            continue
        where = ""
        if name == "code":
            where = f" (in {facts.get('folder')!s} here, in {properties.get('folder')!s} there)"
        raise RosterError(
            f"{_who(properties)} has {name} = {theirs!s}, the active party {value!s}{where}; "
            "give all parties the same"
        )
