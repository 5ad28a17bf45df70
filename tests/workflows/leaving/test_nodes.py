"""Predictions between nodes, of which one has left."""

from pathlib import Path

import pandas as pd
import pytest

from tests.helpers.outcomes.commands import predict, train
from tests.helpers.own_data.nodes import SETTINGS, World
from tests.helpers.own_data.own import flags
from vfl_flower.common.errors import RosterError


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    made = World(tmp_path)
    monkeypatch.setenv("VFL_FLOWER_HOME", str(made.state(0)))
    return made


@pytest.mark.slow
def test_new_rows_are_aligned_and_predicted_without_it(world: World, tmp_path: Path) -> None:
    """As on one machine, where its table is not named either."""
    world.run(run_name="first", tables=world.tables[0], **SETTINGS)
    asked = {"task": "predict", "model": "first", "tables": world.new[0]}
    world.gone = frozenset({1})
    with pytest.raises(RosterError, match="missing after 1 s: party-1"):
        world.run(run_name="lost", party_timeout=1.0, **asked)
    world.run(run_name="scores", without="party-1", **asked)

    local = tmp_path / "local"
    assert train([*flags(",".join(world.tables), local), "--method=splitnn"]) == 0
    tables = f"--tables={world.new[0]},{world.new[2]}"
    out = local / "said.csv"
    assert predict([str(local), tables, "--without=party-1", f"--out={out}"]) == 0
    said, expected = (
        pd.read_csv(path).set_index("id").sort_index()
        for path in (world.state(0) / "scores" / "predictions.csv", out)
    )
    assert said.index.equals(expected.index)
    for name in expected.columns[1:]:
        assert said[name].to_numpy() == pytest.approx(expected[name].to_numpy(), abs=1e-4)
