"""An active party decides for nodes: modules, paths, weakened runs.

Deviating active party; every attack goes through a node's own entry, as Flower calls it.
"""

import logging
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from flwr.common import GetPropertiesIns

from tests.helpers.connections.streams import Answer, FakeGrid, node, policy_file, run_stream
from tests.helpers.own_data.own import make
from vfl_flower.common.errors import RosterError
from vfl_flower.common.optional.torchvision_import import datasets
from vfl_flower.config.policy.record import OPEN, SAFE, DataPolicy, Policy
from vfl_flower.config.registry import method_options
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.schema import declaration, kebab
from vfl_flower.config.settings import COMMON
from vfl_flower.workflows.build_parties import build_active
from vfl_flower.workflows.flower_node import Node

DEFAULTS = {kebab(name): each.default for name, each in (COMMON | method_options()).items()}
PATHS = [
    kebab(name) for name, each in (COMMON | method_options()).items() if declaration(each).path
]
RUN: dict[str, Any] = {"models": "mlp", "epochs": 1, "embedding-dim": 8, "batch-size": 500}


def asked(folder: Path, policy: Policy, own: dict[str, Any], run: dict[str, Any]) -> dict[str, Any]:
    """Return a node's answer at the roll call of a run."""
    return roll_call(noded(folder, policy, own, run))


def noded(folder: Path, policy: Policy, own: dict[str, Any], run: dict[str, Any]) -> Node:
    folder.mkdir(exist_ok=True)
    options = DEFAULTS | RUN | run
    return node(0, folder / "state", options, policy=str(policy_file(folder, policy)), **own)


def roll_call(client: Node) -> dict[str, Any]:
    return dict(client.get_properties(GetPropertiesIns({})).properties)


@pytest.fixture
def payload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the mark that a chosen module leaves when imported."""
    mark = tmp_path / "mark"
    code = f"import pathlib\npathlib.Path({str(mark)!r}).touch()\n"
    code += "from vfl_flower.learning.networks.small import mlp\n"
    (tmp_path / "their_payload.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "their_payload", raising=False)
    return mark


@pytest.mark.parametrize("method", ["easter", "splitnn", "adptvfedconv"])
@pytest.mark.parametrize("models", ["their_payload:Net", "mlp,their_payload:Net,mlp,mlp"])
def test_a_run_imports_no_module_at_a_node(
    method: str, models: str, payload: Path, tmp_path: Path
) -> None:
    policy = Policy(name="bank", require_secure_aggregation=False, allow_single_embeddings=True,
                    require_private_weights=False)  # fmt: skip
    run = {"method": method, "models": models}
    told = asked(tmp_path / "node", policy, {}, run)
    assert not payload.exists()
    assert "error" in told
    if "," not in models or method != "adptvfedconv":  # which has one network for all parties
        assert "policy 'bank' refuses this run by its rule modules" in told["message"]
        assert "'their_payload'" in told["message"]


@pytest.mark.parametrize("allowed", ["policy", "own"])
def test_a_module_that_the_owner_names_is_imported(
    allowed: str, payload: Path, tmp_path: Path
) -> None:
    listed = ("their_payload",) if allowed == "policy" else ()
    own = {"model": "their_payload:mlp"} if allowed == "own" else {}
    asked(tmp_path / "node", Policy(modules=listed), own, {"models": "their_payload:mlp"})
    assert payload.exists()


def test_a_run_names_no_weights_at_a_node(tmp_path: Path) -> None:
    """The active party would have any file opened, and chosen weights loaded."""
    opened = tmp_path / "weights.pth"
    os.mkfifo(opened)  # a reader of it would hang
    told = asked(tmp_path / "node", OPEN, {}, {"models": "resnet18", "weights": str(opened)})
    assert "error" not in told, told


@pytest.mark.parametrize("dataset", ["mnist", "adult"])
def test_a_run_names_no_data_folder_at_a_node(dataset: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir(mode=0o700)
    told = asked(tmp_path / "node", OPEN, {}, {"dataset": dataset, "data-dir": str(secret)})
    assert "node configuration lacks data-dir" in told["message"]
    assert str(secret) not in told["message"]
    assert not list(secret.iterdir())


def test_a_run_names_no_table_at_a_node(tmp_path: Path) -> None:
    """Neither for a missing one, nor for the node's own."""
    tables = make(tmp_path / "tables").split(",")
    run = {"dataset": "own", "task": "align", "run-name": "rows", "parties": 3}
    told = asked(tmp_path / "node", OPEN, {}, run | {"tables": tables[1]})
    assert "lacks table" in told["message"]
    policy = Policy(data=(DataPolicy(name="ours", tables=(tables[2],)),))
    own = {"table": tables[2]}
    assert "error" not in asked(tmp_path / "node", policy, own, run | {"tables": tables[1]})
    refused = asked(tmp_path / "node", policy, {"table": tables[1]}, run)
    assert "by its rule data" in refused["message"]


