"""Joining is refused where the others cannot stay as they are."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.joint.joining import SMALL, joined, joining, trained
from vfl_flower.common.errors import ConfigError, PolicyError, RosterError, RunError
from vfl_flower.common.layout import NETWORK, WEIGHTS, model_of
from vfl_flower.config.policy.record import OPEN, SAFE
from vfl_flower.config.policy.rules import check
from vfl_flower.config.registry import METHODS, spec_of
from vfl_flower.config.run_config import RunConfig
from vfl_flower.privacy.guarantees import protections
from vfl_flower.workflows.build_parties import build_active
from vfl_flower.workflows.frozen_parties import freeze

ABLE = {"easter", "vfedmh", "agg_vfl", "fdml"}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RunConfig]:
    folder = tmp_path_factory.mktemp("model")
    return folder, trained(folder, "agg_vfl", epochs=1)


@pytest.mark.parametrize("method", sorted({*METHODS} - ABLE))
def test_methods_whose_predictions_are_no_sums_refuse(method: str) -> None:
    with pytest.raises(ConfigError, match=r"new-parties is 1, and with .*; use one of easter"):
        RunConfig(method=method, new_parties=1, model="m")


def test_methods_that_join_are_listed() -> None:
    assert {name for name in METHODS if spec_of(name).joins} == ABLE


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"model": ""}, "model is empty; name the run that they join"),
        ({"new_parties": 0}, "model is m, and task is train; use task = predict, or say"),
        ({"new_parties": 3}, "of which the active one and a passive one at least"),
        ({"new_parties": 9}, "of which the active one and a passive one at least"),
        ({"missing_parties": "use"}, "missing-parties is use: a row's sums would be"),
        (
            {"dataset": "own", "tables": "a.toml", "label_privacy": "laplace"},
            "labels are noised by laplace",
        ),
    ],
)
def test_options_that_cannot_work(options: dict[str, Any], says: str) -> None:
    given: dict[str, Any] = {"method": "agg_vfl", "new_parties": 1, "model": "m"}
    with pytest.raises(ConfigError, match=says):
        RunConfig(**{**given, **options})


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"parties": 4, "new_parties": 2, "partition": "strips"}, "use parties = 5"),
        ({"seed": 1}, "active: seed is 1, and the model was trained with 0; use that"),
        ({"validation": 0.2}, "validation is 0.2"),
        ({"method": "fdml"}, "method is 'fdml'"),
        ({"loss": "binary-cross-entropy"}, "loss is"),
        ({"embedding_dim": 13}, "embedding-dim is 13"),
        ({"label_privacy": "laplace"}, "label-privacy is 'laplace'"),
        ({"partition": "strips"}, None),
        ({"partition": "strips:rows"}, "gives it other columns than the model's"),
        ({"partition": "columns"}, "gives it other columns than the model's"),
        ({"column_noise": "0:0.5"}, "its column-noise is not that of the model"),
        ({"column_noise": "4:0.5"}, None),
        ({"models": "lenet"}, "its name is mlp, not lenet"),
        ({"models": "mlp,mlp,mlp,lenet,cnn"}, None),
        ({"epochs": 1, "batch_size": 50, "schedule": "cosine", "blinding": "none"}, None),
    ],
)
def test_runs_that_differ_from_the_model(
    options: dict[str, Any], says: str | None, model: tuple[Path, RunConfig]
) -> None:
    folder, old = model
    cfg = joining(folder, old).changed(**options)
    if says is None:
        assert freeze(build_active(cfg)).began_with
        return
    with pytest.raises((ConfigError, RunError), match=says):
        freeze(build_active(cfg))


def test_a_party_without_the_model_says_so(model: tuple[Path, RunConfig], tmp_path: Path) -> None:
    folder, old = model
    with pytest.raises(RunError, match=r"active: .* holds no trained model; name a complete run"):
        joined(joining(tmp_path / "nowhere", old))
    half = tmp_path / "half"
    trained(half, "agg_vfl", epochs=1)
    (model_of(half / "party-2") / NETWORK).unlink()
    with pytest.raises(RunError, match=r"party-2: .* holds no trained model"):
        joined(joining(half, old))
    assert folder.exists()


def test_a_damaged_model_is_refused(tmp_path: Path) -> None:
    old = trained(tmp_path, "agg_vfl", epochs=1)
    path = model_of(tmp_path / "party-1") / WEIGHTS
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(RunError, match="is missing or damaged, or another run's or party's"):
        joined(joining(tmp_path, old))


def test_parties_of_different_models_are_told_apart(
    model: tuple[Path, RunConfig], tmp_path: Path
) -> None:
    """The roll call compares the numbers of the runs that trained them."""
    folder, old = model
    trained(tmp_path, "agg_vfl", epochs=1)
    kept = model_of(tmp_path / "party-2").rename(tmp_path / "another")
    for file in model_of(folder / "party-2").iterdir():
        kept.with_name("model").mkdir(exist_ok=True)
        (kept.with_name("model") / file.name).write_bytes(file.read_bytes())
    kept.with_name("model").rename(model_of(tmp_path / "party-2"))
    with pytest.raises(RosterError, match=r"party-2 has model = .*, the active party "):
        joined(joining(tmp_path, old))


def masked(**changes: Any) -> RunConfig:
    given = {"party_randomness": "private", "embedding_bound": "16", "model": "m"}
    return RunConfig(method="agg_vfl", **{**SMALL, **given, "parties": 5, **changes})


def test_a_sole_new_party_is_not_hidden() -> None:
    """Its policy refuses, unless it needs no masks; the others' do not."""
    cfg = masked(new_parties=1)
    with pytest.raises(PolicyError, match=r"require-secure-aggregation: .* it alone is new"):
        check(SAFE, cfg, 4)
    loose = replace(SAFE, require_secure_aggregation=False)
    with pytest.raises(PolicyError, match=r"allow-single-embeddings: .* it alone is new"):
        check(loose, cfg, 4)
    check(replace(loose, allow_single_embeddings=True), cfg, 4)
    for rank in (1, 2, 3):
        check(SAFE, cfg, rank)
    for rank in (3, 4):
        check(SAFE, masked(new_parties=2), rank)
    assert any("masks do not hide what party-4 sent" in each for each in protections(cfg)[1])
    assert not any("masks do not" in each for each in protections(masked(new_parties=2))[1])
    check(OPEN, cfg, 4)


def test_predictions_with_a_sole_new_party_show_it_too() -> None:
    """The model that it joined still answers for the same rows."""
    tables = {"dataset": "own", "tables": "/a.toml", "train_rows": 0}
    cfg = masked(new_parties=1, task="predict", **tables)
    with pytest.raises(PolicyError, match=r"require-secure-aggregation: .* it alone is new"):
        check(SAFE, cfg, 4)
