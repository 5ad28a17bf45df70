"""Own tables between nodes: one app aligns, trains and predicts."""

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from tests.helpers.outcomes.commands import predict, train
from tests.helpers.own_data.nodes import SETTINGS, World
from tests.helpers.own_data.own import ROWS, flags
from tests.helpers.own_data.several import TRUTH, VALUES, all_tables, tables_of
from vfl_flower.common.errors import ConfigError, Interrupted, PartyAway, RosterError, VflError
from vfl_flower.common.layout import ALIGNMENT
from vfl_flower.common.names import party_name
from vfl_flower.config.node_config import own_config
from vfl_flower.config.policy.record import OPEN, DataPolicy

pytestmark = pytest.mark.slow

ALL = ("--keep-missing", "--truth")


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    made = World(tmp_path)
    monkeypatch.setenv("VFL_FLOWER_HOME", str(made.state(0)))
    return made


def read(path: Path) -> dict[str, list[str]]:
    with path.open(newline="") as file:
        return {line[0]: line[1:] for line in list(csv.reader(file))[1:]}


def test_a_run_aligns_trains_and_another_predicts(world: World, tmp_path: Path) -> None:
    """The results equal those on one machine; files stay separate."""
    world.run(run_name="first", tables=world.tables[0], **SETTINGS)
    for rank in range(3):
        (kept,) = world.state(rank).rglob(ALIGNMENT)
        assert kept == world.state(rank) / "first" / party_name(rank) / ALIGNMENT
        (weights,) = world.state(rank).rglob("model/weights.safetensors")
        assert weights.is_relative_to(world.state(rank) / "first" / party_name(rank))
    asked: dict[str, Any] = {"keep_missing": True, "truth": True}
    world.run(task="predict", model="first", run_name="scores", tables=world.new[0], **asked)

    local = tmp_path / "local"
    assert train([*flags(",".join(world.tables), local), "--method=splitnn"]) == 0
    out = f"--out={local / 'said.csv'}"
    assert predict([str(local), f"--tables={','.join(world.new)}", *ALL, out]) == 0
    folder = world.state(0) / "scores"
    assert read(folder / "predictions.missing.csv") == read(local / "said.missing.csv")
    said, expected = read(folder / "predictions.csv"), read(local / "said.csv")
    assert said.keys() == expected.keys()
    for id_, (_, *shares, truth) in said.items():
        assert truth == expected[id_][-1]
        assert [float(s or -1) for s in shares] == pytest.approx(
            [float(s or -1) for s in expected[id_][1:-1]], abs=1e-4
        )


def test_several_labels_are_learnt_and_predicted_between_nodes(world: World) -> None:
    """A passive party hears of the task in the alignment."""
    world.tables = all_tables(world.root / "several").split(",")
    rows = np.arange(0, ROWS, 3)
    world.new = tables_of(world.root / "later", rows, rows, rows).split(",")
    world.run(run_name="first", tables=world.tables[0], **SETTINGS)
    asked: dict[str, Any] = {"task": "predict", "model": "first", "truth": True}
    world.run(run_name="scores", tables=world.new[0], **asked)
    said = read(world.state(0) / "scores" / "predictions.csv")
    assert [*said] == [f"id-{row:03d}" for row in rows]
    assert all(VALUES[0][TRUTH[row, 0]] == said[f"id-{row:03d}"][6] for row in rows)


