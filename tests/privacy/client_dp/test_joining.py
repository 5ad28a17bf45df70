"""Budgets go on where new parties join a trained model."""

from pathlib import Path
from typing import Any

import pytest

from tests.helpers.joint.joining import SMALL, joined, joining, trained
from tests.privacy.accounts.parties import account_in, policy
from vfl_flower.common.errors import ConfigError, PartyRefusal, PrivacyError, RosterError, RunError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.privacy.client_dp.accounting import epsilon_of
from vfl_flower.privacy.client_dp.carried import FILE
from vfl_flower.privacy.label_dp.training_labels import NOISED
from vfl_flower.runs.run_folder import RunFolder
from vfl_flower.transport.local import run_local
from vfl_flower.workflows.build_parties import build_active, build_parties, build_passive
from vfl_flower.workflows.frozen_parties import freeze
from vfl_flower.workflows.held_out.agreement import agreed_split

NOISE: dict[str, Any] = {"dp_sigma": 3.0}
EACH = 8 + 2 + 1  # uploads of a run: steps, an evaluation an epoch, the test rows


def uploads(parties: list[Any]) -> list[int]:
    return [party.privacy.counts().total() for party in parties[1:]]


@pytest.fixture(scope="module")
def noised(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RunConfig]:
    folder = tmp_path_factory.mktemp("noised")
    return folder, trained(folder, "agg_vfl", **NOISE)


def test_uploads_of_old_parties_count_on(noised: tuple[Path, RunConfig], tmp_path: Path) -> None:
    folder, old = noised
    parties = joined(joining(folder, old), tmp_path)
    assert uploads(parties) == [2 * EACH, 2 * EACH, EACH, EACH]
    active: Any = parties[0]
    assert active.budget.worst(active.uploaded) == epsilon_of(3.0, 2 * EACH, 1e-5, "rdp")
    assert (tmp_path / "party-1" / FILE).is_file()
    assert not (tmp_path / "party-3" / FILE).exists()


def test_predictions_and_further_joinings_count_on(
    noised: tuple[Path, RunConfig], tmp_path: Path
) -> None:
    folder, old = noised
    cfg = joining(folder, old, new=1, blinding="none")
    joined(cfg, tmp_path / "second")
    again = joining(tmp_path / "second", cfg, new=1, blinding="none")
    assert uploads(joined(again, tmp_path / "third")) == [3 * EACH, 3 * EACH, 2 * EACH, EACH]
    built = build_passive(again, 1, tmp_path / "third")
    assert built.privacy.counts().total() == 3 * EACH


def test_a_rebuilt_party_counts_on_and_a_lost_count_is_noticed(
    noised: tuple[Path, RunConfig], tmp_path: Path
) -> None:
    folder, old = noised
    cfg = joining(folder, old)
    party = freeze(build_passive(cfg, 1, tmp_path))
    assert party.privacy.counts().total() == EACH
    party.privacy.begin()
    assert freeze(build_passive(cfg, 1, tmp_path)).privacy.counts().total() == EACH
    state = party.privacy.state_dict()
    (tmp_path / "party-1" / "uploads").unlink()
    (tmp_path / "party-1" / "checkpoint-000000000.safetensors").touch()
    with pytest.raises(PrivacyError, match="missing or cut short"):
        freeze(build_passive(cfg, 1, tmp_path)).privacy.load_state_dict(state)


def test_a_target_that_the_model_has_spent_stops_the_run(
    noised: tuple[Path, RunConfig], tmp_path: Path
) -> None:
    folder, old = noised
    target = epsilon_of(3.0, EACH + 4, 1e-5, "rdp")
    parties: list[Any] = joined(joining(folder, old, target_epsilon=target), tmp_path / "some")
    assert EACH < uploads(parties)[0] <= EACH + 4
    assert 0 < parties[0].progress.step < 8
    target = epsilon_of(3.0, EACH, 1e-5, "rdp")
    with pytest.raises(PartyRefusal, match="has spent its privacy budget"):
        joined(joining(folder, old, target_epsilon=target), tmp_path / "none")


