"""Runs under row-level privacy: plan, count, epsilon, and the words for them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.helpers.client_privacy import asked, configured, die_at, result_of
from tests.helpers.data import next_batch
from tests.helpers.outcomes.attempts import Attempt
from vfl_flower.common.errors import ConfigError, PrivacyError
from vfl_flower.config.registry import specs
from vfl_flower.config.run_config import RunConfig
from vfl_flower.privacy.client_dp.accounting import epsilon_of
from vfl_flower.privacy.client_dp.planning import budget_of
from vfl_flower.privacy.client_dp.upload_log import Counts
from vfl_flower.workflows.build_parties import build_active, build_passive

METHODS = [name for name, spec in specs().items() if spec.noises_gradients]
EPOCHS = 2


def by_row(method: str = "splitnn", **changes: Any) -> RunConfig:
    return configured(method, **{"dp_adjacency": "row", **changes})


def test_the_methods_that_take_part() -> None:
    """Of others a row changes a party's network otherwise."""
    assert {*METHODS} == {"easter", "vfedmh", "splitnn", "agg_vfl", "vafl", "fdml"}


@pytest.mark.parametrize(
    ("changes", "counted"),
    [
        *(({"method": name}, {}) for name in METHODS),
        ({"method": "agg_vfl", "blinding": "pairwise", "dp_noise": "distributed"}, {}),
        ({"method": "splitnn", "eval_every": 2}, {"row_evaluation": 8, "row": 8}),
        ({"method": "splitnn", "dp_eval": "clear", "eval_every": 2}, {"row_evaluation": 8}),
        ({"method": "vafl", "vafl_mode": "asynchronous"}, {}),
    ],
)
def test_every_row_has_two_mechanisms_an_epoch(
    changes: dict[str, Any], counted: dict[str, int], tmp_path: Path
) -> None:
    """As planned: its batch's upload and gradient; held-out rows count by themselves."""
    cfg = by_row(**changes)
    Attempt(cfg, tmp_path / "run").run()
    privacy = result_of(tmp_path / "run")["client_privacy"]
    of_a_row = {"row_training": EPOCHS, "row_evaluation": EPOCHS, "row": 2 * EPOCHS, **counted}
    assert privacy["adjacency"] == "row"
    assert privacy["planned"].items() >= of_a_row.items()
    found = [{kind: each[kind] for kind in of_a_row} for each in privacy["uploads"].values()]
    if cfg.asks_all:
        assert found == [of_a_row] * 3
    assert privacy["epsilon_training"] == epsilon_of(2.0, 2 * EPOCHS, 1e-5, "rdp")
    noised = epsilon_of(2.0, of_a_row["row"], 1e-5, "rdp")
    assert privacy["epsilon"] == ("inf" if cfg.dp_eval == "clear" else noised)


def test_a_result_says_what_is_protected(tmp_path: Path) -> None:
    Attempt(by_row("easter", dp_gradient_clip=0.5), tmp_path / "run").run()
    result = result_of(tmp_path / "run")
    privacy = result["client_privacy"]
    assert privacy["covers"].startswith("each single row of each passive party's columns")
    assert "a party's data as a whole" in privacy["does_not_cover"]
    assert "scales, medians and categories" in privacy["does_not_cover"]
    card = (tmp_path / "run" / "party-1" / "model" / "card.md").read_text()
    assert f"row-level epsilon {result['epsilon']:.4g}" in card
    (told,) = [text for text in result["protections"] if "gradients" in text]
    assert "each row's clipped to norm 0.5; the adjacency is one row of one party" in told


def test_a_target_finds_the_noise_of_one_row() -> None:
    """Which the batch size does not change."""
    sigmas = set[float]()
    for size in (25, 100):
        cfg = by_row(dp_sigma=0.0, target_epsilon=8.0, batch_size=size)
        budget = budget_of(cfg, build_active(cfg).data.rows)
        assert budget and budget.epsilon(budget.planned) <= 8.0
        sigmas.add(budget.sigma)
    (sigma,) = sigmas
    assert epsilon_of(sigma - 0.002, 2 * EPOCHS, 1e-5, "rdp") > 8.0


