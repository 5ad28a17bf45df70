"""State machine that admits the requests of a run."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from typing import Any

from vfl_flower.common.codec import Array
from vfl_flower.common.errors import ProtocolError
from vfl_flower.common.state import State
from vfl_flower.protocol.automaton.declaration import Phase
from vfl_flower.protocol.automaton.scope import Scope


class Automaton:
    """Admits a phase if order, count and arrays are as declared.

    Parameters
    ----------
    party : Scope
        Whose requests.

    Attributes
    ----------
    step : int
        Training steps begun so far.
    last : dict of str to str
        The last phase of training, and the last other one, that succeeded; empty for none.
    rows : dict of str to int
        Number of rows of the last request of either sort that named some.
    times : dict of str to int
        How often each phase was asked in this attempt.
    """

    def __init__(self, party: Scope) -> None:
        self._party = party
        self._now: dict[str, int] = {}
        self.step, self.times = 0, dict[str, int]()
        self.stand()

    def check(
        self,
        name: str,
        declared: Phase,
        arrays: Sequence[Array],
        phases: Callable[[], Mapping[str, Phase]],
    ) -> None:
        """Check a request against order, count and arrays.

        Parameters
        ----------
        name : str
            The phase's.
        declared : Phase
            Its declaration.
        arrays : sequence of ndarray
            As they came.
        phases : callable
            Returns the declarations of all phases of the party.

        Raises
        ------
        ProtocolError
            Names the phase and the rule.
        """
        self._check_order(name, declared, phases)
        times, most = self.times.get(name, 0), _most(declared, self._party)
        if most is not None and times >= most:
            raise ProtocolError(f"phase '{name}' may be asked {most} times, and was")
        self._check_arrays(name, declared, arrays)

    def count(self, name: str, declared: Phase, arrays: Sequence[Array]) -> None:
        """Count a request that was checked, whatever becomes of it."""
        self.times[name] = self.times.get(name, 0) + 1
        if declared.names_rows:
            self.rows[_chain(declared)] = len(arrays[0])
        if declared.begins and self._party.plan:
            self.step = self._party.plan.turn(self.step) + 1

    def done(self, name: str, declared: Phase) -> None:
        """Note that a phase succeeded."""
        self.last[_chain(declared)] = name

    def check_answer(self, name: str, declared: Phase, values: Sequence[Any]) -> None:
        """Refuse to send arrays that the phase does not declare.

        Raises
        ------
        ProtocolError
            Names the phase.
        """
        for gives, value in zip(declared.gives, values, strict=False):
            for layout in gives.layouts(self._party, self._now):
                if fault := layout.fault(value, self._now):
                    raise ProtocolError(f"the answer to '{name}' {fault}; nothing was sent")

    def _check_order(
        self, name: str, declared: Phase, phases: Callable[[], Mapping[str, Phase]]
    ) -> None:
        if declared.after and declared.follows.isdisjoint(self.last.values()):
            wanted = " or ".join(f"'{each}'" for each in declared.after)
            last = self.last[_chain(declared)] or "nothing"
            raise ProtocolError(f"phase '{name}' must follow {wanted}, not '{last}'")
        if not (declared.begins or declared.between_steps):
            return
        last = self.last["training"]
        needed = {n: each for n, each in phases().items() if each.training and not each.optional}
        lacks = [n for n, each in needed.items() if last in each.after]
        if lacks:
            raise ProtocolError(f"phase '{name}' comes between steps; this one lacks '{lacks[0]}'")

    def _check_arrays(self, name: str, declared: Phase, arrays: Sequence[Array]) -> None:
        sizes, party, taken = dict(self._sizes), self._party, 0
        if not declared.names_rows:
            sizes["B"] = self.rows[_chain(declared)]
        for rule in declared.takes:
            for layout in rule.layouts(party, sizes):
                if taken == len(arrays):
                    raise ProtocolError(f"phase '{name}' takes more arrays than {taken}")
                array = arrays[taken]
                fault = layout.fault(array, sizes) or rule.fault(array, party, self.step)
                taken += 1
                if fault:
                    raise ProtocolError(f"array {taken} of phase '{name}' {fault}")
        if taken < len(arrays):
            raise ProtocolError(f"phase '{name}' takes {taken} arrays, not {len(arrays)}")
        self._now = sizes

    @cached_property
    def _sizes(self) -> Mapping[str, int]:
        return self._party.sizes()

    def state_dict(self) -> State:
        """Return the state that must survive until the next message."""
        return {
            "step": self.step,
            "last": dict(self.last),
            "rows": dict(self.rows),
            "times": dict(self.times),
        }

    def load_state_dict(self, state: State) -> None:
        """Restore the state of `state_dict`."""
        self.step, self.times = state["step"], dict(state["times"])
        self.last, self.rows = dict(state["last"]), dict(state["rows"])

    def stand(self) -> None:
        """Forget the phases before; step and counts stay."""
        self.last = {"training": "", "other": ""}
        self.rows = {"training": 0, "other": 0}


def standing_at(step: int) -> State:
    """Return the state after so many steps, at a checkpoint."""
    empty = {"training": "", "other": ""}
    return {"step": step, "last": empty, "rows": dict.fromkeys(empty, 0), "times": {}}


def _chain(declared: Phase) -> str:
    """Return the chain of phases that one belongs to."""
    return "training" if declared.training else "other"


def _most(declared: Phase, party: Scope) -> int | None:
    """Return the most requests for a phase in an attempt, if limited."""
    if isinstance(declared.most, str):
        return int(attrgetter(declared.most)(party))
    return declared.most