@pytest.mark.parametrize("key", ["model", "alignment", "run-name"])
@pytest.mark.parametrize("path", ["/etc", "../other", "a/b", "..", "."])
def test_names_of_runs_are_no_paths(key: str, path: str, tmp_path: Path) -> None:
    table = make(tmp_path / "tables").split(",")[1]
    run = {"dataset": "own", "parties": 3, "tables": "x", "task": "train", "run-name": "r"}
    run |= {"task": "predict", "model": "m"} if key == "model" else {}
    own = {"table": table, "new-table": table}
    told = asked(tmp_path / "node", OPEN, own, run | {key: path})
    assert told["error"] == "ConfigError", told
    assert not (tmp_path / "node" / "state").exists()


@pytest.mark.parametrize("name", ["accounts", "config.toml"])
def test_a_run_takes_no_name_that_the_state_folder_uses(name: str, tmp_path: Path) -> None:
    """It would lie among privacy accounts, or be the trusted modules."""
    told = asked(tmp_path / "node", OPEN, {}, {"run-name": name})
    assert f"run-name must not be '{name}'" in told["message"]
    assert not (tmp_path / "node" / "state").exists()


def test_a_run_makes_a_node_download_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless its owner allows it."""
    fetched: list[str] = []

    def fetch(folder: Path, **_: object) -> None:
        fetched.append(str(folder))
        raise RuntimeError("no network")

    monkeypatch.setattr(datasets, "CIFAR10", fetch)
    own, run = {"data-dir": str(tmp_path)}, {"dataset": "cifar10", "download": True}
    assert "allow download" in asked(tmp_path / "node", OPEN, own, run)["message"]
    assert not fetched
    told = asked(tmp_path / "node", OPEN, own | {"download": True}, run)["message"]
    assert "cannot be downloaded: no network" in told
    assert fetched == [str(tmp_path)]


@pytest.mark.parametrize("path", sorted({*PATHS} - {"alignment", "model"}))  # names, see above
def test_a_path_of_the_run_changes_nothing_at_a_node(path: str, tmp_path: Path) -> None:
    told = asked(tmp_path / "one", OPEN, {}, {path: str(tmp_path / "theirs")})
    assert told == asked(tmp_path / "one", OPEN, {}, {})
    assert "error" not in told


def test_a_refusal_is_one_line_on_both_sides(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cfg = RunConfig(method="splitnn", models="mlp", epochs=1, embedding_dim=8, party_timeout=20.0)
    options = cfg.to_mapping()
    own = str(policy_file(tmp_path, Policy(name="shop", require_secure_aggregation=False)))
    nodes: dict[int, Answer] = {
        100 + k: node(k, tmp_path / f"{k}", options, policy=own).fit for k in range(cfg.parties - 1)
    }
    said = r"^party-\d: policy 'shop' refuses this run by its rule allow-single-embeddings: "
    with caplog.at_level(logging.ERROR), pytest.raises(RosterError, match=said) as caught:
        run_stream(build_active(cfg), FakeGrid(nodes), options=options)
    assert len(str(caught.value).splitlines()) == 1
    assert any("by its rule allow-single-embeddings" in each.message for each in caplog.records)


def test_a_rebuilt_party_answers_nothing_without_its_policy(tmp_path: Path) -> None:
    """The roll call was under another policy, or there was none."""
    folder = tmp_path / "node"
    client = noded(folder, OPEN, {}, {"method": "splitnn", "transport": "messages"})
    assert "error" not in roll_call(client)
    policy_file(folder, SAFE)
    rebuilt = client.rebuilt()
    with pytest.raises(Exception, match="by its rule require-secure-aggregation"):
        rebuilt.build()


@pytest.mark.parametrize(
    ("run", "rule"),
    [
        ({"method": "splitnn"}, "require-secure-aggregation"),
        ({"blinding": "none"}, "require-secure-aggregation"),
        ({"party-randomness": "public"}, "require-private-weights"),
        ({"embedding-bound": "none"}, "require-embedding-bound"),
        ({"embedding-bound": "1e6"}, "largest-embedding-bound"),
        ({"learning-rates": "1e8", "optimizers": "sgd"}, "largest-learning-rate"),
        ({"optimizers": "rprop:step_sizes=1/1e8"}, "largest-learning-rate"),
        ({"models": "antigravity:fly"}, "modules"),
        ({"gradient-defence": "isotropic:1000"}, "allow-gradient-defence"),
        ({"share-check": "on"}, "largest-share"),
        ({"missing-parties": "use"}, "allow-missing-parties"),
        ({"label-encoding": "confusional:1"}, "allow-gradient-defence"),
    ],
)
def test_a_node_without_a_policy_is_safe(run: dict[str, Any], rule: str, tmp_path: Path) -> None:
    assert SAFE.name == "default"
    told = asked(tmp_path / "node", SAFE, {}, run)
    assert f"by its rule {rule}" in told["message"]
    assert "error" not in asked(tmp_path / "node", SAFE, {}, {})


@pytest.mark.parametrize(
    ("policy", "says"),
    [("policy.toml", "must be an absolute path"), ("/none/policy.toml", "cannot be read")],
)
def test_a_policy_that_cannot_be_read_stops_the_node(
    policy: str, says: str, tmp_path: Path
) -> None:
    told = roll_call(node(0, tmp_path, DEFAULTS | RUN, policy=policy))
    assert says in told["message"]


def test_what_a_party_tells_of_its_policy(tmp_path: Path) -> None:
    policy = Policy(name="shop")
    told = asked(tmp_path / "node", policy, {}, {})
    assert (told["policy"], told["rules"]) == ("shop", policy.digest)
