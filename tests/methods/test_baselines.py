"""The baselines from the command line: resumed, refused, and equal."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings

from tests.helpers.contract import CASES, configured, short, used
from tests.helpers.networks import register
from tests.helpers.option_values import GOOD, whole
from tests.helpers.outcomes.attempts import Attempt
from tests.helpers.outcomes.commands import report
from tests.helpers.outcomes.commands import train as run
from tests.methods.test_rebuilt import NETS, differing, live, rebuilt
from tests.methods.test_rebuilt import configured as configured_nets
from vfl_flower.common.errors import ConfigError, Interrupted, NetworkError, PartyError
from vfl_flower.config.node_config import run_config
from vfl_flower.config.registry import ALIASES, spec_of, specs
from vfl_flower.config.run_config import RunConfig
from vfl_flower.privacy.guarantees import GIVEN, POOLED, READABLE, SHARED, protections
from vfl_flower.transport.local import run_local
from vfl_flower.workflows.baselines import baselines_of, configurations
from vfl_flower.workflows.build_parties import build_active, build_passive

TINY = ["--epochs", "2", "--batch-size", "300", "--embedding-dim", "8", "--models", "mlp"]
ALIKE = (
    *("central", "agg_vfl within a bound", "splitnn of labels only"),
    *("c_vfl both ways", "c_vfl as published, both ways"),
)
"""Cases whose parties keep in a checkpoint what those of another case keep."""

LONGEST = "boosted_trees encrypted"

NOT_TRAINED = {"task", "model", "truth", "keep-missing"}
"""Options of alignments and predictions."""


def result_of(folder: Path) -> dict[str, Any]:
    result: dict[str, Any] = json.loads((folder / "result.json").read_text())
    return result


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=[pytest.mark.slow] if case == LONGEST else [])
        for case in CASES
        if case not in ALIKE
    ],
)
def test_stopped_runs_go_on_as_if_nothing_had_happened(case: str, tmp_path: Path) -> None:
    """Stopped within the second epoch: the same weights, result and ledger."""
    options = used(case, {"schedule": "cosine", "optimizers": "adam"})
    cfg = replace(short(case), baselines="off", **options)
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    Attempt(cfg, whole).run()
    with pytest.raises(Interrupted):
        Attempt(cfg, stopped).run(stop_at=1 if cfg.spec.full_batch else 3)
    Attempt(cfg, stopped).run()
    for name in ("active", "party-1", "party-2", "party-3"):
        ours, theirs = (folder / name / "model/weights.safetensors" for folder in (stopped, whole))
        assert ours.read_bytes() == theirs.read_bytes(), name
    results = [result_of(folder) for folder in (stopped, whole)]
    for key in ("test_accuracy", "exchanges", "bytes_by_phase", "figures"):
        assert results[0][key] == results[1][key], key


@pytest.mark.parametrize("method", ["splitnn", "fedbcd", "c_vfl", "vafl", "agg_vfl", "fdml"])
def test_rebuilt_parties_repeat_dropout_and_statistics(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(monkeypatch)
    cfg = configured_nets(NETS[2], method=method)
    assert differing(live(cfg), rebuilt(cfg)) == []


@pytest.mark.parametrize("method", ["local", "central"])
def test_bounds_are_methods(method: str, tmp_path: Path) -> None:
    """A run's baseline equals the method of its name."""
    out = tmp_path / "run"
    assert run([*TINY, "--method", method, "--baselines", "on", "--out", str(out)]) == 0
    result = result_of(out)
    assert result["test_accuracy"] == {"active": result["baselines"][method]}
    assert result["exchanges"] == result["bytes_up"] == result["bytes_down"] == 0
    assert result["uploads_per_party"] == {}


