"""New parties with tables of their own join, here and between nodes."""

from pathlib import Path

import numpy as np
import pytest

from tests.helpers.connections.services import calling, service_of
from tests.helpers.outcomes.commands import inspect, predict, report, train
from tests.helpers.own_data.nodes import SETTINGS, World
from tests.helpers.own_data.own import ROWS, flags, header, held, make, result_of, weights_of, write
from tests.helpers.own_data.own_predictions import read
from vfl_flower.common.layout import ENCODER, SPLIT, TARGET, model_of
from vfl_flower.common.names import party_name
from vfl_flower.data.alignment_record import Alignment
from vfl_flower.data.splitting.record import Split
from vfl_flower.data.splitting.rows import rows_of
from vfl_flower.runs.run_folder import RunFolder

ADDED = ("--method=agg_vfl", "--blinding=none", "--models=mlp")
TWO = ("--parties=2", *ADDED)


def of_two(tables: str) -> str:
    return ",".join(tables.split(",")[:2])


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two parties train a model, and a third joins."""
    root = tmp_path_factory.mktemp("joining")
    tables = make(root / "tables")
    assert train(flags(of_two(tables), root / "old", *TWO)) == 0
    joining = (f"--model={root / 'old'}", "--new-parties=1")
    assert train(flags(tables, root / "new", *ADDED, *joining)) == 0
    return root


def parts_by_row(run: Path) -> dict[int, str]:
    """Return the part of each row of the active party's table."""
    index = Alignment.load(run / "active").index
    told = run / "active" / SPLIT
    split = Split.load(run / "active") if told.exists() else None
    rows = rows_of(RunFolder.reopen(run, {}).cfg, len(index), split)
    return {int(index[row]): part for part, each in rows.items() for row in each}


def test_old_parties_stay_and_use_their_encoders(runs: Path) -> None:
    old, new = runs / "old", runs / "new"
    for rank in (0, 1):
        kept, now = (model_of(run / party_name(rank)) for run in (old, new))
        assert (kept / ENCODER).read_bytes() == (now / ENCODER).read_bytes()
        assert (kept / "weights.safetensors").read_bytes() == (
            now / "weights.safetensors"
        ).read_bytes()
    kept, now = (model_of(run / "active") / TARGET for run in (old, new))
    assert kept.read_bytes() == now.read_bytes()
    assert result_of(new)["joined"] == {
        "model": "old",
        "digest": result_of(new)["joined"]["digest"],
        "parties": ["party-2"],
    }


def test_rows_keep_their_parts(runs: Path) -> None:
    """No training row of the model becomes a test row."""
    before, now = parts_by_row(runs / "old"), parts_by_row(runs / "new")
    assert len(now) < len(before)
    assert now.items() <= before.items()
    assert set(now.values()) == {"train", "validation", "test"}


@pytest.mark.slow
def test_the_joined_model_needs_the_old_one_no_more(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (runs / "old").rename(runs / "away")
    try:
        out = tmp_path / "test.csv"
        assert predict([str(runs / "new"), "--rows=test", "--truth", f"--out={out}"]) == 0
        rows = np.arange(0, ROWS, 4)
        paths = [write(tmp_path, k, held(k, rows), header(k)) for k in range(3)]
        said = tmp_path / "said.csv"
        tables = ",".join(map(str, paths))
        assert predict([str(runs / "new"), f"--tables={tables}", f"--out={said}"]) == 0
        assert inspect([str(runs / "new")]) == 0
        assert "party-2 joined old" in capsys.readouterr().out
        assert report([str(runs / "new"), f"--page={tmp_path / 'page.html'}"]) == 0
        assert "party-2 joined old" in (tmp_path / "page.html").read_text()
        lines = read(out)[1]
        with calling(service_of(runs / "new", tmp_path)) as caller:
            answers = caller.predictions([line[0] for line in lines])
        assert [each["prediction"] for each in answers] == [line[1] for line in lines]
    finally:
        (runs / "away").rename(runs / "old")
    right = sum(line[1] == line[-1] for line in lines) / len(lines)
    assert right == pytest.approx(result_of(runs / "new")["test_accuracy"]["active"])
    assert len(said.read_text().splitlines()) == len(rows) + 1


def test_a_changed_active_table_is_refused(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = make(tmp_path / "tables", [["malignant", "benign"][n % 2] for n in range(ROWS)])
    joining = (f"--model={runs / 'old'}", "--new-parties=1")
    assert train(flags(tables, tmp_path / "new", *ADDED, *joining)) == 2
    assert "its table has changed since the model was trained" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


@pytest.mark.slow
def test_a_joined_model_can_be_joined(runs: Path, tmp_path: Path) -> None:
    tables = [*(runs / "tables" / f"{k}.toml" for k in range(3))]
    rows = np.random.default_rng(5).permutation(ROWS)[: ROWS - 20]
    (tmp_path / "more").mkdir()
    fourth = write(tmp_path / "more", 3, held(1, rows), header(1))
    joining = (f"--model={runs / 'new'}", "--new-parties=1", "--parties=4")
    named = ",".join(map(str, [*tables, fourth]))
    assert train(flags(named, tmp_path / "third", *ADDED, *joining)) == 0
    assert weights_of(tmp_path / "third")[:3] == weights_of(runs / "new")
    assert parts_by_row(tmp_path / "third").items() <= parts_by_row(runs / "new").items()


@pytest.mark.slow
def test_between_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each party finds its part of the model by the run's name."""
    world = World(tmp_path)
    monkeypatch.setenv("VFL_FLOWER_HOME", str(world.state(0)))
    settings = SETTINGS | {"method": "agg_vfl", "blinding": "none", "models": "mlp"}
    world.run(run_name="first", tables=world.tables[0], **{**settings, "parties": 2})
    joining = {"model": "first", "new_parties": 1}
    world.run(run_name="second", tables=world.tables[0], **settings, **joining)
    for rank in (0, 1):
        kept, now = (
            world.state(rank) / run / party_name(rank) / "model" / "weights.safetensors"
            for run in ("first", "second")
        )
        assert kept.read_bytes() == now.read_bytes()
    assert not (world.state(2) / "first").exists()
    asked = {"task": "predict", "model": "second", "run_name": "scores"}
    world.run(**asked, tables=world.new[0])
    assert (world.state(0) / "scores" / "predictions.csv").exists()
