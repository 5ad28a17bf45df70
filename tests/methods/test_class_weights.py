"""Class weights at passive parties: kept when resumed, and bounded."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from strategies.vimadmm_j import VIMADMMJ
from tests.helpers.outcomes.attempts import Attempt
from vfl_flower.common.errors import Interrupted, PartyError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.transport.local import run_local
from vfl_flower.workflows.build_parties import build_active, build_passive

PUBLISHED = RunConfig(
    method="c_vfl",
    share_labels=True,
    models="mlp",
    epochs=2,
    batch_size=400,
    baselines="off",
    class_weights="balanced",
)
FDML = PUBLISHED.changed(method="fdml")


@pytest.mark.slow
@pytest.mark.parametrize("cfg", [PUBLISHED, FDML], ids=["c_vfl", "fdml"])
def test_a_resumed_run_weights_classes_as_before(cfg: RunConfig, tmp_path: Path) -> None:
    """Weights, or their labels, travel once; checkpoints have them."""
    whole, cut = Attempt(cfg, tmp_path / "whole"), Attempt(cfg, tmp_path / "cut")
    whole.run()
    with pytest.raises(Interrupted):
        cut.run(stop_at=2)
    rest = Attempt(cfg, tmp_path / "cut")
    rest.run()
    for ours, theirs in zip(rest.passive, whole.passive, strict=True):
        for p, q in zip(ours.net.parameters(), theirs.net.parameters(), strict=True):
            assert torch.equal(p, q)


def test_class_weights_that_no_labels_have_are_refused() -> None:
    active = build_active(PUBLISHED)
    largest = len(active.rows["train"]) / 10
    active.training_labels.class_weights = torch.full((10,), 1.01 * largest)
    with pytest.raises(PartyError, match=rf"a number that is not in \[0, {largest:g}\]"):
        run_local(active, [build_passive(PUBLISHED, k) for k in range(1, 4)])


def test_class_weights_that_never_came_are_missed() -> None:
    active = build_active(replace(PUBLISHED, class_weights="none"))
    passive = [build_passive(PUBLISHED, k) for k in range(1, 4)]
    with pytest.raises(PartyError, match="no class weights before it"):
        run_local(active, passive)


UNEVEN = RunConfig(
    method="vimadmm_j",
    models="mlp",
    epochs=1,
    long_tail=50.0,
    baselines="off",
    class_weights="balanced",
)


@pytest.mark.parametrize(("method", "models"), [("vimadmm_j", "mlp"), ("linear_admm", "linear")])
def test_rare_classes_weigh_more_than_one_and_are_trained_on(method: str, models: str) -> None:
    cfg = UNEVEN.changed(method=method, models=models)
    active = build_active(cfg)
    run_local(active, [build_passive(cfg, k) for k in range(1, 4)])
    assert active.training_labels.class_weights.max() > 4
    assert active.progress.step > 0


def test_slopes_that_no_weight_makes_are_refused() -> None:
    cfg = UNEVEN.changed(class_weights="none")
    active = build_active(cfg)
    assert isinstance(active, VIMADMMJ)
    active.duals.values.fill_(20.0)
    with pytest.raises(PartyError, match=r"a number that is not in \[-4, 4\]"):
        run_local(active, [build_passive(cfg, k) for k in range(1, 4)])
