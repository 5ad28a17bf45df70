"""Runs whose passive parties defend their embeddings."""

from pathlib import Path
from typing import Any

import pytest
import torch

import vfl_flower as vfl
from tests.helpers.outcomes.attempts import Attempt
from tests.helpers.outcomes.stages import score_of, stage_of
from tests.privacy.embedding_defences.test_joint import ABLE, DEFENCES, TINY
from vfl_flower.analysis.audit.protection import protections_of, unprotected
from vfl_flower.common.errors import ConfigError, Interrupted
from vfl_flower.config.policy.run_options import taken_from
from vfl_flower.config.registry import specs
from vfl_flower.config.run_config import RunConfig
from vfl_flower.learning.networks.defences.defence import EmbeddingDefence
from vfl_flower.learning.networks.defences.fedpass import Passport
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.party import Party
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.privacy.guarantees import column_protections
from vfl_flower.runs.run_folder import RunFolder
from vfl_flower.transport.local import run_amnesiac, run_local
from vfl_flower.workflows.build_parties import build_parties, build_passive

OTHERS = [name for name in specs() if name not in ABLE]


def assert_same(ours: list[PassiveParty], theirs: list[PassiveParty]) -> None:
    for one, other in zip(ours, theirs, strict=True):
        pairs = zip(one.net.state_dict().values(), other.net.state_dict().values(), strict=True)
        assert all(torch.equal(p, q) for p, q in pairs)


@pytest.mark.parametrize("defence", DEFENCES)
@pytest.mark.parametrize("method", ["easter", "fdml"])
def test_a_resumed_run_goes_on_alike(method: str, defence: str, tmp_path: Path) -> None:
    cfg = TINY.changed(method=method, epochs=3, embedding_defence=defence)
    whole = Attempt(cfg, None)
    whole.run()
    with pytest.raises(Interrupted):
        Attempt(cfg, tmp_path / "cut").run(stop_at=3)
    rest = Attempt(cfg, tmp_path / "cut")
    rest.run()
    assert_same(rest.passive, whole.passive)


@pytest.mark.parametrize("defence", DEFENCES)
def test_rebuilt_parties_learn_the_same(defence: str) -> None:
    cfg = TINY.changed(embedding_defence=defence)
    actives: list[ActiveParty] = []
    for amnesiac in (False, True):
        active, passive = build_parties(cfg)
        if amnesiac:
            run_amnesiac(active, lambda rank: build_passive(cfg, rank))
        else:
            run_local(active, passive)
        actives.append(active)
    pairs = zip(*(each.net.parameters() for each in actives), strict=True)
    assert all(torch.equal(p, q) for p, q in pairs)


@pytest.mark.parametrize("defence", DEFENCES)
def test_predictions_are_those_that_were_evaluated(defence: str, tmp_path: Path) -> None:
    """No sample is sent: twice the same ones."""
    options: dict[str, Any] = {"models": "mlp", "parties": 3, "epochs": 1, "baselines": "off"}
    run = vfl.train(
        "digits",
        method="splitnn",
        embedding_defence=defence,
        out=tmp_path / "run",
        progress=False,
        **options,
    )
    one, other = (run.predict(truth=True, progress=False) for _ in range(2))
    assert one.equals(other)
    reached = (one["prediction"] == one["truth"]).mean()
    assert reached == pytest.approx(run.result["test_accuracy"]["active"])


@pytest.mark.parametrize(
    "values",
    [{"method": "splitnn", "dp_sigma": 1.0}, {"dp_sigma": 1.0, "dp_noise": "distributed"}],
    ids=["own noise", "noise under masks"],
)
def test_noise_comes_after_the_defence(values: dict[str, object], tmp_path: Path) -> None:
    """So epsilon is that of the same run without it."""
    spent = []
    for defence in ("none", "mid:0.01"):
        run = Attempt(TINY.changed(embedding_defence=defence, **values), tmp_path / defence[:3])
        run.run()
        spent.append([party.upload_noise() for party in run.passive])
    assert spent[0] == spent[1]
    assert spent[0][0] is not None


@pytest.mark.parametrize("private", [True, False])
@pytest.mark.parametrize("defence", DEFENCES)
def test_protections_promise_nothing(defence: str, private: bool) -> None:
    randomness = "private" if private else "public"
    cfg = TINY.changed(embedding_defence=defence, party_randomness=randomness)
    bare = cfg.changed(embedding_defence="none")
    protected, gaps = column_protections(cfg)
    assert protected == column_protections(bare)[0]
    (added,) = set(gaps) - set(column_protections(bare)[1])
    assert f"learned under {defence}, which has no guarantee" in added
    assert ("are the seed's" in added) == (defence[0] != "n" and not private)
    assert f"embedding defence ({defence})" in protections_of(cfg)
    assert unprotected(cfg).embedding_defence == "none"


def test_the_result_names_it_and_baselines_do_without(tmp_path: Path) -> None:
    cfg = TINY.changed(embedding_defence="nopeek:1", baselines="on")
    Attempt(cfg, tmp_path / "run").run()
    result = RunFolder.reopen(tmp_path / "run", {}).result()
    assert result
    assert any("nopeek:1, which has no guarantee" in text for text in result["unprotected"])
    assert {"local", "central"} <= result["baselines"].keys()


@pytest.mark.parametrize("method", OTHERS)
def test_methods_without_a_gradient_of_embeddings_refuse(method: str) -> None:
    why = "send no embedding" if specs()[method].alone else "no embedding by its gradient"
    with pytest.raises(ConfigError, match=f"^embedding-defence is mid:1.*{method} .*{why}.*easter"):
        RunConfig(method=method, embedding_defence="mid:1")


def test_the_active_party_keeps_its_network() -> None:
    active, passive = build_parties(TINY.changed(embedding_defence="nopeek:1"))

    def defended(party: Party) -> bool:
        return any(isinstance(each, EmbeddingDefence) for each in party.net.modules())

    assert not defended(active)
    assert all(map(defended, passive))


def test_nodes_take_the_defence_from_the_run() -> None:
    cfg = TINY.changed(embedding_defence="nopeek:1")
    assert taken_from(cfg.to_mapping())["embedding-defence"] == "nopeek:1"


@pytest.mark.slow
def test_decoders_tell_less() -> None:
    bare, defended = (
        score_of("decoder", stage_of("splitnn", embedding_defence=each, embedding_dim=64)).value
        for each in ("none", "mid:0.01")
    )
    assert defended < bare - 0.2


@pytest.mark.slow
def test_samples_of_a_public_run_hide_nothing_from_those_who_know_the_seed() -> None:
    stage = stage_of("splitnn", embedding_defence="mid:0.01", embedding_dim=64)
    assert score_of("public-weights", stage).value > 0.8


@pytest.mark.slow
def test_clones_fail_at_the_passport_layer_and_not_for_want_of_passports(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of an undefended network that mixes no columns, UnSplit finds them."""
    options = {"parties": 2, "embedding_dim": 32, "models": "tests.helpers.networks:pixelwise"}
    bare, defended = (
        stage_of("splitnn", embedding_defence=each, **options) for each in ("none", "fedpass:5")
    )
    assert score_of("unsplit", bare).value > 0.8
    assert score_of("unsplit", defended).value < 0.2
    monkeypatch.setattr(Passport, "reset_parameters", lambda self: None)  # the clone has them
    assert score_of("unsplit", defended).value < 0.2
