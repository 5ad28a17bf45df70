"""Runs with defended embeddings equal joint programs with the penalty added."""

from functools import partial

import pytest
import torch

from tests.helpers.joint.penalised import Penalised
from tests.helpers.joint.reference import Step, easter_step, joint
from tests.helpers.joint.reference_split import Vafl, logits_step, several_steps, splitnn_step
from tests.helpers.joint.reference_vim import VimAdmm, VimAdmmJ
from tests.methods.test_joint_reference import FIFTY, STEPS, assert_equal, distributed
from vfl_flower.config.registry import specs
from vfl_flower.config.run_config import RunConfig
from vfl_flower.learning.compression import compression_of
from vfl_flower.learning.losses import loss_of
from vfl_flower.transport.local import run_local
from vfl_flower.workflows.build_parties import build_parties

ABLE = [name for name, spec in specs().items() if spec.embedding_gradients]
TINY = RunConfig(models="mlp", parties=3, epochs=1, batch_size=100, train_rows=200, baselines="off")
DEFENCES = ("nopeek:1", "mid:0.01", "fedpass:2")


def step_of(cfg: RunConfig) -> Step:
    """Return the undefended program's step."""
    steps: dict[str, Step] = {
        "easter": partial(easter_step, rounded=True),
        "vfedmh": partial(easter_step, rounded=True),
        "splitnn": splitnn_step,
        "vafl": Vafl(cfg),
        "agg_vfl": partial(logits_step, rounded=True, divisor=1),
        "fdml": partial(logits_step, rounded=True, divisor=1),
    }
    return steps[cfg.method]


@pytest.mark.parametrize("defence", DEFENCES)
@pytest.mark.parametrize("method", ["easter", "splitnn", "vafl", "agg_vfl", "fdml"])
def test_runs_equal_the_joint_program(method: str, defence: str) -> None:
    cfg = FIFTY.changed(method=method, embedding_defence=defence)
    loss = loss_of("binary-cross-entropy" if method == "easter" else "cross-entropy")
    assert_equal(distributed(cfg), joint(cfg, loss, STEPS, Penalised(step_of(cfg))))


def test_under_bound_and_scale_too() -> None:
    """The defence acts first, then columns are standardised and rows clipped."""
    cfg = FIFTY.changed(
        method="vfedmh",
        models="mixed",
        embedding_defence="nopeek:1",
        embedding_bound="3",
        embedding_scale="standardized",
    )
    theirs = joint(cfg, loss_of("cross-entropy"), STEPS, step_of(cfg))
    assert_equal(distributed(cfg), theirs)


def test_another_weight_is_another_program() -> None:
    ours = FIFTY.changed(embedding_defence="nopeek:1")
    theirs = FIFTY.changed(embedding_defence="nopeek:1.01")
    step = Penalised(step_of(theirs))
    with pytest.raises(AssertionError):
        assert_equal(distributed(ours), joint(theirs, loss_of("binary-cross-entropy"), STEPS, step))


@pytest.mark.parametrize("method", ["fedbcd", "vimadmm", "vimadmm_j"])
def test_every_local_step_descends_the_penalty(method: str) -> None:
    """Networks are wrapped on both sides here."""
    cfg = FIFTY.changed(method=method, embedding_defence="mid:0.01", local_steps=2)
    steps: dict[str, Step] = {
        "fedbcd": partial(
            several_steps,
            compression=compression_of("none", cfg.embedding_dim),
            steps=2,
            active_steps=2,
            shared=False,
        ),
        "vimadmm": VimAdmm(),
        "vimadmm_j": VimAdmmJ(rounded=True),
    }
    assert_equal(distributed(cfg), joint(cfg, loss_of("cross-entropy"), STEPS, steps[method]))


@pytest.mark.parametrize("method", ABLE)
def test_every_passive_network_of_every_method_descends_it(method: str) -> None:
    """A little of the weight changes all that learns."""
    runs = []
    for weight in ("1", "1.01"):
        cfg = TINY.changed(method=method, embedding_defence=f"nopeek:{weight}")
        active, passive = build_parties(cfg)
        run_local(active, passive)
        runs.append([party.net for party in passive])
    for one, other in zip(*runs, strict=True):
        pairs = zip(one.embed.parameters(), other.embed.parameters(), strict=True)
        assert not any(torch.equal(p, q) for p, q in pairs)
