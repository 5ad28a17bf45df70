"""Runs whose passive parties noise their uploads, shared by their tests."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.common import FitIns, FitRes

from tests.helpers.outcomes.attempts import Attempt
from vfl_flower.common.codec import Array, from_parameters
from vfl_flower.config.registry import spec_of, specs
from vfl_flower.config.run_config import RunConfig
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.privacy.client_dp.upload_log import Counts, Uploads
from vfl_flower.protocol.components import declared_by
from vfl_flower.protocol.observer import Observer
from vfl_flower.runs.run_folder import RunFolder

NOISING = [
    name for name, method in specs().items() if method.noises and method.options().uploads_in_steps
]
"""Methods with an upload for each batch; those with one for all have tests of their own."""

NONCE = np.zeros(8, np.uint8)
STEPS, EVALUATIONS = 14, 3  # two epochs of seven batches; two of the validation rows, one of test

each_method = pytest.mark.parametrize("method", NOISING)
some_methods = pytest.mark.parametrize("method", ["splitnn", "agg_vfl", "vimadmm"])
"""Methods that send embeddings, decisions, and several steps' of them: the count is the same."""


def configured(method: str, **changes: float | str) -> RunConfig:
    """Return a run with readable replies.

    Two epochs, uploads of about norm 1, no masks.
    """
    cfg = RunConfig(
        method=method,
        models="mlp",
        epochs=2,
        batch_size=50,
        train_rows=330,  # few: noise is drawn number by number
        embedding_dim=8,
        blinding="none",
        baselines="off",
        dp_sigma=2.0,
    )
    return replace(cfg, **changes)  # type: ignore[arg-type]


def of_columns(sent: tuple[FitIns, FitRes], method: str) -> list[Array]:
    """Return a party's answer, if it is an upload that counts."""
    last = str(sent[0].config["phases"]).split(",")[-1]
    declared = declared_by(spec_of(method).load()[1]).get(last)
    return from_parameters(sent[1].parameters) if declared and declared.of_columns else []


def uploads_an_exchange(method: str) -> int:
    """Count the uploads of a batch, derived ones too."""
    declared = declared_by(spec_of(method).load()[1]).values()
    return 1 + sum(each.derived and each.training for each in declared)


def counts_in(folder: Path) -> list[Counts]:
    return [Uploads(folder / f"party-{k}").counts() for k in (1, 2, 3)]


def result_of(folder: Path) -> dict[str, Any]:
    """Read a result, which is refused if it has not its shape."""
    result = RunFolder.reopen(folder, {}).result()
    assert result
    return result


class DiesAt(Observer):
    """Ends the process, as it were, after some step."""

    def __init__(self, step: int) -> None:
        self.step = step

    def on_step(self, step: int, losses: list[float]) -> None:
        if step == self.step:
            raise KeyboardInterrupt


def die_at(step: int, cfg: RunConfig, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run until some step and leave no checkpoint of it."""
    with monkeypatch.context() as patch:
        patch.setattr(
            "tests.helpers.outcomes.attempts.StopAt", lambda active, at, *unit: DiesAt(at)
        )
        with pytest.raises(KeyboardInterrupt):
            Attempt(cfg, out).run(step)


def asked(party: PassiveParty, exchange: int, name: str, *arrays: Array) -> tuple[Any, ...]:
    """Ask a party for one phase."""
    config = {"exchange": exchange, "phases": name, "arrays": str(len(arrays))}
    return party.fit(list(arrays), config)  # type: ignore[arg-type]


def asks(party: PassiveParty) -> list[str]:
    """Return the phases that upload columns, in training and evaluation."""
    known = ("embed", "predict", "embed_only", "predict_only")
    names = [n for n in known if (declared := party.declared(n)) and declared.of_columns]
    assert len(names) == 2
    return names
