"""Large networks, a user's own, and published weights."""

import pickle
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from flwr.app import RecordDict
from flwr.common import GetPropertiesIns
from safetensors.torch import save_file
from torch import nn

from tests.helpers.data import columns_of
from tests.helpers.joint.reference import joint_easter
from tests.helpers.outcomes.attempts import Attempt
from tests.helpers.outcomes.commands import train as run
from vfl_flower.common.errors import ConfigError, NetworkError
from vfl_flower.config.catalog import NETWORKS
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.loading import load_party
from vfl_flower.learning.losses import loss_of
from vfl_flower.learning.networks.factory import network
from vfl_flower.learning.networks.torchvision_models import load_weights
from vfl_flower.transport.endpoint import RebuiltEndpoint
from vfl_flower.transport.local import run_amnesiac
from vfl_flower.workflows.build_learner import build_learner
from vfl_flower.workflows.build_parties import build_active, build_passive

OWN = '''
import torch
from torch import nn


class Halves(nn.Module):
    """Methods, not modules, with dropout and BatchNorm, and nothing of vfl-flower."""

    def __init__(self, shape, width, classes):
        super().__init__()
        self.first = nn.Linear(shape[0] * shape[1] * shape[2], 32)
        self.norm = nn.BatchNorm1d(32)
        self.drop = nn.Dropout(0.1)
        self.second = nn.Linear(32, width)
        self.last = nn.Linear(width, classes)

    def embed(self, x):
        return self.second(self.drop(torch.relu(self.norm(self.first(x.flatten(1))))))

    def decide(self, e):
        return self.last(torch.relu(e))


class Wider(Halves):
    def __init__(self, shape, width, classes):
        super().__init__(shape, width + 1, classes)


class Half(nn.Module):
    def __init__(self, shape, width, classes):
        super().__init__()
        self.embed = nn.Flatten()


class Broken:
    def __init__(self, shape, width, classes):
        raise KeyError("no such layer")
'''


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a user's module somewhere else."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "own_networks.py").write_text(OWN)
    (tmp_path / "elsewhere" / "own_broken.py").write_text("import no_such_package")
    monkeypatch.syspath_prepend(tmp_path / "elsewhere")


# Backbones --------------------------------------------------------------------------------------


DEEP = ("resnet50", "resnet101", "resnet152")
"""Of the same blocks, one as large as the next: the smallest tile is enough."""

TILES = [(3, 32, 8), (1, 28, 7), (1, 8, 2), (3, 64, 64)]


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        (name, shape)
        for name, spec in NETWORKS.items()
        if spec.published
        for shape in ([(1, 8, 2)] if name in DEEP[1:] else TILES)
    ],
)
def test_backbones_take_tiles_of_any_size(name: str, shape: tuple[int, ...]) -> None:
    net = network(name)(shape, 24, 10)
    embedding = net.embed(torch.randn(3, *shape))  # type: ignore[operator]
    logits = net.decide(embedding)  # type: ignore[operator]
    assert embedding.shape == (3, 24)
    assert logits.shape == (3, 10)
    logits.sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in net.parameters())


def test_a_small_tile_meets_a_small_stem() -> None:
    for shape, kernel in (((3, 63, 99), 3), ((3, 64, 64), 7)):
        weight = dict(network("resnet18")(shape, 8, 2).named_parameters())["embed.conv1.weight"]
        assert weight.shape == (64, 3, kernel, kernel)


