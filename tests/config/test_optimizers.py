"""Optimizers of torch and schedules, by name with arguments."""

import inspect
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.optim import Optimizer

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.optimization.arguments import Argument
from vfl_flower.config.optimization.optimizers import (
    LEFT_OUT,
    OPTIMIZERS,
    largest_step,
    read_optimizer,
)
from vfl_flower.config.optimization.schedules import read_schedule
from vfl_flower.config.run_config import RunConfig
from vfl_flower.learning.optimizer import optimizer_of

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "optimizers.md").read_text()
OURS = {"momentum"}
"""Names that torch does not have."""

NOT_TAKEN = {"params", "lr", "foreach", "fused", "capturable", "differentiable", "maximize"}
IMPLIED = {"adam": {"decoupled_weight_decay"}}  # that is adamw


def torch_optimizers() -> dict[str, type[Optimizer]]:
    """Return torch's optimizers, by their names in lower case."""
    found = {name: getattr(torch.optim, name) for name in torch.optim.__all__}
    classes = {name: each for name, each in found.items() if isinstance(each, type)}
    return {name.lower(): each for name, each in classes.items() if each is not Optimizer}


def built(text: str) -> Optimizer:
    return optimizer_of(text, [{"params": [torch.zeros(2, 2, requires_grad=True)]}], 0.1)


def bounds(argument: Argument) -> set[float]:
    """Return the limits of an argument, and numbers just beside them."""
    limits = {argument.least, argument.most, argument.above, argument.below, 0.0, 0.5}
    finite = {limit for limit in limits if math.isfinite(limit)}
    return finite | {math.nextafter(each, way) for each in finite for way in (-9.0, 99.0)}


def test_all_optimizers_of_torch_are_taken_or_left_out() -> None:
    theirs = set(torch_optimizers())
    assert set(OPTIMIZERS) - OURS <= theirs  # the oldest torch lacks some that are left out
    assert theirs <= set(OPTIMIZERS) | set(LEFT_OUT)


@pytest.mark.parametrize("name", [*OPTIMIZERS])
def test_arguments_and_defaults_are_torch_s(name: str) -> None:
    of = torch_optimizers()["sgd" if name in OURS else name]
    theirs = {key: each.default for key, each in inspect.signature(of).parameters.items()}
    ours: dict[str, Any] = {key: each.default for key, each in OPTIMIZERS[name].takes.items()}
    if name in OURS:
        theirs["momentum"] = 0.9
    assert set(ours) == set(theirs) - NOT_TAKEN - IMPLIED.get(name, set())
    assert ours == {key: theirs[key] for key in ours}


