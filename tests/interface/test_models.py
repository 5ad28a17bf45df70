"""Networks given as classes, instances and functions."""

import gc
import weakref
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import vfl_flower as vfl
from tests.interface.conftest import Frames
from tests.interface.test_train import QUICK, weights
from vfl_flower.common.errors import ConfigError, NetworkError, TrustError
from vfl_flower.learning.networks import given


class Plain(nn.Module):
    """A bottom model that makes its own width."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.LazyLinear(5)

    def forward(self, x: Tensor) -> Tensor:
        """Embed rows, (B, 5)."""
        return torch.tanh(self.layer(x))


class Half(nn.Module):
    """A network without a top model."""

    def embed(self, x: Tensor) -> Tensor:
        """Return the rows."""
        return x


def columns_by(width: int) -> type[nn.Module]:
    """Make a class that no import finds."""

    class Local(nn.Module):
        def __init__(self, shape: tuple[int, ...]) -> None:
            super().__init__()
            self.layer = nn.Linear(shape[0], width)

        def forward(self, x: Tensor) -> Tensor:
            embedding: Tensor = self.layer(x)
            return embedding

    return Local


@pytest.mark.parametrize("method", ["splitnn", "fedbcd"])
def test_plain_modules_are_bottom_models(method: str, frames: Frames) -> None:
    models: list[Any] = [Plain, columns_by(64)]
    run = vfl.train(frames.tables(), **QUICK | {"method": method}, models=models)
    assert run.config.models.startswith("tests.interface.test_models:Plain,python:Local_")
    names = set(weights(run))
    assert "active embed.0.layer.weight" in names  # and embed.1 maps 5 to embedding-dim
    assert "party-1 embed.layer.weight" in names
    assert set(run.predict()["prediction"]) <= {"no", "yes"}


def test_an_instance_is_copied_with_its_weights(frames: Frames) -> None:
    layer = nn.Linear(4, 64)
    mine, before = nn.Sequential(layer, nn.ReLU()), layer.weight.detach().clone()
    options = QUICK | {"learning_rates": 1e-12}
    run = vfl.train(frames.tables(), **options, models=[mine, "linear"])
    assert torch.equal(layer.weight, before)
    content = bytearray(weights(run)["active embed.0.weight"])
    trained = torch.frombuffer(content, dtype=before.dtype)
    assert torch.allclose(trained, before.flatten(), atol=1e-6)


def test_an_object_is_given_again_to_a_loaded_run(
    frames: Frames, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    local = columns_by(8)
    run = vfl.train(frames.tables(), **QUICK, models=[local, "mlp"])
    said = run.predict()
    run.save(tmp_path / "run")
    monkeypatch.setattr(given, "_given", {})
    loaded = vfl.load(tmp_path / "run")
    with pytest.raises(NetworkError, match=r"active: network 'python:Local_.* give it again"):
        loaded.predict()
    assert vfl.load(tmp_path / "run", models=[local, "mlp"]).predict().equals(said)


@pytest.mark.slow
def test_an_object_is_forgotten_with_the_last_run_that_names_it(
    frames: Frames, tmp_path: Path
) -> None:
    local = columns_by(8)
    gone, before = weakref.ref(local), {*given._given}
    run = vfl.train(frames.tables(), **QUICK, models=[local, "mlp"])
    run.save(tmp_path / "run")
    said, again = run.predict(), deepcopy(run)
    with pytest.raises(ConfigError, match=r"models has 'mlp', and the run has 'python:Local_"):
        vfl.load(run.path, models=["mlp", "mlp"])
    del local, run
    gc.collect()
    assert again.predict().equals(said)
    del again
    gc.collect()
    assert gone() is None and {*given._given} <= before


def test_an_object_of_a_run_that_failed_is_forgotten(frames: Frames) -> None:
    before = {*given._given}
    with pytest.raises(ConfigError):
        vfl.train(frames.tables(), **QUICK, models=[columns_by(8), "mlp"], epoch=3)
    gc.collect()
    assert {*given._given} <= before


def test_code_of_a_folder_is_not_imported_unasked(
    frames: Frames, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VFL_FLOWER_HOME", str(tmp_path))
    run = vfl.train(frames.tables(), **QUICK, models=Plain, out=tmp_path / "run")
    assert len(run.predict())
    with pytest.raises(TrustError, match=r"names the module 'tests\.interface\.test_models'"):
        vfl.load(tmp_path / "run").predict()
    assert len(vfl.load(tmp_path / "run", trust_code=True).predict())


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (Half, "has embed alone; a network is"),
        (lambda: 3, "is of type int; a network is"),
        (lambda a, b, c, d: 3, "wants 4 arguments; a network is"),
        (3, "is of type int; a network is"),
        (nn.Linear(2, 2), r"failed on two rows of shape \(4,\)"),
        (nn.Unflatten(1, (2, 2)), r"gives \(2, 2, 2\) for two rows"),
    ],
)
def test_a_missing_contract_is_explained(model: Any, text: str, frames: Frames) -> None:
    with pytest.raises(NetworkError, match="active: .*" + text):
        vfl.train(frames.tables(), **QUICK, models=[model, "mlp"])
