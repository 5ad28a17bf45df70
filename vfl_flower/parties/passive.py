"""The passive party: a `NumPyClient` with one method for each phase of its protocol."""

from typing import ClassVar

import torch
from flwr.client import NumPyClient
from flwr.common import NDArrays, Scalar

from vfl_flower.common.codec import Array, to_array, to_tensor
from vfl_flower.common.errors import ProtocolError, VflError
from vfl_flower.common.state import State
from vfl_flower.parties.party import Party
from vfl_flower.parties.persistence.checkpoint_component import CheckpointComponent
from vfl_flower.privacy.client_dp.budget import Noise
from vfl_flower.privacy.client_dp.component import ClientPrivacy
from vfl_flower.protocol.components import Component, Phase, PhaseMethod, Received, report


class PassiveParty(Party, NumPyClient):
    """Dispatches each request to the phase that it names, and refuses what it does not declare.

    Attributes
    ----------
    x, net, descent, randomness
        Its belongings; see `Party`.
    received : Received
        The request in hand.
    privacy : ClientPrivacy
        What all that depends on columns goes through before it is sent.
    """

    components: ClassVar[tuple[type[Component], ...]] = ()
    remembers = (*Party.remembers, "privacy")
    mirrors: ClassVar[bool] = False
    """Whether its decision net is the mirror of its extractor, which makes images of maps."""

    privacy: ClientPrivacy

    def __init__(self, member: Party) -> None:
        super().__init__(**vars(member))
        self.exchange, self.last = 0, ""
        self.received = Received(0, "", [])
        self._answered: tuple[dict[str, Scalar], NDArrays, NDArrays] = ({}, [], [])
        self._phases = _phases_of(self)
        self._components: dict[str, Component] = {}
        for part in self.all_components():
            self._components[part.name] = part(self)
            setattr(self, part.name, self._components[part.name])
            self._phases |= _phases_of(self._components[part.name])
        if self.cfg.task == "predict":  # nothing is learnt, and no checkpoint touched
            kept = _phases_of(self._components["checkpoints"])
            self._phases = {n: p for n, p in self._phases.items() if _predicts(p) and n not in kept}

    @classmethod
    def all_components(cls) -> tuple[type[Component], ...]:
        """Return the parts of this kind of party; all have privacy and a keeper of checkpoints."""
        return (*cls.components, ClientPrivacy, CheckpointComponent)

    @property
    def index(self) -> int:
        """The roster index, from 0."""
        return self.rank - 1

    @property
    def takes(self) -> str:
        """What its decision net takes: an embedding, or a map to make an image of."""
        return "mirror" if self.mirrors else "embedding"

    # Flower's side ---------------------------------------------------------------------------

    def get_properties(self, config: dict[str, Scalar]) -> dict[str, Scalar]:
        """Answer the roll call; a party that cannot take part says why."""
        try:
            if self.cfg.task == "predict":
                self.privacy.afford()
            return {"index": self.index, **self.facts()}
        except VflError as error:
            return {"index": self.index, **report(error, self.index)}

    def fit(
        self, parameters: NDArrays, config: dict[str, Scalar]
    ) -> tuple[NDArrays, int, dict[str, Scalar]]:
        """Answer one exchange; a failure is an answer too.

        Only our own errors' texts leave the party. What anything else says may quote its data, so
        it stays in the party's own log.
        """
        try:
            reply = self._answer(parameters, config)
            return reply, len(self.x), dict(self.privacy.counts())
        except Exception as error:
            return [], 0, {**report(error, self.index), "phase": self.received.phase}

    # Dispatch --------------------------------------------------------------------------------

    def _answer(self, parameters: NDArrays, config: dict[str, Scalar]) -> NDArrays:
        """Run the phases of one request in order; the last one's result is the reply."""
        self.received = Received(0, "", [])
        exchange, phases, counts = _parse(config)
        if sum(counts) != len(parameters) or len(counts) != len(phases):
            raise ProtocolError("a request's arrays do not fit its phases")
        if self._repeats(config, parameters):
            return self._answered[2]
        if exchange <= self.exchange:
            raise ProtocolError(f"exchange {exchange} comes after exchange {self.exchange}")
        self.exchange = exchange  # used up, whatever happens next
        self.use_threads()
        reply: NDArrays = []
        taken = 0
        for name, count in zip(phases, counts, strict=True):
            arrays = parameters[taken : taken + count]
            taken += count
            reply = self._run(Received(exchange, name, arrays))
        self._answered = config, parameters, reply
        return reply

    def _repeats(self, config: dict[str, Scalar], parameters: NDArrays) -> bool:
        """Tell whether this request is the last one once more."""
        earlier_config, earlier, _ = self._answered
        return config == earlier_config and all(map(_identical, parameters, earlier))

    def _run(self, received: Received) -> NDArrays:
        """Run one phase in the mode that it declares."""
        method = self._phases.get(received.phase)
        if method is None:
            raise ProtocolError(
                f"{type(self).__name__} has no phase '{received.phase}', only "
                f"{', '.join(sorted(self._phases))}"
            )
        declared: Phase = method.phase  # type: ignore[attr-defined]
        if declared.after and self.last != declared.after:
            raise ProtocolError(
                f"phase '{received.phase}' must follow '{declared.after}', not "
                f"'{self.last or 'nothing'}'"
            )
        self.received = received
        if self.net.training != declared.training:
            self.net.train(declared.training)
        with torch.set_grad_enabled(declared.training):
            result = method(*map(to_tensor, received.arrays))
        if declared.training:
            self.last = received.phase
        answers = () if result is None else result if isinstance(result, tuple) else (result,)
        if hasattr(self, received.phase):  # a part's phases, such as keys, say nothing of columns
            self.privacy.check(sends=bool(answers))
        return [to_array(answer) for answer in answers]

    # Memory ----------------------------------------------------------------------------------

    def go_back(self, checkpoint: State) -> None:
        """Take up an earlier state; the parts are as new, for no checkpoint holds them."""
        self.recall(checkpoint)
        self.last = ""
        for part in self._components.values():
            part.load_state_dict(type(part)(self).state_dict())

    def checkpointed(self) -> State:
        """Return the content of a checkpoint; from now on uploads are counted on disk."""
        self.privacy.begin()
        return self.durable()

    def upload_noise(self) -> Noise | None:
        """Return the noise of its uploads, and their cost so far."""
        return self.privacy.noise()

    def memory(self) -> State:
        """Return all that this party must have again to answer the next message."""
        components = {name: part.state_dict() for name, part in self._components.items()}
        return {"exchange": self.exchange, "last": self.last, **self.durable(), **components}