def test_training_ends_before_a_row_exceeds_the_target(tmp_path: Path) -> None:
    """After a whole epoch, of which every row had its part."""
    cfg = by_row(epochs=5, target_epsilon=epsilon_of(2.0, 4, 1e-5, "rdp") + 0.01)
    Attempt(cfg, tmp_path / "run").run()
    result = result_of(tmp_path / "run")
    assert result["ended_by"] == "target-epsilon"
    assert result["steps"] == 14
    assert {each["row"] for each in result["client_privacy"]["uploads"].values()} == {4}


def test_repeated_batches_count_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that was resumed ends early, and is not refused."""
    cfg = by_row(target_epsilon=epsilon_of(2.0, 4, 1e-5, "rdp") + 0.01)
    out = tmp_path / "run"
    die_at(3, cfg, out, monkeypatch)  # before the first epoch's end, where it is kept
    Attempt(cfg, out).run()
    result = result_of(out)
    assert result["ended_by"] == "target-epsilon"
    assert result["steps"] == 7
    counts = [*result["client_privacy"]["uploads"].values()]
    assert all(each["row_training"] == 2 and each["row"] == 4 for each in counts)


def test_a_party_refuses_rows_that_have_spent_their_budget(tmp_path: Path) -> None:
    """And goes on with others; the text depends on counts alone."""
    cfg = by_row(epochs=5, target_epsilon=epsilon_of(2.0, 3, 1e-5, "rdp") + 0.01)
    party = build_passive(cfg, 1, tmp_path)
    first, second = np.split(party.data.rows["test"][:20], 2)
    for exchange in range(1, 4):
        assert asked(party, exchange, "embed_only", first)[0]
    reply, _, metrics = asked(party, 4, "embed_only", first)
    assert reply == []
    assert metrics["message"].startswith("party-1 has spent its privacy budget: target-epsilon")
    assert "allows 3 uploads and gradients of a row" in metrics["message"]
    assert asked(party, 5, "embed_only", second)[0]
    assert party.privacy.counts() == Counts(evaluation=4, row_evaluation=3, row=3)
    with pytest.raises(PrivacyError, match="has sent 3 noised uploads and gradients of a row"):
        party.privacy.afford(first)
    party.privacy.afford(second)


def test_rows_of_refused_requests_are_not_counted(tmp_path: Path) -> None:
    party = build_passive(by_row(), 1, tmp_path)
    rows = next_batch(party)
    for exchange, named in enumerate((rows[:5], rows.astype(np.int64), -rows, rows[None]), 1):
        assert asked(party, exchange, "embed", named)[0] == []
    assert party.privacy.counts().total() == 0


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        *(
            ({"method": name}, "by more than a noised gradient; .* or easter, vfedmh")
            for name in ("fedbcd", "vimadmm", "vimadmm_j", "linear_admm")
        ),
        ({"method": "agg_vfl", "adaptive_steps": 2}, "steps are not one for each upload"),
        ({"method": "fdml", "staleness": 3}, "steps are not one for each upload"),
        ({"method": "easter", "embedding_scale": "standardized"}, "which mixes rows"),
        ({"method": "easter", "embedding_defence": "nopeek:1"}, "penalties are no row's own"),
        ({"dp_sigma": 0.0}, "dp-adjacency would change nothing: no noise is asked for"),
        ({"dp_adjacency": "party", "dp_gradient_clip": 2.0}, "dp-gradient-clip would change"),
    ],
)
def test_what_would_make_epsilon_false_is_refused(changes: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        by_row(**changes)


def test_row_and_party_budgets_differ_in_nothing_but_their_unit() -> None:
    """A party's one upload is one of each row."""
    cfg = by_row(epochs=0)
    rows = build_active(cfg).data.rows
    party, row = (budget_of(replace(cfg, dp_adjacency=each), rows) for each in ("party", "row"))
    assert party and row
    assert party.planned == Counts(evaluation=1)
    assert row.planned == Counts(evaluation=1, row_evaluation=1, row=1)
    assert party.epsilon(party.planned) == row.epsilon(row.planned)
