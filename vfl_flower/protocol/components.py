"""Components of a passive party and their phases."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar, overload

import numpy as np
from flwr.common import NDArrays, Scalar
from torch import Tensor

from vfl_flower.common.codec import Array
from vfl_flower.common.errors import VflError
from vfl_flower.common.names import party_log
from vfl_flower.common.state import State
from vfl_flower.config.policy.record import Policy
from vfl_flower.config.run_config import RunConfig
from vfl_flower.crypto.identity import Identity
from vfl_flower.protocol.automaton.declaration import UPLOADS as UPLOADS
from vfl_flower.protocol.automaton.declaration import Kind as Kind
from vfl_flower.protocol.automaton.declaration import Phase as Phase
from vfl_flower.protocol.automaton.declaration import check_declared
from vfl_flower.protocol.automaton.rules import Declared, Numbers
from vfl_flower.protocol.profiling import Lane

Answer = Tensor | tuple[Tensor | Array, ...] | None
PhaseMethod = Callable[..., Any]
M = TypeVar("M", bound=PhaseMethod)

_NO_ROWS = np.empty(0, np.int32)


@overload
def phase(method: M) -> M: ...
@overload
def phase(
    *,
    training: bool = True,
    after: str | tuple[str, ...] = (),
    takes: Declared | tuple[Declared, ...] = (),
    gives: Numbers | tuple[Numbers, ...] = (),
    sends: Kind | tuple[Kind, ...] = (),
    most: int | str | None = None,
    between_steps: bool = False,
    masked: bool = True,
    derived: bool = False,
    repeatable: bool = False,
    optional: bool = False,
    every_row: bool = False,
) -> Callable[[M], M]: ...
def phase(
    method: M | None = None,
    *,
    training: bool = True,
    after: str | tuple[str, ...] = (),
    takes: Declared | tuple[Declared, ...] = (),
    gives: Numbers | tuple[Numbers, ...] = (),
    sends: Kind | tuple[Kind, ...] = (),
    most: int | str | None = None,
    between_steps: bool = False,
    masked: bool = True,
    derived: bool = False,
    repeatable: bool = False,
    optional: bool = False,
    every_row: bool = False,
) -> M | Callable[[M], M]:
    """Mark a method as the answer to the phase of its name.

    Parameters
    ----------
    training : bool
        Whether the network is in training mode; otherwise it is in evaluation mode and no
        gradients are kept.
    after : str, or tuple of them
        The phases of which one must have come right before, of training or not as this one; empty
        allows any. One that takes the rows of a step comes only after a whole step.
    takes : Declared, or tuple of them
        Each array of the request, in the words of `vfl_flower.protocol.automaton.arrays`. Any other
        array is refused before the method runs.
    gives : Numbers, or tuple of them
        Each value that the method returns, before noise, compression and masks.
    sends : Kind, or tuple of them
        The kind of each of these values. A method that returns anything else is an error, and
        nothing leaves; so by default nothing does.
    most : int or str
        How often it may be asked between two returns to a checkpoint, or the path to the party's
        attribute that says so, such as ``options.local_epochs``; None sets no limit of its own.
    between_steps : bool
        Whether a step in hand must be whole first, as for whatever changes weights otherwise.
    masked : bool
        Whether its uploads are summed, and so can travel under pairwise masks.
    derived : bool
        Whether what it sends is made of received arrays alone, of weights that learnt from nothing
        else, or of uploads as they left: their noise covers it, and it gets none of its own.
    repeatable : bool
        Whether the same request, made once more right away, is answered with the same noise.
    optional : bool
        Whether a step can be whole without it, although it comes after another phase.
    every_row : bool
        Whether it is given rows that the party lacks, too, and answers for them.
    """
    taken = (takes,) if isinstance(takes, Declared) else takes
    given = (gives,) if isinstance(gives, Declared) else gives
    names = [(each,) if isinstance(each, str) else each for each in (after, sends)]

    def mark(method: M) -> M:
        declared = Phase(
            training=training,
            after=names[0],
            sends=names[1],  # type: ignore[arg-type]  # one of a tuple, or a tuple
            masked=masked,
            derived=derived,
            repeatable=repeatable,
            optional=optional,
            every_row=every_row,
            takes=taken,
            gives=given,
            most=most,
            between_steps=between_steps,
        )
        check_declared(method, declared)
        method.phase = declared  # type: ignore[attr-defined]
        return method

    return mark(method) if method else mark


def declared_by(owner: object) -> dict[str, Phase]:
    """Return the declarations of a party's or component's own phases, by name.

    Parameters
    ----------
    owner : object
        A party or component, or the class of one.
    """
    methods = {name: getattr(owner, name) for name in dir(owner) if not name.startswith("__")}
    return {name: each.phase for name, each in methods.items() if hasattr(each, "phase")}


@dataclass(frozen=True)
class Received:
    """The request that a phase is answering."""

    exchange: int
    phase: str
    arrays: NDArrays

    @property
    def rows(self) -> Array:
        """Row numbers that it begins with, (B,) int32, unchecked; or none."""
        named = self.arrays[0] if self.arrays else _NO_ROWS
        fits = named.dtype == np.int32 and named.ndim == 1 and bool((named >= 0).all())
        return named if fits else _NO_ROWS

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of the phase's arrays, to compare requests between parties.

        Two parties have the same digest only if they were asked alike.
        """
        digest = sha256()
        for array in self.arrays:
            digest.update(f"{array.dtype.str}{array.shape}".encode())
            digest.update(array.tobytes())
        return digest.digest()


class Owner(Protocol):
    """Interface of a passive party that all of its components see.

    Attributes
    ----------
    cfg : RunConfig
        The run's configuration.
    folder : Path or None
        Where the party writes.
    identity : Identity or None
        Its long-term key and those that it pins.
    policy : Policy
        Of its owner.
    """

    cfg: RunConfig
    folder: Path | None
    identity: Identity | None
    policy: Policy

    @property
    def rank(self) -> int:
        """1 to K."""


class Answerer(Owner, Protocol):
    """Interface of a passive party for components that look at requests.

    Attributes
    ----------
    received : Received
        The request in hand.
    profile : Lane
        Where its time is noted.
    """

    received: Received
    profile: Lane


class Component:
    """Phases with a memory of their own, taken in by passive parties.

    The memory lives between messages only; checkpoints hold it of those that are `kept`, and the
    count that `ClientPrivacy` compares its own with. A component whose owner must be more than an
    `Owner` says so by annotating `party`.
    """

    name: ClassVar[str]
    kept: ClassVar[bool] = False
    """Whether checkpoints hold its memory, which then has no keys."""

    def __init__(self, party: Owner) -> None:
        self.party = party

    def note(self, received: Received) -> None:
        """Hear of a request that the party has answered."""

    def state_dict(self) -> State:
        """Return the memory that must survive until the next message."""
        return {}

    def load_state_dict(self, state: State) -> None:
        """Restore the state of `state_dict`."""


def phases_of(owner: object) -> dict[str, PhaseMethod]:
    """Collect the bound phase methods of a party or component."""
    names = [n for n in dir(type(owner)) if hasattr(getattr(type(owner), n), "phase")]
    return {name: getattr(owner, name) for name in names}


def report(error: Exception, rank: int) -> dict[str, Scalar]:
    """Describe an error for the active party; see `ProtocolClient.fit`."""
    log, kind = party_log(rank), type(error).__name__
    if isinstance(error, VflError):
        log.error("%s: %s", kind, error.in_full())
        return {"error": kind, "message": str(error)}
    log.error("%s", kind, exc_info=error)
    return {"error": kind, "message": "see this party's own log for what it says"}