def _identical(a: Array, b: Array) -> bool:
    return (a.dtype, a.shape) == (b.dtype, b.shape) and a.tobytes() == b.tobytes()


def _predicts(method: PhaseMethod) -> bool:
    """Tell whether a phase is one of prediction."""
    declared: Phase = method.phase  # type: ignore[attr-defined]
    return not declared.training


def _phases_of(owner: object) -> dict[str, PhaseMethod]:
    """Collect the bound phase methods of a party or part."""
    names = [n for n in dir(type(owner)) if hasattr(getattr(type(owner), n), "phase")]
    return {name: getattr(owner, name) for name in names}


def _parse(config: dict[str, Scalar]) -> tuple[int, list[str], list[int]]:
    """Read a request's config record."""
    exchange, phases, arrays = (config.get(key) for key in ("exchange", "phases", "arrays"))
    if type(exchange) is not int or not 0 < exchange < 2**63:
        raise ProtocolError(f"a request's exchange is {exchange!r}, no counter")
    if not isinstance(phases, str) or not isinstance(arrays, str):
        raise ProtocolError("a request without phases or arrays")
    counts = arrays.split(",")
    if not all(count.isdecimal() and len(count) < 6 for count in counts):
        raise ProtocolError(f"a request's arrays are counted as '{arrays}'")
    return exchange, phases.split(","), [int(count) for count in counts]