@pytest.mark.parametrize(
    "changes", [{"dp_sigma": 0.0}, {"dp_sigma": 2.0}, {"dp_clip": 2.0}, {"dp_eval": "clear"}]
)
def test_other_noise_than_the_models_is_refused(
    changes: dict[str, Any], noised: tuple[Path, RunConfig]
) -> None:
    folder, old = noised
    cfg = joining(folder, old, **changes)
    with pytest.raises(ConfigError, match=r"active: dp-.* is .*, and the model was trained with"):
        freeze(build_active(cfg))


def test_a_model_without_noise_can_be_joined_with_noise(tmp_path: Path) -> None:
    old = trained(tmp_path / "old", "agg_vfl")
    parties = joined(joining(tmp_path / "old", old, **NOISE), tmp_path / "new")
    assert uploads(parties) == [EACH] * 4


@pytest.mark.slow
def test_rows_count_on_under_the_adjacency_of_rows(tmp_path: Path) -> None:
    rows = {**NOISE, "dp_adjacency": "row"}
    old = trained(tmp_path / "old", "agg_vfl", **rows)
    parties: list[Any] = joined(joining(tmp_path / "old", old), tmp_path / "new")
    first, last = (party.privacy.counts() for party in (parties[1], parties[4]))
    assert first["row_training"] == 2 * last["row_training"] == 4
    assert first["row"] == 2 * last["row"]


def test_an_account_of_all_runs_counts_each_upload_once(tmp_path: Path) -> None:
    rules = policy(largest_epsilon=50.0)

    def built(cfg: RunConfig, run: str) -> tuple[ActiveParty, list[PassiveParty]]:
        folder, ranks = tmp_path / run, range(1, cfg.parties)
        passive = [freeze(build_passive(cfg, k, folder, policy=rules)) for k in ranks]
        return freeze(build_active(cfg, folder)), passive

    values = {"parties": 3, "partition": "strips@0-2/5", "blinding": "none", **NOISE}
    old = RunConfig(method="agg_vfl", **SMALL, **values)
    run_local(*built(old, "first"))
    run_local(*built(joining(tmp_path / "first", old, blinding="none"), "second"))
    account = account_in(tmp_path)
    for rank in (1, 2):
        assert account.uploads(f"first/party-{rank}") == EACH
        assert account.uploads(f"second/party-{rank}") == EACH


def test_noised_labels_are_those_of_the_model(tmp_path: Path) -> None:
    """Labels that are noised twice cost twice as much."""
    noise: dict[str, Any] = {"label_privacy": "laplace", "label_epsilon": 2.0}
    values: dict[str, Any] = {"parties": 3, "partition": "strips@0-2/5", "blinding": "none"} | noise
    old = RunConfig(method="agg_vfl", **SMALL, **values)
    model = tmp_path / "old"
    active, passive = build_parties(old, model)
    active.training_labels.keep(active.folder, begun=False)
    run_local(active, passive)
    folder = RunFolder(tmp_path / "new", joining(model, old))
    agreed_split(folder, {}, lambda source: pytest.fail("there is no split to tell"))
    kept, now = (path / "active" / NOISED for path in (model, folder.path))
    assert kept.read_bytes() == now.read_bytes()
    folder.end()


def test_labels_are_not_noised_once_more(tmp_path: Path) -> None:
    old = trained(tmp_path / "old", "agg_vfl", epochs=1)
    cfg = joining(tmp_path / "old", old, label_privacy="laplace")
    with pytest.raises(RunError, match="holds no noised labels"):
        agreed_split(RunFolder(tmp_path / "new", cfg), {}, lambda source: pytest.fail("no split"))


def test_labels_noised_otherwise_are_refused(tmp_path: Path) -> None:
    noise = {"label_privacy": "laplace", "label_epsilon": 2.0}
    old = trained(tmp_path, "agg_vfl", epochs=1, **noise)
    with pytest.raises(ConfigError, match=r"label-epsilon is 3.0, and the model was trained with"):
        freeze(build_active(joining(tmp_path, old, label_epsilon=3.0)))


def test_the_models_count_must_be_there(tmp_path: Path) -> None:
    old = trained(tmp_path / "old", "agg_vfl", **NOISE)
    (tmp_path / "old" / "party-1" / "uploads").unlink()
    with pytest.raises((PrivacyError, RosterError), match="missing or cut short"):
        joined(joining(tmp_path / "old", old), tmp_path / "new")
