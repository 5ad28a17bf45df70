"""Passive side of any protocol: a `NumPyClient` with phases as methods."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, ClassVar

from flwr.client import NumPyClient
from flwr.common import NDArrays, Scalar

from vfl_flower.common.codec import Array, identical, to_array, to_tensor
from vfl_flower.common.errors import ProtocolError, VflError
from vfl_flower.common.state import State, restore
from vfl_flower.config.policy.record import OPEN, Policy
from vfl_flower.config.policy.rules import check
from vfl_flower.config.run_config import RunConfig
from vfl_flower.crypto.identity import Identity
from vfl_flower.learning.device import threads, use_threads
from vfl_flower.learning.wire_precision import narrowed, widened
from vfl_flower.protocol.automaton.machine import Automaton
from vfl_flower.protocol.automaton.plan import Plan
from vfl_flower.protocol.automaton.scope import LabelFormat
from vfl_flower.protocol.components import (
    Component,
    Kind,
    Phase,
    PhaseMethod,
    Received,
    phases_of,
    report,
)
from vfl_flower.protocol.messages import COUNTS, FACTS, checked, read_request
from vfl_flower.protocol.profiling import SILENT, Lane

_Reply = tuple[NDArrays, int, dict[str, Scalar]]

_NO_REQUEST = Received(0, "", [])


class ProtocolClient(NumPyClient):
    """Dispatches each request to its phase, and refuses undeclared ones.

    Attributes
    ----------
    cfg : RunConfig
        The run's configuration.
    rank : int
        1 to K.
    folder : Path or None
        Where it writes.
    identity : Identity or None
        Its long-term key and those that it pins.
    policy : Policy
        Of its owner; no party stands in a run that breaks it.
    received : Received
        The request in hand.
    phases : dict of str to callable
        Its own phases and its components', by name.
    automaton : Automaton
        Admits requests, whose rows are those of `plan`.
    profile : Lane
        Where its time is noted, if all parties are in one process.
    """

    cfg: RunConfig
    folder: Path | None
    identity: Identity | None = None
    policy: Policy = OPEN
    plan: Plan | None = None
    profile: Lane = SILENT

    components: ClassVar[tuple[type[Component], ...]] = ()
    sealed: ClassVar[tuple[str, ...]] = ("fit", "get_properties")
    """Methods that decide what leaves a party; no subclass may override them."""

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        for base in cls.__mro__[1:]:
            for name in vars(base).get("sealed", ()):
                if getattr(cls, name) is not getattr(base, name):
                    raise ProtocolError(
                        f"{cls.__name__} overrides '{name}' of {base.__name__}, which decides what "
                        "leaves a party"
                    )

    def __init__(self) -> None:
        pinned = self.identity.fingerprints() if self.identity else ()
        check(self.policy, self.cfg, self.rank, pinned)
        self.exchange, self.automaton = 0, Automaton(self)
        self.received = _NO_REQUEST
        self._answered: tuple[dict[str, Scalar], NDArrays, NDArrays] = ({}, [], [])
        self.phases: dict[str, PhaseMethod] = phases_of(self)
        self._components: dict[str, Component] = {}
        for kind in self.composition():
            self._take_in(kind)
        parts = self._components.values()
        self._listeners = [each for each in parts if type(each).note is not Component.note]

    def _take_in(self, kind: type[Component]) -> None:
        """Build a component, and add its phases to the party's."""
        if hasattr(self, kind.name):
            raise ProtocolError(
                f"{type(self).__name__} has a '{kind.name}' already, and no component may take "
                "its place"
            )
        component = kind(self)
        added = phases_of(component)
        if twice := sorted(added.keys() & self.phases.keys()):
            raise ProtocolError(
                f"phases of {kind.__name__} are {type(self).__name__}'s already: {', '.join(twice)}"
            )
        self._components[kind.name] = component
        setattr(self, kind.name, component)
        self.phases |= added

    def composition(self) -> Sequence[type[Component]]:
        """Return the kinds of component that this party has."""
        return self.components

    @property
    @abstractmethod
    def rank(self) -> int:
        """Rank of the party, 1 to K."""

    def declared(self, name: str) -> Phase | None:
        """Return a phase's declaration, or None for an unknown phase."""
        return getattr(self.phases.get(name), "phase", None)

    @property
    def declarations(self) -> dict[str, Phase]:
        """Return the declarations of all phases, by name."""
        return {name: each.phase for name, each in self.phases.items()}  # type: ignore[attr-defined]

    def sizes(self) -> Mapping[str, int]:
        """Return the lengths that the run sets, by the symbols of declarations."""
        return {"K": self.cfg.parties - 1}

    def label_format(self) -> LabelFormat:
        """Return the wire format of training labels."""
        raise ProtocolError(f"{type(self).__name__} learns from no labels")

    @abstractmethod
    def facts(self) -> dict[str, Scalar]:
        """Return facts that must be equal at all parties."""

    # Hooks of trained parties ----------------------------------------------------------------

    def check_in(self) -> None:
        """Refuse a run that this party could not finish."""

    def metrics(self) -> Mapping[str, Scalar]:
        """Return the counts of uploads sent with each reply, and nothing else."""
        return {}

    def mode(self, declared: Phase) -> AbstractContextManager[object]:
        """Enter the mode that a phase declares."""
        return nullcontext()

    def released(self, kind: Kind, value: Any, declared: Phase) -> Sequence[Array]:  # noqa: ANN401
        """Return the arrays to send for one value.

        Without columns, these are control traffic only.
        """
        if kind != "control":
            raise ProtocolError(
                f"{type(self).__name__} has no columns, and phase '{self.received.phase}' would "
                f"send {kind}; nothing was sent"
            )
        return [to_array(value)]

    def failure(self, error: Exception) -> dict[str, Scalar]:
        """Describe an error for the active party."""
        return report(error, self.rank)

    # Flower's side ---------------------------------------------------------------------------

    def get_properties(self, config: dict[str, Scalar]) -> dict[str, Scalar]:
        """Answer the roll call; a party that cannot take part says why."""
        try:
            self.check_in()
            facts = {**self.facts(), "policy": self.policy.name, "rules": self.policy.digest}
            return {"rank": self.rank, **checked(facts, FACTS, "facts")}
        except VflError as error:
            return {"rank": self.rank, **report(error, self.rank)}

    def fit(self, parameters: NDArrays, config: dict[str, Scalar]) -> _Reply:
        """Answer one exchange; a failure is an answer too.

        Only our own errors' texts leave the party. What anything else says may quote its data, so
        it stays in the party's own log.
        """
        try:
            reply = self._answer(parameters, config)
            return reply, 1, checked(self.metrics(), COUNTS, "metrics")
        except Exception as error:
            return [], 0, {**self.failure(error), "phase": self.received.phase}

    # Dispatch --------------------------------------------------------------------------------

    def _answer(self, parameters: NDArrays, config: dict[str, Scalar]) -> NDArrays:
        """Run the phases of one request; return the last result."""
        self.received = _NO_REQUEST
        exchange, phases, counts = read_request(config)
        if sum(counts) != len(parameters) or len(counts) != len(phases):
            raise ProtocolError("a request's arrays do not fit its phases")
        if self._repeats(config, parameters):
            return self._answered[2]
        if exchange <= self.exchange:
            raise ProtocolError(f"exchange {exchange} comes after exchange {self.exchange}")
        self.exchange = exchange  # used up, whatever happens next
        use_threads(self.cfg.threads)
        read = [widened(array, self.cfg.wire_precision) for array in parameters]
        reply, taken = NDArrays(), 0
        for name, count in zip(phases, counts, strict=True):
            arrays = read[taken : taken + count]
            taken += count
            with self.profile.during(name):
                reply = self._run(Received(exchange, name, arrays))
        self._answered = config, parameters, reply
        return reply

    def _repeats(self, config: dict[str, Scalar], parameters: NDArrays) -> bool:
        """Tell whether this request repeats the last one."""
        earlier_config, earlier, _ = self._answered
        return config == earlier_config and all(map(identical, parameters, earlier))

    def _run(self, received: Received) -> NDArrays:
        """Run one phase in the mode that it declares."""
        declared = self.declared(received.phase)
        if declared is None:
            known = ", ".join(sorted(self.phases))
            raise ProtocolError(
                f"{type(self).__name__} has no phase '{received.phase}', only {known}"
            )
        self.received = received
        with threads(self.cfg.threads_in(declared.training)), self.mode(declared):
            self.automaton.check(
                received.phase, declared, received.arrays, lambda: self.declarations
            )
            self.automaton.count(received.phase, declared, received.arrays)
            taken = map(to_tensor, self.taken(declared, received.arrays))
            result = self.phases[received.phase](*taken)
            reply = self._reply(declared, self.answered(declared, result))
        self.automaton.done(received.phase, declared)
        for each in self._listeners:
            each.note(received)
        return reply

    def taken(self, declared: Phase, arrays: Sequence[Array]) -> Sequence[Array]:
        """Return checked arrays as their phase takes them."""
        return arrays

    def answered(self, declared: Phase, result: Any) -> Any:  # noqa: ANN401
        """Return a phase's result as the request asks for it."""
        return result

    def _reply(self, declared: Phase, result: object) -> NDArrays:
        """Release a phase's result, if it is as declared."""
        values = () if result is None else result if isinstance(result, tuple) else (result,)
        if values and len(values) != len(declared.sends):
            raise ProtocolError(
                f"phase '{self.received.phase}' of {type(self).__name__} returns {len(values)} "
                f"values and declares {', '.join(declared.sends) or 'none'}; nothing was sent"
            )
        self.automaton.check_answer(self.received.phase, declared, values)
        pairs = zip(declared.sends, values, strict=False)
        arrays = [a for kind, value in pairs for a in self.released(kind, value, declared)]
        return [narrowed(array, self.cfg.wire_precision) for array in arrays]

    def durable(self) -> State:
        """Return a checkpoint's content: nothing."""
        return {}

    def recall(self, state: State) -> None:
        """Take a state back, attribute by attribute."""
        restore(self, state)

    def memory(self) -> State:
        """Return the memory needed to answer the next message."""
        components = {name: part.state_dict() for name, part in self._components.items()}
        own = {"exchange": self.exchange, "automaton": self.automaton.state_dict()}
        return {**own, **self.durable(), **components}

    def renew_components(self) -> None:
        """Reset components that no checkpoint holds to their initial state."""
        for each in self._components.values():
            if not each.kept:
                each.load_state_dict(type(each)(self).state_dict())
