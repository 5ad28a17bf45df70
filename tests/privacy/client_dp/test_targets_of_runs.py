"""Training ends before the target epsilon is exceeded."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.client_privacy import (
    EVALUATIONS,
    STEPS,
    asked,
    asks,
    configured,
    counts_in,
    die_at,
    each_method,
    result_of,
    some_methods,
)
from tests.helpers.data import rows_for
from tests.helpers.outcomes.attempts import Attempt
from vfl_flower.privacy.client_dp.accounting import epsilon_of
from vfl_flower.privacy.client_dp.upload_log import Counts
from vfl_flower.runs.metrics_file import read_metrics
from vfl_flower.runs.run_folder import RunFolder
from vfl_flower.workflows.build_parties import build_passive


@some_methods
def test_training_ends_before_the_target_is_exceeded(method: str, tmp_path: Path) -> None:
    cfg = configured(method, target_epsilon=6.0)
    run = Attempt(cfg, tmp_path / "run")
    run.run()
    result = result_of(tmp_path / "run")
    sent = run.active.uploaded["party-1"]
    assert 0 < result["steps"] == sent["training"] < STEPS
    assert result["ended_by"] == "target-epsilon"
    assert 0 < result["test_accuracy"]["active"] < 1
    evaluated = read_metrics(tmp_path / "run")[-1].step
    assert evaluated == result["counting_step"] == result["steps"]  # the last weights are judged
    assert result["epsilon"] <= 6 < epsilon_of(2.0, sent.total() + 3, 1e-5, "rdp")
    for name in ("active", "party-1", "party-3"):
        assert (tmp_path / "run" / name / "model/weights.safetensors").exists()
    assert list((tmp_path / "run" / "party-1").glob(f"checkpoint-*{result['steps']}.safetensors"))


@some_methods
def test_a_run_with_a_target_alone_is_as_long_as_planned(method: str, tmp_path: Path) -> None:
    run = Attempt(configured(method, dp_sigma=0.0, target_epsilon=6.0), tmp_path / "run")
    run.run()
    result = result_of(tmp_path / "run")
    assert (result["steps"], result["ended_by"]) == (STEPS, "epochs")
    assert 5.9 < result["epsilon"] <= 6


SOME = [("vafl", {"vafl_mode": "asynchronous"}), ("vimadmm", {"participation": 0.34})]


@pytest.mark.parametrize(("method", "changes"), SOME)
def test_who_is_not_asked_is_not_charged(
    method: str, changes: dict[str, Any], tmp_path: Path
) -> None:
    """A step asks one of three parties: less noise, or more steps."""
    cfg = configured(method, dp_sigma=0.0, target_epsilon=6.0, **changes)
    planned = Attempt(cfg, tmp_path / "planned")
    planned.run()
    result, most = result_of(tmp_path / "planned"), planned.active.uploaded
    assert result["steps"] == STEPS == sum(counts["training"] for counts in most.values())
    assert 5.9 < result["epsilon"] <= 6
    assert max(counts["training"] for counts in most.values()) < STEPS
    assert result["client_privacy"]["planned"] in result["client_privacy"]["uploads"].values()
    fewer = replace(cfg, dp_sigma=2.0)
    Attempt(fewer, tmp_path / "fewer").run()
    result = result_of(tmp_path / "fewer")
    uploads = result["client_privacy"]["uploads"]
    assert result["steps"] == sum(counts["training"] for counts in uploads.values())
    busiest = Counts(max(uploads.values(), key=lambda counts: sum(counts.values())))
    assert result["epsilon"] == epsilon_of(2.0, busiest.total(), 1e-5, "rdp") <= 6
    assert result["steps"] == STEPS or epsilon_of(2.0, busiest.total() + 3, 1e-5, "rdp") > 6


@some_methods
def test_repeated_steps_are_paid_for_by_fewer(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parties report their uploads as soon as they return."""
    cfg, out = configured(method, dp_sigma=0.0, target_epsilon=6.0), tmp_path / "run"
    die_at(12, cfg, out, monkeypatch)
    Attempt(cfg, out).run()
    result = result_of(out)
    assert result["epsilon"] <= 6
    assert STEPS - 6 <= result["steps"] < STEPS


@some_methods
def test_a_result_that_is_lost_costs_nothing_to_have_again(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The target does not allow the test rows a second time."""
    lost: list[dict[str, Any]] = []

    def killed(self: RunFolder, result: dict[str, Any]) -> None:
        lost.append(result)
        raise KeyboardInterrupt

    target = {"dp_sigma": 0.0, "target_epsilon": 6.0}
    cfg, out = configured(method, keep="best", checkpoint_every=3, **target), tmp_path / "run"
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(RunFolder, "write_result", killed)
        Attempt(cfg, out).run()
    weights = {path: path.read_bytes() for path in out.rglob("weights.safetensors")}
    Attempt(cfg, out).run()
    assert counts_in(out) == [Counts(training=STEPS, evaluation=EVALUATIONS)] * 3
    assert len(weights) == 4
    assert all(path.read_bytes() == content for path, content in weights.items())
    found = result_of(out)
    for key in ("test_accuracy", "metrics", "counting_step", "evaluation", "client_privacy"):
        assert found[key] == lost[0][key], key


@each_method
def test_the_party_itself_refuses_what_would_exceed_the_target(method: str, tmp_path: Path) -> None:
    """Whatever the active party asks for."""
    cfg = configured(method, target_epsilon=6.0)
    party = build_passive(cfg, 2, tmp_path)
    assert party.privacy.budget
    most = int(party.privacy.budget.most)
    for exchange in range(1, most + 4):
        name = asks(party)[exchange != 1]  # a step, and then evaluations
        reply, _, metrics = asked(party, exchange, name, rows_for(party, name))
        if exchange <= most:
            assert len(reply) == 1
        else:
            assert reply == []
            assert metrics["error"] == "PrivacyError"
            assert "party-2 has spent its privacy budget" in metrics["message"]
    assert party.privacy.counts().total() == most