@pytest.mark.parametrize("name", [*OPTIMIZERS])
def test_torch_accepts_each_value_within_the_limits(name: str) -> None:
    """A configuration that passes its check can be built."""
    accepted = 0
    for key, argument in OPTIMIZERS[name].takes.items():
        values = bounds(argument) if not isinstance(argument.default, bool) else ("true", "false")
        for value in values:
            pair = isinstance(argument.default, tuple)
            text = f"{name}:{key}={f'{value}/{value}' if pair else value}"
            try:
                read_optimizer(text)
            except ConfigError:
                continue
            built(text)
            accepted += 1
    assert accepted >= len(OPTIMIZERS[name].takes)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("adamw:weight_decay=0.02", {"weight_decay": 0.02}),
        ("sgd:momentum=0.5:nesterov=true", {"momentum": 0.5, "nesterov": True}),
        ("momentum:momentum=0.8", {"momentum": 0.8}),
        ("adam:betas=0.8/0.99:amsgrad=true", {"betas": (0.8, 0.99), "amsgrad": True}),
        ("adafactor:eps=none/0.01", {"eps": (None, 0.01)}),
    ],
)
def test_arguments_reach_torch(text: str, expected: dict[str, Any]) -> None:
    group = built(text).param_groups[0]
    assert {key: group[key] for key in expected} == expected


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("adamm", ["unknown optimizer 'adamm'", ", ".join(OPTIMIZERS), "'adam'"]),
        ("sgdd:momentum=0.9", ["unknown optimizer 'sgdd'"]),
        ("lbfgs", ["lbfgs cannot be used", "several times a step"]),
        ("sparseadam", ["sparse gradients"]),
        ("muon", ["biases"]),
        ("adamw:weight=1", ["'weight=1'", "does not take", "betas=0.9/0.999", "weight_decay=0.01"]),
        ("adamw:lr=1", ["'lr=1'", "does not take"]),
        ("sgd:momentum", ["'momentum'", "argument=value"]),
        ("sgd:momentum=0.1:momentum=0.2", ["twice"]),
        ("sgd:", ["does not take"]),
        ("sgd:momentum=1", ["momentum must be a number and at least 0 and at most 0.999"]),
        ("sgd:momentum=nan", ["momentum must be a number"]),
        ("sgd:nesterov=yes", ["nesterov must be true or false, not 'yes'"]),
        ("sgd:nesterov=true", ["nesterov needs momentum"]),
        ("adam:betas=0.9", ["betas must be 2 numbers with a slash, as in 0.9/0.999"]),
        ("adam:betas=0.999/0.1", ["square root"]),
        ("rprop:etas=0.5/0.9", ["the second above 1"]),
        ("rprop:step_sizes=1/0.1", ["the smaller one"]),
        ("adam:eps=0", ["eps must be", "at least 1e-20"]),
    ],
)
def test_wrong_optimizers_are_refused_with_what_they_take(text: str, parts: list[str]) -> None:
    with pytest.raises(ConfigError) as refused:
        RunConfig(optimizers=text)
    assert [part for part in ["optimizer", *parts] if part not in str(refused.value)] == []


def test_a_comma_between_arguments_is_explained() -> None:
    with pytest.raises(ConfigError, match="put a colon between arguments, not a comma"):
        RunConfig(optimizers="sgd:momentum=0.9,nesterov=true", parties=2, blinding="none")


def test_each_party_has_its_own_arguments_and_rate() -> None:
    cfg = RunConfig(optimizers="sgd:momentum=0.9:nesterov=true,adamw,adadelta,rprop")
    assert cfg.optimizer_of(0) == "sgd:momentum=0.9:nesterov=true"
    assert [cfg.rate_of(rank) for rank in range(4)] == [0.05, 0.003, 1.0, 0.001]


@pytest.mark.parametrize("name", [*OPTIMIZERS])
def test_the_page_has_each_optimizer_with_its_rate_and_arguments(name: str) -> None:
    spec = OPTIMIZERS[name]
    arguments = ", ".join(f"`{key}={each.shown()}`" for key, each in spec.takes.items())
    assert f"| `{name}` | {spec.rate:g} | {arguments} |" in PAGE


@pytest.mark.parametrize("name", [*LEFT_OUT])
def test_the_page_says_what_is_left_out_and_why(name: str) -> None:
    assert f"* `{name}`: {LEFT_OUT[name]}." in PAGE


@pytest.mark.parametrize(
    ("text", "step"),
    [("adam", 0.0), ("rprop", 50.0), ("rprop:step_sizes=0.001/2", 2.0)],
)
def test_the_largest_step_of_arguments(text: str, step: float) -> None:
    assert largest_step(text) == step


@pytest.mark.parametrize(
    ("text", "share", "steps", "needs"),
    [
        ("constant", 0.0, 0, False),
        ("constant:warmup=100", 0.0, 100, False),
        ("constant:warmup=5%", 0.05, 0, True),
        ("cosine", 0.0, 0, True),
        ("linear:warmup=12.5%", 0.125, 0, True),
    ],
)
def test_schedules(text: str, share: float, steps: int, needs: bool) -> None:
    spec = read_schedule(text)
    assert (spec.warmup_share, spec.warmup_steps, spec.needs_steps) == (share, steps, needs)


@pytest.mark.parametrize(
    "text",
    [
        *("", "exponential", "cosine:", "cosine:warmup", "cosine:warmup=", "cosine:warmup=-1"),
        *("cosine:warmup=0.5", "cosine:warmup=101%", "cosine:warmup=1e3", "cosine:cooldown=5%"),
    ],
)
def test_wrong_schedules_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"^(unknown )?schedule"):
        RunConfig(schedule=text)
