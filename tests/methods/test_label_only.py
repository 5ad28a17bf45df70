"""An active party with labels and no columns (``active-columns = none``)."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from torch import nn

from tests.helpers.data import all_columns, columns_of
from tests.helpers.datasets import add_dataset
from tests.helpers.outcomes.attempts import Attempt
from tests.helpers.outcomes.commands import data
from tests.helpers.outcomes.commands import train as run
from vfl_flower.common.errors import ConfigError, DataError, NetworkError
from vfl_flower.config.registry import METHODS, spec_of, specs
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.sources.scikit_learn import DIGITS
from vfl_flower.learning.dropout import Dropout
from vfl_flower.workflows.build_parties import build_active

LABELS = RunConfig(method="splitnn", active_columns="none", models="mlp", epochs=1)
ABLE = [name for name, method in specs().items() if method.label_only]


@pytest.mark.parametrize(
    ("partition", "parties"),
    [
        ("strips", 4),
        ("strips:rows", 9),
        ("grid:2x2", 5),
        ("columns", 4),
        ("overlapping:14", 12),
        ("listed:0-31;32-63", 3),
        ("importance:1", 4),
        ("correlation:0.5", 3),
    ],
)
def test_the_passive_parties_hold_what_as_many_parties_would(partition: str, parties: int) -> None:
    cfg = replace(LABELS, partition=partition, parties=parties)
    fewer = RunConfig(method="splitnn", partition=partition, parties=parties - 1)
    assert columns_of(cfg, 0).shape == (1797, 0)
    for rank in range(1, parties):
        assert columns_of(cfg, rank).equal(columns_of(fewer, rank - 1))
    assert all_columns(cfg).equal(all_columns(fewer))


def test_a_table_is_split_likewise() -> None:
    cfg = replace(LABELS, dataset="wine", parties=3)
    assert columns_of(cfg, 0).shape == (178, 0)
    assert [columns_of(cfg, rank).shape[1] for rank in (1, 2)] == [7, 6]


@pytest.mark.parametrize(
    ("partition", "parties", "shapes"),
    [
        ("strips:rows", 14, {(1, 2, 28)}),
        ("overlapping:14", 99, {(14,)}),
        ("grid:2x7", 14, {(1, 14, 4)}),
    ],
)
def test_many_parties_of_mnists_size(
    partition: str, parties: int, shapes: set[tuple[int, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two pixel rows for each of 14, 14-pixel windows for 99."""
    pixels = np.random.default_rng(0).random((50, 1, 28, 28), np.float32)
    made = replace(DIGITS, features=lambda *_: pixels)
    add_dataset(monkeypatch, "made", made, images=True)
    own = {"dataset": "made", "batch_size": 10, "partition": partition, "parties": parties + 1}
    cfg = replace(LABELS, **own)  # type: ignore[arg-type]
    held = [columns_of(cfg, rank) for rank in range(1, parties + 1)]
    assert {tuple(x.shape[1:]) for x in held} == shapes
    union = all_columns(cfg)
    assert math.prod(union.shape[1:]) == 28 * 28


def test_partitions_count_parties_with_columns() -> None:
    for partition in ("grid:2x2", "listed:0-3;4-7;8-9;10-63"):
        with pytest.raises(DataError, match=r"4 (tiles|parties).* 3"):
            columns_of(replace(LABELS, partition=partition), 1)
    with pytest.raises(DataError, match="two parties or more, not one"):
        columns_of(replace(LABELS, partition="correlation:0.5", parties=2), 1)


@pytest.mark.parametrize("method", METHODS)
def test_methods_that_need_the_active_partys_columns_refuse(method: str) -> None:
    if method in ABLE:
        assert RunConfig(method=method, active_columns="none").holders == 3
        return
    with pytest.raises(ConfigError, match=f"{method} needs columns at the active") as refusal:
        RunConfig(method=method, active_columns="none")
    assert all(able in str(refusal.value) for able in ABLE)


