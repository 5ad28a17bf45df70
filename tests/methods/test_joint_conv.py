"""AdptVFedConv against its joint reference: equal parameters after all three stages."""

from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch import Tensor

from tests.helpers.contract import carry, differing, passive_parties
from tests.helpers.joint.reference_conv import joint_adptvfedconv
from vfl_flower.common.codec import Array
from vfl_flower.config.run_config import RunConfig
from vfl_flower.privacy.client_dp.gaussian import Gaussian
from vfl_flower.transport.local import run_local
from vfl_flower.workflows.build_parties import build_active, build_passive

TINY: dict[str, Any] = {
    "method": "adptvfedconv",
    "models": "tests.helpers.networks:TinyChain",
    "cut": "two",
    "optimizers": "adam",
    "pretrain_epochs": 2,
    "local_epochs": 3,
    "epochs": 2,
    "batch_size": 200,
    "train_rows": 500,
    "eval_batch_size": 500,
}
CASES: dict[str, dict[str, Any]] = {
    "as published": {},
    "an earlier cut": {"cut": "one"},
    "no transfer": {"model_transfer": False},
    "zero padding": {"padding": "zeros"},
    "three views": {"views": 3},
    "torch's dropout": {"models": "tests.helpers.networks:DroppingChain"},
    "vgg": {"models": "vgg16_bn", "cut": "2C+1M", "width": 0.05, "local_epochs": 1, "epochs": 1},
}


REBUILT = ("as published", "three views", "torch's dropout")
"""Cases whose parties are rebuilt too: what they keep of a phase differs."""


@cache
def reference(cfg: RunConfig) -> list[dict[str, Tensor]]:
    return [dict(party.net.state_dict()) for party in joint_adptvfedconv(cfg)]


@pytest.mark.parametrize(
    ("case", "carrier"),
    [*((case, "local") for case in CASES), *((case, "amnesia") for case in REBUILT)],
)
def test_equals_the_joint_program(case: str, carrier: str) -> None:
    cfg = RunConfig(**(TINY | CASES[case]))
    active = build_active(cfg)
    parties = passive_parties(carrier, lambda k: build_passive(cfg, k))
    carry(carrier, active, parties.clients)
    ours = [dict(active.net.state_dict()), *parties.weights()]
    assert differing(ours, reference(cfg)) == []


@pytest.mark.slow
def test_a_noised_run_equals_the_joint_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fine-tuning takes all its epochs, though its error rises."""

    def drawn(deviation: int, count: int, entropy: object) -> Array:
        return np.random.default_rng(count).normal(0, deviation, count).astype(np.int64)

    monkeypatch.setattr("vfl_flower.privacy.client_dp.gaussian.discrete_gaussian", drawn)
    late = {"local_epochs": 6, "local_patience": 1, "decoder_rate": 0.3, "views": 2}
    cfg = RunConfig(**TINY | late, dp_sigma=0.1, dp_clip=10.0)
    active = build_active(cfg)
    parties = [build_passive(cfg, k, tmp_path) for k in range(1, 4)]
    run_local(active, parties)
    errors = [party.durable()["errors"] for party in parties]
    assert {len(each) for each in errors} == {6}
    assert any(b >= a for each in errors for a, b in pairwise(each[:-1]))  # so it could end
    joint = joint_adptvfedconv(cfg, Gaussian(0.1, 10.0).release)
    theirs = [dict(party.net.state_dict()) for party in joint]
    found = [dict(party.net.state_dict()) for party in (active, *parties)]
    assert differing(found, theirs) == []


def test_the_reference_can_differ() -> None:
    """Another rate at one party changes its weights and the classifier."""
    cfg = RunConfig(**TINY)
    others = reference(cfg.changed(decoder_rate=0.002))
    places = {each.split(":")[0] for each in differing(reference(cfg), others)}
    assert places == set("0123")
