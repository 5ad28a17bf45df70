"""Threads of training and of evaluations."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from vfl_flower.config.run_config import RunConfig
from vfl_flower.parties.party import Party
from vfl_flower.transport.local import run_local
from vfl_flower.workflows.build_parties import build_active, build_passive
from vfl_flower.workflows.result import result_of

CFG = RunConfig(models="mlp", parties=3, epochs=1, train_rows=200, batch_size=100, threads=2)


def threads_seen(cfg: RunConfig, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, set[Any]]:
    """Return the result, and (rank, training, threads) as they were."""
    seen: set[Any] = set()
    plain = Party.embedding

    def noted(self: Party, columns: Tensor) -> Tensor:
        seen.add((self.rank, self.net.training, torch.get_num_threads()))
        return plain(self, columns)

    monkeypatch.setattr(Party, "embedding", noted)
    active = build_active(cfg)
    run_local(active, [build_passive(cfg, k) for k in range(1, cfg.parties)])
    return result_of(active, "local"), seen


@pytest.mark.parametrize("method", ["easter", "splitnn"])
@pytest.mark.parametrize(("asked", "had"), [(0, 2), (1, 1), (3, 3)])
def test_evaluations_have_threads_of_their_own(
    asked: int, had: int, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = torch.get_num_threads()
    try:
        cfg = replace(CFG, method=method, eval_threads=asked)
        result, seen = threads_seen(cfg, monkeypatch)
    finally:
        torch.set_num_threads(before)
    assert seen == {(k, training, 2 if training else had) for k in range(3) for training in (0, 1)}
    assert (result["threads"], result["eval_threads"]) == (2, had)