@pytest.mark.parametrize("left", [KeyboardInterrupt, PartyAway("party-1 is gone")])
def test_an_interrupted_alignment_is_resumed(
    left: BaseException, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under its name, which all parties remember, with the same question."""
    with monkeypatch.context() as patch:
        patch.setattr("vfl_flower.alignment.active.align", Mock(side_effect=left))
        with pytest.raises(type(left) if isinstance(left, VflError) else Interrupted):
            world.run(run_name="first", tables=world.tables[0], **SETTINGS)
    with pytest.raises(VflError, match="exists and is not empty; choose another out, or resume"):
        world.run(run_name="first", tables=world.tables[0], **SETTINGS)
    world.run(resume="first")
    assert len(list(world.root.rglob(ALIGNMENT))) == 3
    assert (world.state(0) / "first" / "result.json").exists()


def test_an_alignment_serves_several_runs(world: World) -> None:
    world.run(task="align", run_name="rows", tables=world.tables[0], parties=3)
    for name in ("one", "two"):
        world.run(run_name=name, alignment="rows", tables=world.tables[0], **SETTINGS)
        assert (world.state(0) / name / "result.json").exists()
    assert len(list(world.root.rglob(ALIGNMENT))) == 3


def test_a_name_that_a_party_has_already_is_refused(world: World) -> None:
    world.run(task="align", run_name="rows", tables=world.tables[0], parties=3)
    kept = (world.state(1) / "rows" / "party-1" / ALIGNMENT).read_bytes()
    (world.state(0) / "rows").rename(world.state(0) / "away")
    with pytest.raises(VflError, match="party-1 has an alignment of this name already"):
        world.run(task="align", run_name="rows", tables=world.tables[0], parties=3)
    assert not (world.state(0) / "rows").exists()
    assert (world.state(1) / "rows" / "party-1" / ALIGNMENT).read_bytes() == kept


def test_alignments_and_predictions_keep_to_the_policy(world: World) -> None:
    tables = tuple(world.tables + world.new)
    data = (DataPolicy(name="customers", tables=tables),)
    world.policy = replace(OPEN, name="shop", run_names=("rows", "first"), data=data)
    with pytest.raises(RosterError, match=r"party-.: policy 'shop' refuses .* rule run-names"):
        world.run(task="align", run_name="others", tables=world.tables[0], parties=3)
    world.run(task="align", run_name="rows", tables=world.tables[0], parties=3)
    world.run(run_name="first", alignment="rows", tables=world.tables[0], **SETTINGS)
    scores = {"task": "predict", "model": "first", "run_name": "scores", "tables": world.new[0]}
    for changes, rule in (
        ({}, "run-names"),
        ({"run_names": ("*",), "most_predictions_a_day": 0}, "most-predictions-a-day"),
        ({"run_names": ("*",), "methods": ("easter",)}, "methods"),
        ({"run_names": ("*",), "require_secure_aggregation": True}, "require-secure-aggregation"),
        ({"run_names": ("*",), "data": (replace(data[0], tables=tables[:3]),)}, "data"),
    ):
        kept, world.policy = world.policy, replace(world.policy, **changes)
        with pytest.raises(RosterError, match=f"by its rule {rule}: "):
            world.run(**scores)
        world.policy = kept
    assert not (world.state(0) / "scores").exists()


def test_a_model_that_a_party_does_not_have_is_told_of(world: World) -> None:
    world.run(run_name="first", tables=world.tables[0], **SETTINGS)
    (world.state(2) / "first").rename(world.state(2) / "away")
    with pytest.raises(RosterError, match=r"party-2: .*network.json is missing"):
        world.run(task="predict", model="first", run_name="scores", tables=world.new[0])
    assert not (world.state(0) / "scores").exists()


@pytest.mark.parametrize(
    ("options", "own", "says"),
    [
        ({}, {}, "lacks table"),
        ({"task": "predict", "model": "first"}, {"table": "/a.toml"}, "lacks new-table"),
        ({"task": "predict", "model": "../first"}, {"new-table": "/a.toml"}, "the run-name of"),
        ({"task": "predict", "model": "/first"}, {"new-table": "/a.toml"}, "the run-name of"),
        ({"alignment": "../rows"}, {"table": "/a.toml"}, "the run-name of an alignment"),
        ({"tables": "a.toml"}, {"table": "a.toml"}, "absolute paths"),
        ({"task": "align", "alignment": "rows"}, {"table": "/a.toml"}, "leave alignment"),
    ],
)
def test_a_node_refuses(options: dict[str, Any], own: dict[str, str], says: str) -> None:
    """Among others, names that are paths out of its state folder."""
    with pytest.raises(ConfigError, match=says):
        own_config({"dataset": "own", "tables": "/x.toml", **options}, own)
