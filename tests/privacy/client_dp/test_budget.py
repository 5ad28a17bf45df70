"""Privacy budgets: plan, target, and worst party."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.registry import specs
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.splitting.rows import rows_of
from vfl_flower.learning.batching import drawn
from vfl_flower.learning.schedule import planned_uploads, steps_per_epoch
from vfl_flower.privacy.client_dp.accounting import (
    epsilon_of,
)
from vfl_flower.privacy.client_dp.budget import Budget
from vfl_flower.privacy.client_dp.planning import budget_of
from vfl_flower.privacy.client_dp.upload_log import Counts

DELTA = 1e-5
CFG = RunConfig(method="splitnn", models="mlp", dp_sigma=2.0)
ROWS = 1797  # of the digits


def budget(**changes: float | str) -> Budget:
    cfg = replace(CFG, **changes)  # type: ignore[arg-type]
    found = budget_of(cfg, rows_of(cfg, ROWS))
    assert found
    return found


@given(
    st.integers(0, 9),
    st.integers(1, 1294),
    st.integers(0, 40),
    st.integers(1, 500),
)
def test_the_plan_is_what_training_asks(epochs: int, batch: int, every: int, at_once: int) -> None:
    cfg = RunConfig(epochs=epochs, batch_size=batch, eval_every=every, eval_batch_size=at_once)
    rows = rows_of(cfg, ROWS)
    pieces = {part: len(range(0, len(rows[part]), at_once)) for part in rows}
    steps = len(range(0, len(rows["train"]), batch))
    evaluations = 0
    for step in range(1, epochs * steps + 1):
        evaluations += step % steps == 0 or (every > 0 and step % every == 0)
    assert planned_uploads(cfg, rows) == {
        "training": epochs * steps,
        "evaluation": evaluations * pieces["validation"] + pieces["test"],
    }


@pytest.mark.slow
@given(st.integers(1, 9), st.integers(0, 99), st.sampled_from((0.2, 0.5, 0.9)))
def test_the_plan_is_the_busiest_party_s(parties: int, seed: int, share: float) -> None:
    some = RunConfig(method="vimadmm", parties=parties + 1, seed=seed, participation=share)
    one = RunConfig(method="vafl", parties=parties + 1, seed=seed, vafl_mode="asynchronous")
    steps = some.epochs * steps_per_epoch(some, len(rows_of(some, ROWS)["train"]))
    drawings = [k for step in range(steps) for k in drawn(some, step)]
    planned = [planned_uploads(cfg, rows_of(cfg, ROWS))["training"] for cfg in (some, one)]
    assert planned == [max(map(drawings.count, range(1, parties + 1))), math.ceil(steps / parties)]


def test_there_is_no_budget_without_noise() -> None:
    cfg = RunConfig(method="splitnn")
    assert budget_of(cfg, rows_of(cfg, ROWS)) is None


def test_a_target_finds_the_noise_for_the_plan() -> None:
    found = budget(dp_sigma=0.0, target_epsilon=8.0)
    assert found.allows(found.planned)
    assert 7.9 < found.epsilon(found.planned) <= 8
    assert not found.allows(found.planned + found.planned)


def test_a_target_counts_training_alone_where_evaluations_are_clear() -> None:
    found = budget(dp_sigma=0.0, target_epsilon=8.0, dp_eval="clear")
    assert found.allows(found.planned + Counts(evaluation=10**6))
    assert 7.9 < found.cost(found.planned["training"]) <= 8
    assert found.epsilon(found.planned) == math.inf
    assert found.epsilon(Counts(training=3)) < math.inf


def test_without_a_target_anything_may_be_sent() -> None:
    assert budget().allows(Counts(training=10**9))


def test_the_worst_party_makes_the_runs_epsilon() -> None:
    found = budget()
    sent = {"party-1": Counts(training=5, evaluation=2), "party-2": Counts(training=6)}
    report = found.report(sent)
    assert report["epsilon"] == epsilon_of(2.0, 7, DELTA, "rdp")
    assert report["epsilon_training"] == epsilon_of(2.0, 6, DELTA, "rdp")
    assert report["uploads"]["party-2"] == {"training": 6}


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"dp_sigma": 0.0, "target_epsilon": 0.01}, "needs dp-sigma .* more than 1000"),
        ({"target_epsilon": 0.1}, "allows 0 noised uploads with dp-sigma 2, .* take 3"),
        ({"target_epsilon": 3.5}, "allows 2 noised uploads .* take 3"),
        ({"method": "agg_vfl", "dp_clip": 1e5}, "noise of deviation 200000 .* smaller dp-clip"),
    ],
)
def test_a_budget_that_cannot_be_is_an_error(changes: dict[str, float | str], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        budget(**changes)


@pytest.mark.parametrize("method", [name for name, m in specs().items() if not m.noises])
@pytest.mark.parametrize("option", ["dp_sigma", "target_epsilon"])
def test_a_method_that_cannot_noise_names_those_that_can(method: str, option: str) -> None:
    with pytest.raises(ConfigError, match=f"{method}'s passive parties .* splitnn, .*agg_vfl"):
        RunConfig.from_mapping({"method": method, option.replace("_", "-"): 1.0})


def test_a_target_that_allows_one_step_is_accepted() -> None:
    assert budget(target_epsilon=4.3).most == 3
    assert budget(target_epsilon=3.5, epochs=0).planned == Counts(evaluation=1)


def test_options_of_noise_without_noise_are_an_error() -> None:
    with pytest.raises(ConfigError, match=r"^dp-clip and dp-eval would change nothing"):
        RunConfig(method="splitnn", dp_clip=2.0, dp_eval="clear")
