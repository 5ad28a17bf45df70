"""`embedding-scale`: joint programs that standardise, even parts of sums, refusals."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.helpers.joint.reference import joint, joint_easter
from tests.helpers.joint.reference_split import logits_step
from tests.helpers.outcomes.attempts import Attempt
from tests.methods.test_joint_reference import FIFTY, STEPS, assert_equal, distributed
from vfl_flower.common.errors import ConfigError, Interrupted, NetworkError
from vfl_flower.config.registry import specs
from vfl_flower.config.run_config import RunConfig
from vfl_flower.learning.losses import loss_of
from vfl_flower.learning.networks.standardized import Standardized, standardize
from vfl_flower.parties.party import Party
from vfl_flower.runs.run_folder import RunFolder
from vfl_flower.workflows.build_parties import build_passive

ABLE = [name for name, spec in specs().items() if spec.standardizes]


def standardized(**changes: Any) -> RunConfig:
    return FIFTY.changed(embedding_scale="standardized", **changes)


@pytest.mark.parametrize("method", ["easter", "vfedmh"])
def test_standardised_embeddings_equal_their_joint_program(method: str) -> None:
    """With a bound on top, whose gradients pass through both."""
    cfg = standardized(method=method, models="mixed", embedding_bound="3")
    loss = loss_of({"easter": "binary-cross-entropy", "vfedmh": "cross-entropy"}[method])
    assert_equal(distributed(cfg), joint_easter(cfg, loss, STEPS))


@pytest.mark.parametrize("method", ["agg_vfl", "fdml"])
def test_standardised_logits_equal_their_joint_program(method: str) -> None:
    cfg = standardized(method=method)
    step = partial(logits_step, rounded=cfg.blinded, divisor=1)
    assert_equal(distributed(cfg), joint(cfg, loss_of("cross-entropy"), STEPS, step))


@torch.no_grad()
def largest_part(parties: list[Party], rows: Tensor) -> float:
    """Return the largest part of one passive party in the sum's variance."""
    uploads = [party.net.train().embed(party.x[rows]) for party in parties[1:]]  # type: ignore[operator]
    variances = torch.stack([each.var(0).sum() for each in uploads])
    return float(variances.max() / variances.sum())


def test_no_party_outweighs_the_others_in_the_sum() -> None:
    """Where steps of very different sizes let one party's embeddings grow."""
    changes = {"optimizers": "adam,adam,sgd,sgd", "learning_rates": "0.03,0.03,0.01,0.01"}
    raw, even = FIFTY.changed(**changes), standardized(**changes)
    rows = torch.arange(200)
    assert largest_part(distributed(raw), rows) > 0.8
    assert largest_part(distributed(even), rows) == pytest.approx(1 / 3, abs=0.01)


@pytest.mark.parametrize("method", ABLE)
def test_a_resumed_run_goes_on_with_its_statistics(method: str, tmp_path: Path) -> None:
    cfg = RunConfig(
        method=method,
        models="mlp",
        epochs=2,
        batch_size=647,
        embedding_scale="standardized",
        label_privacy="none",
        baselines="off",
    )
    whole = Attempt(cfg, tmp_path / "whole")
    whole.run()
    with pytest.raises(Interrupted):
        Attempt(cfg, tmp_path / "cut").run(stop_at=2)
    rest = Attempt(cfg, tmp_path / "cut")
    rest.run()
    for ours, theirs in zip(rest.passive, whole.passive, strict=True):
        ends = [each.net.state_dict() for each in (ours, theirs)]
        assert any(name.endswith("running_var") for name in ends[0])
        assert all(torch.equal(ends[0][name], ends[1][name]) for name in ends[1])


def test_the_result_names_it_and_baselines_do_without(tmp_path: Path) -> None:
    cfg = standardized(epochs=1, baselines="on")
    Attempt(cfg, tmp_path / "run").run()
    result = RunFolder.reopen(tmp_path / "run", {}).result()
    assert result
    assert any("standardised by each party" in text for text in result["protections"])
    assert {"local", "central"} <= result["baselines"].keys()


def test_a_batch_of_one_row_is_scaled_by_what_is_known() -> None:
    scale = Standardized(2)
    scale(torch.tensor([[0.0, 10.0], [2.0, 30.0]]))
    scale.train()
    before = {name: each.clone() for name, each in scale.state_dict().items()}
    one = scale(torch.tensor([[1.0, 20.0]]))
    assert torch.equal(one, scale.eval()(torch.tensor([[1.0, 20.0]])))
    assert all(torch.equal(before[name], each) for name, each in scale.state_dict().items())


@pytest.mark.parametrize("method", [name for name in specs() if name not in ABLE])
def test_methods_whose_sums_cannot_be_scaled_refuse(method: str) -> None:
    with pytest.raises(ConfigError, match=f"standardized, and {method} .* one of easter"):
        RunConfig.from_mapping({"method": method, "embedding-scale": "standardized"})


class OfMethods(nn.Module):
    """A network whose halves are methods."""

    def embed(self, x: Tensor) -> Tensor:
        return x


def test_a_half_that_nothing_can_follow_is_refused() -> None:
    with pytest.raises(NetworkError, match="`embed` of this network is a method"):
        standardize(OfMethods(), "embed", 2)


def test_the_active_party_keeps_its_network() -> None:
    party = build_passive(standardized(), 1)
    assert isinstance(party.net.embed[-1], Standardized)  # type: ignore[index]
    active = distributed(standardized())[0]
    assert not any(isinstance(each, Standardized) for each in active.net.modules())
