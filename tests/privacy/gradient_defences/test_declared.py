"""A gradient that nobody defends is refused, never sent."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from clients.easter import EasterClient
from clients.splitnn import SplitNNClient
from strategies.splitnn import SplitNN
from vfl_flower.api import Protocol, ask, floats
from vfl_flower.common.codec import Array
from vfl_flower.common.errors import ConfigError, ProtocolError, VflError
from vfl_flower.config.catalog import MULTI_CLASS, MULTI_LABEL, REGRESSION
from vfl_flower.config.options.defences.gradients import GRADIENT_DEFENCES, DefenceSpec
from vfl_flower.config.registry import METHODS, specs
from vfl_flower.config.run_config import RunConfig
from vfl_flower.crypto.discrete_sampling import Entropy
from vfl_flower.learning.losses import Labels
from vfl_flower.privacy.gradient_defences.applied import defended_gradients
from vfl_flower.privacy.gradient_defences.defence import Classes, Gradient, GradientDefence
from vfl_flower.protocol.automaton.gradients import is_gradient
from vfl_flower.protocol.components import PhaseMethod, declared_by
from vfl_flower.transport.local import run_local
from vfl_flower.workflows.build_parties import build_parties

DEFENDED = [name for name, spec in specs().items() if spec.gradients_only]
SEEN: list[Classes] = []


class Silent(GradientDefence):
    """Zeros in the place of gradients, and a note of the classes."""

    def __init__(self, argument: float) -> None:
        self.argument = argument

    def changed(self, g: Gradient, classes: Classes, entropy: Entropy) -> Gradient:
        SEEN.append(classes)
        return np.zeros_like(g)

    def growth(self, rows: int, width: int) -> float:
        return 1.0


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> str:
    """Register another defence, by one line."""
    SEEN.clear()
    spec = DefenceSpec(f"{__name__}:Silent", float, "silent:NUMBER", "silent:1")
    monkeypatch.setitem(GRADIENT_DEFENCES, "silent", spec)
    return "silent:1"


SHAPE: dict[str, Any] = {"models": "mlp", "parties": 3, "epochs": 1, "batch_size": 100}


def of(method: str, defence: str, **values: Any) -> RunConfig:
    return RunConfig(method=method, gradient_defence=defence, train_rows=300, **SHAPE, **values)


@pytest.mark.parametrize("method", DEFENDED)
def test_nothing_else_teaches_a_passive_party(method: str, silent: str) -> None:
    """With zeros in the place of gradients, no passive network moves."""
    active, passive = build_parties(of(method, silent))
    nets = [party.net for party in passive]
    before = [[p.clone() for p in net.parameters()] for net in nets]
    own = [p.clone() for p in active.net.parameters()]
    run_local(active, passive)
    assert all(
        torch.equal(p, q)
        for net, kept in zip(nets, before, strict=True)
        for p, q in zip(net.parameters(), kept, strict=True)
    )
    assert not all(torch.equal(p, q) for p, q in zip(active.net.parameters(), own, strict=True))
    assert SEEN


@pytest.mark.parametrize("method", METHODS)
def test_declarations_say_which_methods_send_gradients(method: str) -> None:
    spec = specs()[method]
    phases = declared_by(spec.load()[1]).values()
    found = any(is_gradient(each) for phase in phases for each in phase.takes)
    assert found == spec.gradients_only


@pytest.mark.parametrize("method", sorted(set(METHODS) - set(DEFENDED)))
def test_other_methods_say_why_not(method: str) -> None:
    why = (
        "nothing that depends on labels leaves"
        if method in ("local", "central")
        else "gives passive parties the training labels"
        if method in ("fdml", "pravfed")
        else "sends other things than gradients"
    )
    with pytest.raises(ConfigError, match=f"^gradient-defence is top-k:0.1.*{why}.*agg_vfl"):
        RunConfig(method=method, gradient_defence="top-k:0.1")


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"share_labels": True}, "gives passive parties the training labels"),
        ({"downlink": "float16"}, "use downlink = none"),
    ],
)
def test_gradients_that_are_compressed_or_none_are_refused(
    values: dict[str, Any], why: str
) -> None:
    with pytest.raises(ConfigError, match=f"^gradient-defence is .*{why}"):
        of("c_vfl", "top-k:0.1", **values)


@pytest.mark.parametrize("task", [MULTI_CLASS, REGRESSION, MULTI_LABEL])
def test_marvell_is_of_two_classes(task: str) -> None:
    with pytest.raises(ConfigError, match=f"^gradient-defence.*binary tasks.*task is {task}"):
        defended_gradients(of("splitnn", "marvell:1"), task)
    assert defended_gradients(of("splitnn", "isotropic:1"), task)


def test_marvell_is_refused_before_work_starts() -> None:
    with pytest.raises(ConfigError, match="task is multi-class"):
        build_parties(of("splitnn", "marvell:1"))


@pytest.fixture
def undeclared(monkeypatch: pytest.MonkeyPatch) -> Callable[[PhaseMethod], None]:
    """Return a way to let a phase take its arrays undeclared."""

    def change(method: PhaseMethod) -> None:
        takes = (floats(*method.phase.takes[0].layout.shape),)  # type: ignore[attr-defined]
        monkeypatch.setattr(method, "phase", replace(method.phase, takes=takes))  # type: ignore[attr-defined]

    return change


def fails(cfg: RunConfig) -> VflError:
    with pytest.raises(VflError) as caught:
        run_local(*build_parties(cfg))
    return caught.value


def test_a_method_that_declares_no_gradient_is_refused(
    undeclared: Callable[[PhaseMethod], None],
) -> None:
    undeclared(SplitNNClient.update)
    error = fails(of("splitnn", "top-k:0.1"))
    assert isinstance(error, ConfigError)
    assert "no phase of splitnn declares a gradient" in str(error)


def test_an_array_that_is_not_declared_is_not_sent(
    undeclared: Callable[[PhaseMethod], None],
) -> None:
    undeclared(EasterClient.predict)
    error = fails(of("easter", "top-k:0.1"))
    assert isinstance(error, ProtocolError)
    assert "'predict' is sent an array" in str(error)
    run_local(*build_parties(of("easter", "none")))  # nobody asks without a defence


def test_a_step_without_a_gradient_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def step(self: SplitNN, rows: Array, y: Labels) -> Protocol:
        yield ask("embed", rows)
        return [0.0]

    monkeypatch.setattr(SplitNN, "step", step)
    assert "step 0 of splitnn sent no gradient" in str(fails(of("splitnn", "top-k:0.1")))


def test_a_gradient_that_is_not_finite_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        SplitNN,
        "through_top",
        lambda self, E, y: (0.0, [torch.full_like(each, torch.nan) for each in E]),
    )
    assert "is not finite" in str(fails(of("splitnn", "isotropic:1")))


@pytest.mark.parametrize("mechanism", ["randomized-response", "laplace"])
def test_a_defence_sees_noised_labels_only(mechanism: str, silent: str) -> None:
    """So the defence costs label privacy nothing."""
    cfg = of("splitnn", silent, label_privacy=mechanism, label_epsilon=1.0)
    active, passive = build_parties(cfg)
    taken: list[Array] = []
    learnt = active.take_up

    def noted(rows: Array) -> Labels:
        taken.append(rows)
        return learnt(rows)

    active.take_up = noted  # type: ignore[method-assign]
    run_local(active, passive)
    rows, seen = np.concatenate(taken), np.concatenate(SEEN[::2])  # of two parties
    noised = active.training_labels.labels
    classes = noised.argmax(1) if noised.dim() == 2 else noised
    assert np.array_equal(seen, classes.numpy()[rows])
    assert (seen != active.y.numpy()[rows]).mean() > 0.2
