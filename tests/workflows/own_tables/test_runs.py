"""Runs on the parties' own tables."""

import json
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.helpers.datasets import add_dataset
from tests.helpers.outcomes.commands import align as align_tables
from tests.helpers.outcomes.commands import train as run
from tests.helpers.own_data.own import (
    NAMES,
    ROWS,
    TINY,
    X,
    Y,
    flags,
    ids_of,
    make,
    result_of,
    weights_of,
    write,
)
from tests.helpers.own_data.own_runs import align, trained
from vfl_flower.common.layout import ALIGNMENT
from vfl_flower.common.names import party_name
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.alignment_record import Alignment
from vfl_flower.data.columns import Column
from vfl_flower.data.datasets import DataSet
from vfl_flower.workflows import align as here
from vfl_flower.workflows.baselines import baselines_of
from vfl_flower.workflows.build_parties import build_active


@pytest.mark.parametrize("carrier", ["local", "amnesia"])
def test_aligned_rows_are_those_that_all_have(tables: str, carrier: str, tmp_path: Path) -> None:
    align(RunConfig(**TINY, tables=tables), carrier, tmp_path)
    kept = [Alignment.load(tmp_path / party_name(rank)) for rank in range(3)]
    ids = [np.array(ids_of(tables, k))[each.index].tolist() for k, each in enumerate(kept)]
    assert ids[0] == ids[1] == ids[2]
    assert set(ids[0]) == set.intersection(*(set(ids_of(tables, k)) for k in range(3)))
    assert 150 < len(ids[0]) < ROWS - 20
    assert {(k.nonce, k.classes, k.task, k.parties) for k in kept} == {
        (kept[0].nonce, 2, "binary", 3)
    }
    mode = (tmp_path / "party-1" / ALIGNMENT).stat().st_mode
    assert mode & 0o077 == 0


@pytest.mark.slow
@pytest.mark.parametrize("method", ["easter", "splitnn", "vimadmm"])
@pytest.mark.parametrize("carrier", ["local", "amnesia"])
def test_a_run_equals_one_on_data_that_are_aligned_already(
    method: str, carrier: str, tables: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = RunConfig(**TINY, tables=tables, method=method, alignment=str(tmp_path))
    align(own, "local", tmp_path)
    index = Alignment.load(tmp_path / "active").index
    rows = np.array([int(each[3:]) for each in ids_of(tables, 0)])[index]
    y = 1 - Y[rows]  # benign, malignant: in the order of their names
    made = DataSet(
        *(2, 0, lambda *_: X[rows].astype(np.float32), lambda *_: y.astype(np.int64)),
        columns=lambda *_: tuple(map(Column, NAMES)),
    )
    add_dataset(monkeypatch, f"made of {tmp_path}", made)
    named = replace(own, dataset=f"made of {tmp_path}", tables="", alignment="")
    assert named.party_randomness == "public"
    for ours, theirs in zip(trained(own, carrier), trained(named, "local"), strict=True):
        assert ours.keys() == theirs.keys()
        for name in ours:
            assert torch.equal(ours[name], theirs[name])
    central = [baselines_of(build_active(each))["central"] for each in (own, named)]
    assert central[0] == central[1]


def test_a_run_aligns_first_and_keeps_what_it_came_to(
    tables: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A resumed run, even in a moved folder, does not align again."""
    assert run(flags(tables, tmp_path / "run")) == 0
    told = capsys.readouterr().out
    assert "alignment 220/220" in told
    assert "party-2: alignment: 220 of 220 ids" in told
    assert "rows in common" in (tmp_path / "run" / "party-1" / "log.txt").read_text()
    result, weights = result_of(tmp_path / "run"), weights_of(tmp_path / "run")
    assert (result["task"], result["classes"]) == ("binary", ["benign", "malignant"])
    (tmp_path / "run" / "result.json").unlink()
    (tmp_path / "run").rename(tmp_path / "moved")
    monkeypatch.setattr(here, "align_here", None)
    assert run(["--resume", str(tmp_path / "moved")]) == 0
    assert result_of(tmp_path / "moved")["metrics"] == result["metrics"]
    assert weights_of(tmp_path / "moved") == weights


@pytest.mark.slow
def test_seeds_share_an_alignment_made_before(tables: str, tmp_path: Path) -> None:
    assert align_tables(["--parties=3", f"--tables={tables}", f"--out={tmp_path / 'rows'}"]) == 0
    said = tomllib.loads((tmp_path / "rows" / "config.toml").read_text())
    assert (said["task"], said["state"]) == ("align", "complete")
    named = f"--alignment={tmp_path / 'rows'}"
    assert run(flags(tables, tmp_path / "named", named)) == 0
    assert run(flags(tables, tmp_path / "two", "--seeds=2")) == 0
    summary = json.loads((tmp_path / "two" / "result.json").read_text())
    assert summary["seeds"] == [0, 1]
    assert sorted(tmp_path.rglob(ALIGNMENT)) == sorted(
        tmp_path / name / party_name(k) / ALIGNMENT for name in ("rows", "two") for k in range(3)
    )
    assert weights_of(tmp_path / "named") == weights_of(tmp_path / "two" / "seed-0")


def test_an_active_party_may_have_labels_only(tables: str, tmp_path: Path) -> None:
    folder = tmp_path / "tables"
    paths = make(folder).split(",")
    labels = [[f"id-{row:03d}", int(Y[row])] for row in range(ROWS)]
    write(folder, 0, labels, ["id", "outcome"], label="outcome")
    own = flags(",".join(paths), tmp_path / "out", "--method=splitnn")
    assert run([*own, "--active-columns=none"]) == 0
    assert result_of(tmp_path / "out")["models"][0] == "none"
    assert run([*own, f"--out={tmp_path / 'other'}"]) == 2


@pytest.mark.parametrize("aligned", [False, True])
def test_a_run_says_how_to_use_what_it_leaves_out(
    aligned: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Once, whether it aligns the tables itself or not."""
    tables = make(tmp_path / "tables")
    described = Path(tables.split(",")[1])
    table = described.with_suffix(".csv")
    head, *rows = table.read_text().splitlines()
    cells = [f"{row},{'?' if n % 20 == 0 else n / 7}" for n, row in enumerate(rows)]
    table.write_text("\n".join([f"{head},messy", *cells]) + "\n")
    out = str(tmp_path / "rows")
    if aligned:
        assert align_tables(["--parties=3", "--tables", tables, "--out", out]) == 0
        capsys.readouterr()
    more = ["--alignment", out] if aligned else []
    assert run(flags(tables, tmp_path / "run", "--method=splitnn", *more)) == 0
    log = (tmp_path / "run" / "party-1" / "log.txt").read_text()
    for told in (log, " ".join(capsys.readouterr().out.split())):
        assert told.count("column messy is ignored") == 1 and "are numbers" in told