def test_bounds_beside_a_method_have_its_loss_and_true_labels(tmp_path: Path) -> None:
    flags = [*TINY, "--learning-rates", "0.01"]
    beside, alone = tmp_path / "beside", tmp_path / "alone"
    noisy = ["--label-privacy", "laplace", "--parties", "3", "--baselines", "on"]
    assert run([*flags, *noisy, "--method", "easter", "--out", str(beside)]) == 0
    loss = ["--parties", "3", "--baselines", "off", "--loss", "binary-cross-entropy"]
    assert run([*flags, *loss, "--method", "central", "--out", str(alone)]) == 0
    assert result_of(beside)["baselines"]["central"] == result_of(alone)["test_accuracy"]["active"]


OPTIONS: list[dict[str, Any]] = [
    {"method": "vimadmm", "heads": "ridge", "participation": 0.5},
    {"method": "vimadmm", "top_layers": 3, "dp_sigma": 2.0, "dp_eval": "clear"},
    {"method": "linear_admm", "label_privacy": "alibi", "active_columns": "none"},
    {"method": "linear_admm", "column_noise": "2:1"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_bounds_can_be_had_whatever_the_method_s_options(options: dict[str, Any]) -> None:
    cfg = RunConfig(**options)
    active = build_active(replace(cfg, dp_sigma=0.0, dp_eval="noised"))
    active.cfg = cfg
    for method, bound in configurations(active).items():
        assert bound.method == method
        assert bound.top_layers == max(cfg.top_layers, 1)
        linear = cfg.method == "linear_admm"
        assert bound.listed_model(0) == ("linear" if linear else cfg.listed_model(0))
        assert build_active(bound).cfg == bound


@pytest.mark.parametrize("option", sorted(set(GOOD) - NOT_TRAINED))
def test_every_option_leaves_the_baselines(option: str) -> None:
    """They are trained last: a refusal there would lose the run."""
    active = build_active(RunConfig(models="mlp"))

    @settings(max_examples=5, deadline=None)
    @given(GOOD[option])
    def configured_with(value: object) -> None:
        cfg = RunConfig.from_mapping(whole(option, value))
        active.cfg = cfg
        assume(not cfg.spec.alone)
        for method, alone in configurations(active).items():
            assert alone.method == method

    configured_with()


def test_bounds_that_diverge_do_not_lose_the_result(tmp_path: Path) -> None:
    out = tmp_path / "run"
    flags = [*TINY, "--learning-rates", "1e30,0.01,0.01,0.01", "--optimizers", "sgd"]
    code = run([*flags, "--method", "local", "--baselines", "off", "--out", str(out)])
    assert code == 2  # by itself it is an error
    cfg = RunConfig(models="mlp", learning_rates="1e30", optimizers="sgd", epochs=2)
    assert set(baselines_of(build_active(cfg))) == {"local", "central"}


@pytest.mark.parametrize("method", [name for name, method in specs().items() if method.alone])
def test_nothing_protects_or_is_open_where_nothing_is_sent(method: str) -> None:
    pooled = [POOLED] if spec_of(method).pools else []
    assert protections(RunConfig(method=method)) == ([], pooled)
    with pytest.raises(ConfigError, match="nothing that depends on labels leaves"):
        RunConfig(method=method, label_privacy="laplace")


def test_central_is_refused_between_machines() -> None:
    with pytest.raises(ConfigError, match="central needs all columns in one place"):
        run_config({"method": "central"}, simulation=False)
    assert run_config({"method": "central"}, simulation=True).method == "central"
    assert run_config({"method": "local"}, simulation=False).method == "local"


def test_methods_that_do_not_blind_say_so() -> None:
    for method in ("splitnn", "fedbcd", "c_vfl", "vafl"):
        assert not RunConfig(method=method).blinded
        with pytest.raises(ConfigError, match="needs each party's own answer"):
            RunConfig(method=method, blinding="pairwise")
    assert RunConfig(method="agg_vfl").blinded


def test_shared_labels_are_said_aloud(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    assert run([*TINY, "--method", "c_vfl", "--share-labels", "--out", str(out)]) == 0
    told = " ".join(capsys.readouterr().out.split())
    for sentence in (GIVEN, SHARED):
        assert sentence in result_of(out)["unprotected"]
        assert f"UNPROTECTED: {sentence}" in told
    assert "compression error: " in told
    assert READABLE not in result_of(out)["unprotected"]
    assert 0 < result_of(out)["figures"]["compression_error"] < 0.001
    noised = RunConfig(method="c_vfl", share_labels=True, label_privacy="alibi")
    assert not {GIVEN, READABLE} & set(protections(noised)[1])


def test_given_labels_are_said_aloud(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    assert run([*TINY, "--method", "fdml", "--out", str(out)]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert f"UNPROTECTED: {GIVEN}" in told
    assert GIVEN in result_of(out)["unprotected"]
    assert READABLE not in result_of(out)["unprotected"]
    noised = RunConfig(method="fdml", label_privacy="laplace")
    assert not {GIVEN, READABLE} & set(protections(noised)[1])


def test_shared_labels_need_a_top_model_of_this_package() -> None:
    own = "tests.helpers.networks:own_dropout,mlp,mlp,mlp"
    with pytest.raises(ConfigError, match="must be one of this package's"):
        RunConfig(method="c_vfl", share_labels=True, models=own)
    build_active(RunConfig(method="c_vfl", models=own))


def test_a_sum_is_of_as_many_numbers_as_there_are_classes() -> None:
    with pytest.raises(NetworkError, match=r"active: .*64 numbers is no prediction of 10; use emb"):
        build_active(RunConfig(method="fedbcd", top="sum"))


@pytest.mark.parametrize("changed", [{"top_layers": 2}, {"top_model": "usual"}])
def test_a_sum_has_no_settings_of_a_top_model(changed: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="with top = sum there is no top model"):
        RunConfig(method="fedbcd", top="sum", **changed)


def test_without_columns_a_sum_leaves_the_active_party_no_steps() -> None:
    with pytest.raises(ConfigError, match="active party without columns has nothing to train"):
        RunConfig(method="fedbcd", top="sum", active_steps="one", active_columns="none")


def test_a_sum_has_no_weights_on_top() -> None:
    cfg = RunConfig(method="fedbcd", top="sum", embedding_dim=10, models="linear")
    names = dict(build_active(cfg).net.named_parameters())
    assert names and all(name.startswith("embed.") for name in names)


def test_labels_are_taken_only_by_parties_that_expect_them() -> None:
    """An active party that shares, and passive ones that were told otherwise."""
    cfg = configured("c_vfl")
    active = build_active(cfg.changed(share_labels=True))
    with pytest.raises(PartyError, match="labels arrived, and share-labels is off"):
        run_local(active, [build_passive(cfg, k) for k in range(1, 4)])


@pytest.mark.parametrize("alias", ALIASES)
def test_aliases_are_the_same_method(alias: str) -> None:
    cfg = RunConfig(method=alias)
    assert cfg == RunConfig(method=ALIASES[alias])
    assert cfg.to_mapping()["method"] == ALIASES[alias]


@pytest.mark.slow
def test_one_model_makes_a_table_of_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All networks and the one accuracy are shown; a report works."""
    out = tmp_path / "run"
    assert run([*TINY, "--method", "pyvertical", "--baselines", "off", "--out", str(out)]) == 0
    told = capsys.readouterr().out
    assert "splitnn on digits" in told
    assert all(name in told for name in ("active", "party-1", "party-2", "party-3"))
    networks = [line for line in told.splitlines() if "│ mlp" in line]
    assert ["%" in line for line in networks] == [True, False, False, False]
    assert set(result_of(out)["test_accuracy"]) == {"active"}
    assert report([str(out)]) == 0
    assert result_of(out)["figures"] == {}
    assert "party-3" in (out / "report.html").read_text()
