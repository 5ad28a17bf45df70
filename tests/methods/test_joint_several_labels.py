"""Joint programs of methods on rows with several labels."""

from functools import partial
from pathlib import Path

import pytest

from tests.helpers.joint.reference import Step, easter_step, joint
from tests.helpers.joint.reference_split import splitnn_step
from tests.helpers.own_data.several import aligned
from tests.methods.test_joint_reference import assert_equal
from vfl_flower.learning.losses import loss_of
from vfl_flower.transport.local import run_local
from vfl_flower.workflows.build_parties import build_active, build_passive

STEPS: dict[str, Step] = {
    "easter": partial(easter_step, rounded=True),
    "splitnn": splitnn_step,
}


@pytest.mark.parametrize("method", STEPS)
def test_several_labels(method: str, tmp_path: Path) -> None:
    cfg = aligned(tmp_path, method=method, models="mlp", validation=0.0, baselines="off")
    active = build_active(cfg)
    passive = [build_passive(cfg, k) for k in (1, 2)]
    run_local(active, passive)
    assert active.loss_name == "binary-cross-entropy"
    theirs = joint(cfg, loss_of("binary-cross-entropy"), active.progress.step, STEPS[method])
    assert_equal([active, *passive], theirs)
