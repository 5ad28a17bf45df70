"""Explanations by permutation, of every method."""

import numpy as np
import pytest
import torch

from tests.helpers.contract import CASES
from tests.helpers.outcomes.predictions import Finished, tiny
from vfl_flower.analysis.explain.choices import How
from vfl_flower.analysis.explain.groups import of_parties
from vfl_flower.analysis.explain.permutation import drops_of, panel_of
from vfl_flower.config.registry import specs
from vfl_flower.learning.metrics.judge import score_of
from vfl_flower.runs.run_folder import RunFolder
from vfl_flower.transport.local import LocalTransport
from vfl_flower.workflows.prediction import asked

HOW = How("validation", 1)


@pytest.mark.parametrize("case", CASES)
def test_drops_are_those_of_parties_that_answer_once_about_permuted_columns(
    case: str, finished: Finished
) -> None:
    """Nothing of an earlier answer stays, nothing is written, and masks cancel."""
    cfg, path = tiny(case), finished(case)
    folder = RunFolder.reopen(path, {}, trust_code=True)
    before = {each: each.stat().st_mtime_ns for each in path.rglob("*")}
    panel = panel_of(folder, HOW)
    found = drops_of(panel, of_parties(panel.parties))
    last = len(found.drops) - 1
    for number in (0, last):
        each = found.drops[number]
        anew = panel_of(folder, HOW)
        group = of_parties(anew.parties)[number]
        order = np.random.default_rng([cfg.seed, number, 0]).permutation(144)
        with group.permuted(anew.rows, order):
            said = asked(anew.active, anew.rows, LocalTransport(anew.passive))
        y = anew.active.y[torch.from_numpy(anew.rows)]
        assert each.permuted == pytest.approx(
            score_of("accuracy", said, y, anew.active.target), abs=1e-6
        )
        assert each.drop == pytest.approx(found.score - each.permuted, abs=1e-6)
    ranks = range(cfg.parties - cfg.holders, cfg.parties)
    assert [each.name for each in found.drops] == [f"party-{k}" if k else "active" for k in ranks]
    spec = specs()[cfg.method]
    asked_nobody = spec.alone and not spec.pools
    passive = {each.drop for each in found.drops if each.name != "active"}
    assert (passive == {0}) == asked_nobody
    assert {each: each.stat().st_mtime_ns for each in path.rglob("*")} == before
