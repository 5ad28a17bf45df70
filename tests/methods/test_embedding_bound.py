"""`embedding-bound`: joint programs that clip, refusals, and rows within the bound."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.helpers.blinding import ROWS_I, TINY, agreed, refusal, send
from tests.helpers.data import next_batch
from tests.helpers.joint.reference import joint, joint_easter
from tests.helpers.joint.reference_split import logits_step
from tests.helpers.joint.reference_vim import VimAdmmJ
from tests.methods.test_joint_reference import (
    FIFTY,
    STEPS,
    assert_equal,
    distributed,
    taken_by,
)
from vfl_flower.common.errors import ConfigError, PartyError
from vfl_flower.config.registry import specs
from vfl_flower.config.run_config import RunConfig
from vfl_flower.learning.losses import loss_of
from vfl_flower.learning.row_norms import clip_rows, exceeds
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.transport.local import run_local
from vfl_flower.workflows.build_parties import build_active, build_passive

BOUND = 0.3
"""Low enough that rows are clipped from the first step."""

SUMMING = [name for name, spec in specs().items() if spec.blinds]


def bounded(**changes: Any) -> RunConfig:
    return FIFTY.changed(embedding_bound=str(BOUND), **changes)


@pytest.mark.parametrize("blinding", ["pairwise", "none"])
def test_easter_equals_its_joint_program(blinding: str) -> None:
    cfg = bounded(optimizers="sgd,momentum,adagrad,adam", blinding=blinding)
    theirs = joint_easter(cfg, loss_of("binary-cross-entropy"), STEPS, rounded=cfg.blinded)
    assert_equal(distributed(cfg), theirs)


def test_vfedmh_equals_its_joint_program() -> None:
    cfg = bounded(method="vfedmh", models="mixed")
    assert_equal(distributed(cfg), joint_easter(cfg, loss_of("cross-entropy"), STEPS))


@pytest.mark.parametrize(("method", "blinding"), [("agg_vfl", "pairwise"), ("fdml", "none")])
def test_summed_logits_equal_their_joint_program(method: str, blinding: str) -> None:
    cfg = bounded(method=method, blinding=blinding, models="mixed")
    step = partial(logits_step, rounded=cfg.blinded, divisor=1)
    assert_equal(distributed(cfg), joint(cfg, loss_of("cross-entropy"), STEPS, step))


@pytest.mark.parametrize(
    "changes", [{"method": "vimadmm_j"}, {"method": "linear_admm", "solver": "steps"}], ids=str
)
def test_admm_equals_its_joint_program(changes: dict[str, str]) -> None:
    cfg = bounded(local_steps=3, **changes)
    step = VimAdmmJ(rounded=cfg.blinded)
    assert_equal(distributed(cfg), joint(cfg, loss_of("cross-entropy"), STEPS, step))


@pytest.mark.parametrize("method", SUMMING)
def test_the_bound_acts(method: str) -> None:
    cfg = taken_by(method, FIFTY, label_privacy="none")
    if cfg.spec.usual_bound:  # under masks as low a bound is refused
        cfg = replace(cfg, blinding="none")
    with pytest.raises(AssertionError):
        assert_equal(distributed(replace(cfg, embedding_bound=str(BOUND))), distributed(cfg))


@pytest.mark.parametrize("bound", ["none", "1e6"])
def test_a_bound_that_no_row_reaches_keeps_every_bit(bound: str) -> None:
    assert_equal(distributed(replace(FIFTY, embedding_bound=bound)), distributed(FIFTY))


# Clipping -----------------------------------------------------------------------------------------


def test_rows_are_clipped_one_by_one_and_others_keep_their_bits() -> None:
    x = torch.tensor([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0], [-6.0, 8.0]])
    clipped = clip_rows(x, 5.0)
    assert torch.equal(clipped[:3], x[:3])
    assert torch.allclose(clipped[3], torch.tensor([-3.0, 4.0]))
    assert exceeds(x, 5.0) and not exceeds(clipped, 5.0)


def test_rows_of_zeros_have_a_gradient() -> None:
    x = torch.tensor([[0.0, 0.0], [3.0, 4.0]], requires_grad=True)
    clip_rows(x, 1.0).sum().backward()
    assert x.grad is not None and x.grad.isfinite().all()
    assert torch.equal(x.grad[0], torch.ones(2))
    radial = (x.grad[1] * x.detach()[1]).sum().item()
    assert abs(radial) < 1e-6  # a clipped row's length no longer counts


@pytest.mark.parametrize("scale", [1e-30, 1e-3, 1.0, 1e3, 1e17])
def test_clipped_rows_are_within_the_bound(scale: float) -> None:
    x = scale * torch.randn(500, 64, generator=torch.Generator().manual_seed(0))
    assert clip_rows(x, 2.0).norm(dim=1).max() <= 2.0 * (1 + 1e-6)


# Refusals -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", sorted(specs().keys() - set(SUMMING)))
def test_a_method_that_sums_nothing_refuses_a_bound(method: str) -> None:
    changes = {"models": "vgg16_bn"} if method == "adptvfedconv" else {}
    with pytest.raises(ConfigError, match=f"embedding-bound is 8, and {method} sums no uploads"):
        RunConfig(method=method, embedding_bound="8", **changes)  # type: ignore[arg-type]
    assert RunConfig(method=method, embedding_bound="none", **changes).row_bound is None  # type: ignore[arg-type]


@pytest.mark.parametrize("blinding", ["pairwise", "none"])
def test_a_row_above_the_bound_never_leaves(blinding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A method that forgets to clip sends nothing."""

    def forgetful(party: PassiveParty, values: Tensor) -> Tensor:
        return values

    monkeypatch.setattr(PassiveParty, "bounded", forgetful)
    cfg = bounded(method="agg_vfl", blinding=blinding)
    active = build_active(cfg)
    with pytest.raises(PartyError, match="would send a row above embedding-bound"):
        run_local(active, [build_passive(cfg, k) for k in range(1, cfg.parties)])