@pytest.mark.parametrize("method", [m for m in ABLE if "models" not in spec_of(m).unused])
def test_the_result_says_so(
    method: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    flags = ["--epochs", "1", "--models", "mlp", "--baselines", "on"]
    spec = spec_of(method)
    flags += [] if spec.network or spec.own_decisions else ["--top-layers", "2"]
    apart = ["--method", method, "--active-columns", "none", "--party-randomness", "private"]
    assert run([*flags, *apart, "--out", str(out)]) == 0
    result = json.loads((out / "result.json").read_text())
    each = spec_of(method).network or "mlp"
    assert result["models"] == ["mlp" if spec_of(method).pools else "none", *[each] * 3]
    assert result["baselines"]["local"] == result["majority_share"]
    assert result["baselines"]["central"] > 0.3
    assert result["test_accuracy"]["active"] > 0.3
    told = capsys.readouterr().out
    assert "best constant" in told
    assert "active party alone" not in told


def test_the_bound_central_is_that_of_as_many_parties() -> None:
    """It has all columns, and the active party's network."""
    cfg = replace(LABELS, method="central", models="cnn,mlp,mlp,mlp")
    pooled = [build_active(replace(cfg, active_columns=which)) for which in ("none", "own")]
    ours, theirs = (active.net.state_dict() for active in pooled)
    assert all(ours[name].equal(theirs[name]) for name in theirs)
    assert pooled[0].data.numbers.equal(pooled[1].data.numbers)


def test_one_passive_party_is_enough_for_splitnn(tmp_path: Path) -> None:
    attempt = Attempt(LABELS.changed(parties=2, baselines="off"), tmp_path / "run")
    attempt.run()
    (top,) = [p for p in attempt.active.net.parameters() if p.dim() == 2 and p.numel()]
    assert top.shape == (10, 64)
    assert attempt.active.progress.test["score"]["active"] > 0.3


def test_weights_for_a_network_that_is_none_are_refused() -> None:
    with pytest.raises(NetworkError, match="active: there are no weights for none"):
        build_active(replace(LABELS, weights="a.pth,,,"))


def test_the_picture_is_of_the_passive_parties(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    heights = []
    for parties, columns in (("5", "none"), ("4", "own")):
        png = tmp_path / f"{columns}.png"
        flags = ["--method", "splitnn", "--parties", parties, "--partition", "grid:2x2"]
        assert data(["show", *flags, "--active-columns", columns, "--picture", str(png)]) == 0
        with Image.open(png) as picture:
            heights.append(np.asarray(picture).shape)
    assert heights[0] == heights[1]
    told = capsys.readouterr().out
    assert "active holds 0 of 64 values a row" in told
    assert "party-4 holds 16 of 64 values a row" in told


@pytest.mark.parametrize("method", ["splitnn", "fedbcd", "vafl"])
@pytest.mark.parametrize(
    ("top_model", "names"), [("network", ["weight"]), ("usual", ["1.weight", "1.bias"])]
)
def test_its_top_model_is_that_of_its_network(
    method: str, top_model: str, names: list[str]
) -> None:
    # under client-level privacy a bias costs VIM's FedBCD half its accuracy
    cfg = replace(LABELS, method=method, models="vim-mlp", top_model=top_model)
    decide = build_active(cfg).net.decide
    assert isinstance(decide, nn.Module)
    assert [name for name, _ in decide.named_parameters()] == names


@pytest.mark.parametrize(("top_model", "hidden", "drops"), [("network", 192, 1), ("usual", 256, 0)])
def test_its_deep_top_model_is_that_of_its_network(top_model: str, hidden: int, drops: int) -> None:
    cfg = replace(LABELS, method="splitnn", models="vim-mlp", top_layers=2, top_model=top_model)
    decide = build_active(cfg).net.decide
    assert isinstance(decide, nn.Module)
    assert [tuple(W.shape) for W in decide.parameters() if W.dim() > 1] == [
        (hidden, 192),
        (10, hidden),
    ]
    assert sum(isinstance(each, Dropout) for each in decide.modules()) == drops


@pytest.mark.parametrize("method", ["fdml", "agg_vfl", "vimadmm_j"])
def test_layers_of_a_decision_net_that_there_is_not_are_refused(method: str) -> None:
    """Nothing would be deeper, as every party has its own net."""
    own = RunConfig(method=method, top_layers=2)
    with pytest.raises(ConfigError, match="top-layers is 2, and would change no network"):
        own.changed(active_columns="none")