def test_a_table_has_no_tiles(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--dataset", "wine", "--models", "resnet18", "--out", str(tmp_path / "run")]) == 2
    assert "party-1: resnet18 takes images" in capsys.readouterr().err


@pytest.mark.slow
def test_resnet_is_exact_live_rebuilt_and_joint() -> None:
    """BatchNorm statistics and all: three steps, the last after an evaluation."""
    cfg = RunConfig(
        models="mlp,resnet18,mlp,mlp",
        optimizers="sgd",
        epochs=1,
        batch_size=20,
        train_rows=50,
        eval_every=2,
        baselines="off",
    )
    live = Attempt(cfg, None)
    live.run()
    active = build_active(cfg)
    states = run_amnesiac(active, lambda k: build_passive(cfg, k))
    joint = joint_easter(cfg, loss_of("binary-cross-entropy"), 3, rounded=True)
    rebuilt = build_passive(cfg, 1)
    rebuilt.recall(RebuiltEndpoint(lambda: rebuilt, 1, states[0])._read())
    expected = joint[1].net.state_dict()
    for party in (live.passive[0], rebuilt):
        for name, value in party.net.state_dict().items():
            assert torch.equal(value, expected[name]), name
    assert int(expected["embed.bn1.num_batches_tracked"]) == 3


# A user's own -----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.usefixtures("own")
def test_a_users_network_from_elsewhere(tmp_path: Path) -> None:
    models = "mlp,own_networks:Halves,mlp,own_networks:Halves"
    cfg = RunConfig(models=models, epochs=8, baselines="off")
    attempt = Attempt(cfg, tmp_path / "run")
    attempt.run()
    assert type(attempt.passive[0].net).__name__ == "Halves"
    assert min(attempt.active.progress.test["score"].values()) > 0.8
    short = replace(cfg, epochs=1)
    live, active = Attempt(short, None), build_active(short)
    live.run()
    run_amnesiac(active, lambda k: build_passive(short, k))
    assert active.progress.test == live.active.progress.test


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize(
    ("model", "told"),
    [
        ("no_such:Net", "cannot be imported; its folder must be on PYTHONPATH"),
        ("own_networks:Nothing", "cannot be imported"),
        ("own_broken:Net", "No module named 'no_such_package'"),
        ("own_networks:Wider", "gives shapes (2, 65) and (2, 10)"),
        ("own_networks:Half", "has embed alone; a network is"),
        ("own_networks:Broken", "no such layer"),
    ],
)
def test_a_users_network_that_does_not_fit_says_why(
    model: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--models", f"mlp,mlp,{model},mlp", "--out", str(tmp_path / "run")]
    assert run(flags) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: party-2: ")
    assert told in line
    assert not (tmp_path / "run").exists()


def test_what_a_network_says_of_rows_stays_at_its_party(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Its errors may quote data, so they go to the own log."""
    (tmp_path / "leaky.py").write_text(
        "from torch import nn\n"
        "class Leak(nn.Module):\n"
        "    def __init__(self, *_):\n"
        "        super().__init__()\n"
        "    def embed(self, x):\n"
        "        raise ValueError(f'secret {x.flatten()[:3].tolist()}')\n"
        "    decide = embed\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    cfg = RunConfig(models="mlp,leaky:Leak,mlp,mlp")
    endpoint = RebuiltEndpoint(lambda: build_passive(cfg, 1), 1, RecordDict())
    told = endpoint.get_properties(GetPropertiesIns({})).properties
    assert told["message"] == "party-1: network 'leaky:Leak' failed on two rows"
    assert "secret [" in caplog.text
    assert str(columns_of(cfg, 1).flatten()[0].item()) not in caplog.text


# Published weights ------------------------------------------------------------------------------


def published(tmp_path: Path, name: str = "resnet18") -> dict[str, Path]:
    """Write weights as torchvision publishes them, with 1,000 classes, in both formats."""
    from vfl_flower.common.optional.torchvision_import import models

    torch.manual_seed(1)
    weights = getattr(models, name)(weights=None).state_dict()
    paths = {"pth": tmp_path / f"{name}.pth", "safetensors": tmp_path / f"{name}.safetensors"}
    torch.save(weights, paths["pth"])
    save_file(weights, paths["safetensors"])
    return paths


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pth", "safetensors"])
def test_published_weights_are_taken_where_they_fit(kind: str, tmp_path: Path) -> None:
    path = published(tmp_path)[kind]
    weights = torch.load(published(tmp_path)["pth"], weights_only=True)
    for shape, stem in (((3, 32, 16), False), ((3, 64, 64), True)):
        embed = network("resnet18")(shape, 24, 10).embed
        assert isinstance(embed, nn.Module)
        load_weights(embed, path)
        own = embed.state_dict()
        same = {name for name in own if torch.equal(own[name], weights[name])}
        fresh = {"fc.weight", "fc.bias"} | (set() if stem else {"conv1.weight"})
        assert same == own.keys() - fresh


@pytest.mark.slow
def test_a_party_starts_from_its_own_file(tmp_path: Path) -> None:
    path = published(tmp_path)["safetensors"]
    cfg = RunConfig(models="mlp,resnet18,resnet18,mlp", weights=f",{path},,")
    x = torch.zeros(1797, 1, 8, 2)
    name = "embed.layer4.0.conv1.weight"
    data = [replace(load_party(cfg, rank), x=x) for rank in (1, 2)]
    one, other = (build_learner(cfg, each).net.state_dict()[name] for each in data)
    expected = torch.load(published(tmp_path)["pth"], weights_only=True)["layer4.0.conv1.weight"]
    assert torch.equal(one, expected)
    assert not torch.equal(other, expected)


def test_weights_that_do_not_fit_are_an_error(tmp_path: Path) -> None:
    embed = network("resnet34")((3, 32, 32), 8, 10).embed
    with pytest.raises(NetworkError, match="is for another network"):
        load_weights(embed, published(tmp_path)["pth"])  # type: ignore[arg-type]
    with pytest.raises(NetworkError, match="cannot be read"):
        load_weights(embed, tmp_path / "none.pth")  # type: ignore[arg-type]
    (tmp_path / "list.pth").write_bytes(b"")
    torch.save([1, 2], tmp_path / "list.pth")
    with pytest.raises(NetworkError, match="something else than named tensors"):
        load_weights(embed, tmp_path / "list.pth")  # type: ignore[arg-type]
    with pytest.raises(NetworkError, match="party-1: there are no weights for mlp"):
        build_passive(RunConfig(models="mlp", weights=",x.pth,,"), 1)
    with pytest.raises(ConfigError, match="weights lists 2 values for 4 parties"):
        RunConfig(models="resnet18", weights="x.pth,y.pth")


class Bomb:
    """Writes a file when it is unpickled."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (Path.touch, (Path("exploded"),))  # type: ignore[return-value]


def test_weights_are_never_unpickled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in (("raw.pth", pickle.dumps(Bomb())), ("zip.pth", None)):
        if content is None:
            torch.save({"x": Bomb()}, name)
        else:
            Path(name).write_bytes(content)
        with pytest.raises(NetworkError, match="cannot be read"):
            load_weights(torch.nn.Linear(1, 1), Path(name))
    assert not Path("exploded").exists()


def test_weights_belong_to_the_identity_of_a_run() -> None:
    cfg = RunConfig(models="resnet18")
    assert cfg.identity() != replace(cfg, weights="a.pth").identity()