# Rows without a finite norm -----------------------------------------------------------------------


@pytest.mark.parametrize("entry", [1e30, torch.inf, torch.nan])
def test_a_row_without_a_finite_norm_is_not_finite(entry: float) -> None:
    """As zeros it would leave a sum to the other parties."""
    x = torch.tensor([[entry, 1.0], [0.0, 0.0], [3.0, 4.0]])
    clipped = clip_rows(x, 1.0)
    assert clipped[0].isnan().all()
    assert torch.equal(clipped[1:], clip_rows(x[1:], 1.0))


def grown(party: PassiveParty) -> PassiveParty:
    """Let a party's outputs grow beyond all norms."""
    decide, embed = party.decide, party.embed_rows
    party.decide = lambda embedding: decide(embedding) * 1e30  # type: ignore[method-assign]
    party.embed_rows = lambda rows: embed(rows) * 1e30  # type: ignore[method-assign]
    return party


def test_a_party_whose_rows_overflow_is_not_silent_in_the_sum() -> None:
    party = grown(agreed(2, **{"embedding-bound": "4"})[0])
    error, message = refusal(party, 3, "embed_only", ROWS_I)
    assert error == "BlindingError"
    assert "not finite" in message


def test_under_client_level_privacy_they_are_noise_alone_and_counted(tmp_path: Path) -> None:
    changes: dict[str, Any] = {"method": "agg_vfl", "blinding": "none", "parties": 3}
    cfg = TINY.changed(**changes, embedding_bound="4", dp_sigma=1.0, dp_clip=2.0)
    party = grown(build_passive(cfg, 1, tmp_path))
    (sent,), counted = send(party, 1, "predict", next_batch(party))
    assert abs(sent.std() - 2.0) < 0.1
    assert counted == {"training": 1, "evaluation": 0}
