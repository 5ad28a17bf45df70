"""Networks as ONNX against the parties' own."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.helpers.outcomes.commands import export, train
from tests.helpers.outcomes.predictions import Finished
from tests.helpers.own_data.own import flags, make
from vfl_flower.common.layout import WEIGHTS, model_of
from vfl_flower.common.names import party_name
from vfl_flower.parties.party import Party
from vfl_flower.runs.run_folder import RunFolder
from vfl_flower.workflows.trained_parties import predicting_parties

pytestmark = pytest.mark.slow

pytest.importorskip("onnxscript")
onnx = pytest.importorskip("onnx")
reference = pytest.importorskip("onnx.reference")

ROWS = np.arange(5, dtype=np.int32)


def computed(path: Path, x: Tensor) -> np.ndarray[Any, Any]:
    """Run an ONNX file on some rows with onnx's own evaluator."""
    model = onnx.load(str(path))
    onnx.checker.check_model(model)
    (found,) = reference.ReferenceEvaluator(model).run(None, {model.graph.input[0].name: x.numpy()})
    assert isinstance(found, np.ndarray)
    return found


def assert_same(party: Party, out: Path, joined: Tensor | None) -> None:
    """Compare both halves with the party's network; `joined` goes into the second."""
    columns = party.columns(ROWS)
    party.net.eval()
    with torch.no_grad():
        embedding = party.embedding(columns)
        given = embedding if joined is None else joined
        logits = party.decide(given)
    assert np.allclose(computed(out / "embed.onnx", columns), embedding.numpy(), atol=1e-5)
    assert np.allclose(computed(out / "decide.onnx", given), logits.numpy(), atol=1e-5)


def assert_said(path: Path, party: Party) -> None:
    assert path.stat().st_mode & 0o077 == 0
    told = {each.key: each.value for each in onnx.load(str(path)).metadata_props}
    assert told["vfl_flower.party"] == party_name(party.rank)
    assert told["vfl_flower.model"] == party.model_digest()
    assert party.nonce not in told.values()


@pytest.mark.parametrize(("case", "joined"), [("easter", False), ("splitnn", True)])
def test_halves_are_those_of_the_parties(
    case: str, joined: bool, finished: Finished, tmp_path: Path
) -> None:
    """Each file says whose it is, and is its owner's alone."""
    run = finished(case)
    active, passive = predicting_parties(RunFolder.reopen(run, {}))
    for party in (active, passive[1]):
        name = party_name(party.rank)
        assert export([str(run / name), "--out", str(tmp_path / name)]) == 0
        assert_said(tmp_path / name / "embed.onnx", party)
    E = torch.randn(len(ROWS), active.cfg.embedding_dim * active.cfg.holders)
    assert_same(active, tmp_path / "active", E if joined else None)
    assert_same(passive[1], tmp_path / "party-2", None)


def test_a_party_exports_from_its_own_folder_without_tables(tmp_path: Path) -> None:
    """Nothing of the run is there but its model folder."""
    tables, own = tmp_path / "tables", tmp_path / "own"
    assert train(flags(make(tables), tmp_path / "run")) == 0
    own.mkdir()
    (tmp_path / "run" / "party-1" / "model").rename(own / "model")
    for path in tables.iterdir():
        path.unlink()
    assert export([str(own), "--out", str(tmp_path / "onnx")]) == 0
    (shape,) = [
        [dim.dim_value for dim in each.type.tensor_type.shape.dim[1:]]
        for each in onnx.load(str(tmp_path / "onnx" / "embed.onnx")).graph.input
    ]
    assert shape == [8]


def test_what_cannot_be_exported_is_refused(
    finished: Finished, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, out = finished("easter"), tmp_path / "out"
    assert export([str(run), "--out", str(out)]) == 2
    assert "holds no model; name a party's folder in a run" in capsys.readouterr().err
    assert export([str(finished("boosted_trees") / "active"), "--out", str(out)]) == 2
    assert "boosted_trees trains no network" in capsys.readouterr().err
    damaged = tmp_path / "party-1"
    model_of(damaged).mkdir(parents=True)
    for path in model_of(run / "party-1").iterdir():
        (model_of(damaged) / path.name).write_bytes(path.read_bytes())
    (model_of(damaged) / WEIGHTS).write_bytes(b"damaged")
    assert export([str(damaged), "--out", str(out)]) == 2
    assert "is missing or damaged" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize(("method", "code"), [("splitnn", 0), ("agg_vfl", 2)])
def test_a_party_without_columns_has_a_top_model_at_most(
    method: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = f"--method {method} --active-columns none --epochs 1 --models mlp --baselines off"
    assert train([*words.split(), "--train-rows", "256", "--out", str(tmp_path / "run")]) == 0
    capsys.readouterr()
    assert export([str(tmp_path / "run" / "active"), "--out", str(tmp_path / "onnx")]) == code
    if code:
        assert "active has no columns" in capsys.readouterr().err
    else:
        assert [path.name for path in (tmp_path / "onnx").iterdir()] == ["decide.onnx"]
