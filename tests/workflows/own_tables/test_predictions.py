"""Predictions of the parties' own tables."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv as csv_reader
import pyarrow.parquet as pq
import pytest
import torch
from torch import Tensor

from tests.helpers.contract import ClientTransport, passive_parties
from tests.helpers.outcomes.commands import predict as run
from tests.helpers.outcomes.commands import train
from tests.helpers.own_data.own import (
    NAMES,
    ROWS,
    X,
    flags,
    header,
    held,
    ids_of,
    make,
    result_of,
    write,
)
from tests.helpers.own_data.own_predictions import OF_IMAGES, Finished, Rows, new_tables, read, some
from vfl_flower.common.layout import ENCODER
from vfl_flower.common.names import party_name
from vfl_flower.config.registry import METHODS
from vfl_flower.data.alignment_record import Alignment
from vfl_flower.runs.run_folder import RunFolder
from vfl_flower.workflows.align import align_here
from vfl_flower.workflows.prediction import asked
from vfl_flower.workflows.trained_parties import (
    predicting_active,
    predicting_passive,
    prediction_of,
)


def id_of(row: int) -> str:
    return f"id-{row:03d}"


def check_missing(
    file: tuple[list[str], list[list[str]]], own: list[str], ids: list[set[str]]
) -> None:
    """Check the rows that are listed as missing, and the parties."""
    lost, missing = file
    assert lost == ["id", "missing_at"]
    assert [each for each, _ in missing] == [each for each in own if each not in ids[1] & ids[2]]
    for each, at in missing:
        assert at.split() == [f"party-{k}" for k in (1, 2) if each not in ids[k]]


@pytest.mark.parametrize("method", sorted({*METHODS} - OF_IMAGES))
def test_new_rows_are_predicted_and_others_listed(
    method: str,
    finished: Finished,
    tables: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In the active party's order, equal to the run's own predictions.

    Up to compression.
    """
    folder, rows = finished(f"--method={method}"), [some(1), some(2, 200), some(3, 200)]
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    out = tmp_path / "said.csv"
    assert run([str(folder), f"--tables={new_tables(tmp_path, *rows)}", f"--out={out}"]) == 0
    head, lines = read(out)
    assert head == ["id", "prediction", "probability_benign", "probability_malignant"]
    ids = [{*map(id_of, each)} for each in rows]
    common = set.intersection(*ids)
    assert [line[0] for line in lines] == [each for each in map(id_of, rows[0]) if each in common]
    assert all((float(line[3]) > 0.5) == (line[1] == "malignant") for line in lines)

    check_missing(read(tmp_path / "said.missing.csv"), [*map(id_of, rows[0])], ids)
    assert "rows are not at all parties" in capsys.readouterr().out

    assert run([str(folder), "--rows=all", f"--out={tmp_path / 'own.csv'}"]) == 0
    own = {line[0]: [float(each) for each in line[2:]] for line in read(tmp_path / "own.csv")[1]}
    assert [*own] == [each for each in ids_of(tables, 0) if each in own]
    both = [line for line in lines if line[0] in own]
    assert len(both) > 20
    for line in both:
        assert [float(each) for each in line[2:]] == pytest.approx(own[line[0]], abs=5e-3)
    after = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    assert {k: v for k, v in after.items() if k.name != "log.txt"} == {
        k: v for k, v in before.items() if k.name != "log.txt"
    }


def joint(folder: Path, method: str, x: list[Tensor]) -> Tensor:
    """Return a joint program's predictions from all encoded columns."""
    kept = RunFolder.reopen(folder, {})
    cfg = prediction_of(replace(kept.cfg, alignment=str(folder)), 0, folder)
    active = predicting_active(cfg)
    passive = [predicting_passive(replace(cfg), k) for k in (1, 2)]
    nets: list[Any] = [party.net for party in (active, *passive)]
    with torch.no_grad():
        each = [net.embed(rows) for net, rows in zip(nets, x, strict=True)]
        joined = torch.cat(each, dim=1) if method == "splitnn" else torch.stack(each).mean(0)
        said: Tensor = nets[0].decide(joined)
    return said


@pytest.mark.parametrize("carrier", ["local", "amnesia"])
@pytest.mark.parametrize("method", ["easter", "splitnn"])
def test_a_prediction_is_the_joint_model_s(
    method: str, carrier: str, finished: Finished, tmp_path: Path
) -> None:
    """Columns are encoded here by hand, from `encoder.json`."""
    folder = finished(f"--method={method}")
    rows = some(4)
    new = replace(
        RunFolder.reopen(folder, {}).cfg,
        tables=new_tables(tmp_path, rows, rows[::-1].copy(), np.sort(rows)),
        alignment=str(tmp_path),
    )
    cfgs = [prediction_of(new, rank, folder) for rank in range(3)]
    align_here(cfgs[0], tmp_path)
    active = predicting_active(cfgs[0])
    parties = passive_parties(carrier, lambda k: predicting_passive(cfgs[k], k), 2)
    said = asked(active, active.rows["test"], ClientTransport(carrier, parties.clients))
    x = []
    for rank in range(3):
        fitted = json.loads((folder / party_name(rank) / "model" / ENCODER).read_text())
        names = [each["name"] for each in fitted["numeric"]]
        columns = X[:, [NAMES.index(name) for name in names]].astype(np.float32)
        mean, deviation = (
            np.array([each[key] for each in fitted["numeric"]], np.float32)
            for key in ("mean", "deviation")
        )
        x.append(torch.from_numpy((columns - mean) / deviation))
    order = rows[Alignment.load(tmp_path / "active").index]
    expected = joint(folder, method, [each[torch.from_numpy(order)] for each in x])
    assert torch.allclose(said, expected, atol=1e-3)


@pytest.mark.slow
def test_numbers_are_predicted_in_their_own_unit(tmp_path: Path) -> None:
    y = (1000 + 50 * X[:, 3] / X[:, 3].std()).round(3)
    tables = make(tmp_path / "numbers", y.tolist())
    more = ("--method=splitnn", "--epochs=40")
    assert train(flags(tables, tmp_path / "run", *more)) == 0
    result = result_of(tmp_path / "run")
    assert result["task"] == "regression"
    assert "label-privacy" not in " ".join(result["unprotected"])
    for name in ("active", "party-1"):
        assert "label-privacy" not in (tmp_path / "run" / name / "model" / "card.md").read_text()
    rows, out = some(5), tmp_path / "said.parquet"
    new = new_tables(tmp_path, rows, rows, rows)
    assert run([str(tmp_path / "run"), f"--tables={new}", f"--out={out}"]) == 0
    made = pq.read_table(out).to_pydict()
    assert list(made) == ["id", "prediction"]
    truth = np.array([y[int(each[3:])] for each in made["id"]])
    assert np.abs(made["prediction"] - truth).mean() < 0.5 * np.abs(truth - truth.mean()).mean()
    assert pq.read_table(tmp_path / "said.missing.parquet").num_rows == 0


def test_categories_that_no_training_row_had_are_told_of(tmp_path: Path) -> None:
    folder = tmp_path / "tables"
    paths = make(folder).split(",")
    colours = ["red", "green"]
    rows = [[*row, colours[n % 2]] for n, row in enumerate(held(1, np.arange(ROWS)))]
    write(folder, 1, rows, header(1, "colour"))
    assert train(flags(",".join(paths), tmp_path / "run", "--epochs=0")) == 0
    chosen = some(6, 20)
    new = new_tables(tmp_path / "new", chosen, chosen, chosen).split(",")
    rows = [[*row, "blue" if n < 7 else "red"] for n, row in enumerate(held(1, chosen))]
    write(tmp_path / "new", 1, rows, header(1, "colour"))
    log = tmp_path / "run" / "party-1" / "log.txt"
    out = f"--out={tmp_path / 'said.csv'}"
    assert run([str(tmp_path / "run"), f"--tables={','.join(new)}", out]) == 0
    assert "column colour has a value that no training row had in 7 of 20 rows" in log.read_text()


def relabelled(folder: Path, words: list[str], rows: Rows, more: str = "") -> None:
    """Give party-1's table a column more."""
    lines = [[*row, words[n % len(words)]] for n, row in enumerate(held(1, rows))]
    write(folder, 1, lines, header(1, "more"), more=more)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("learnt", "now", "same"),
    [
        (["1", "2", "30"], ["1", "2", "30"], True),
        (["true", "false"], ["True", "FALSE"], True),
        (["yes", "no"], ["no", "yes"], False),
    ],
)
def test_categories_are_the_same_in_another_file(
    learnt: list[str], now: list[str], same: bool, tmp_path: Path
) -> None:
    """Numbers and booleans too; from Parquet to CSV and back."""
    tables = make(tmp_path / "tables")
    said = '[columns]\nmore = "categorical"\n'
    relabelled(tmp_path / "tables", learnt, np.arange(ROWS), said)
    if learnt[0] == "true":
        path = tmp_path / "tables" / "1.csv"
        pq.write_table(csv_reader.read_csv(path), path.with_suffix(".parquet"))
        toml = tmp_path / "tables" / "1.toml"
        toml.write_text(toml.read_text().replace("1.csv", "1.parquet"))
    more = ("--method=splitnn", "--epochs=3")
    assert train(flags(tables, tmp_path / "run", *more)) == 0
    rows = np.arange(0, ROWS, 3) if len(learnt) == 3 else np.arange(0, ROWS, 2)
    shares = []
    for name, words in (("learnt", learnt), ("now", now)):
        new = new_tables(tmp_path / name, rows, rows, rows)
        relabelled(tmp_path / name, words, rows, said)
        out = tmp_path / f"{name}.csv"
        assert run([str(tmp_path / "run"), f"--tables={new}", f"--out={out}"]) == 0
        shares.append(read(out)[1])
    assert (shares[0] == shares[1]) == same


def test_a_run_s_own_rows_are_what_was_learnt_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A changed description is refused, here and at a resume."""
    tables = make(tmp_path / "tables")
    assert train(flags(tables, tmp_path / "run", "--method=splitnn")) == 0
    toml = tmp_path / "tables" / "1.toml"
    content = toml.read_text()
    first = held(1, np.arange(ROWS))[0][1]
    toml.write_text(content + f'missing = ["{first}"]\n')
    with (tmp_path / "tables" / "1.csv").open() as file:
        first = next(line.split(",")[1] for line in list(file)[1:])
    toml.write_text(content + f'missing = ["{first}"]\n')
    out = tmp_path / "said.csv"
    assert run([str(tmp_path / "run"), "--rows=all", f"--out={out}"]) == 2
    assert "something else is said of it" in " ".join(capsys.readouterr().err.split())
    assert not out.exists()
    (tmp_path / "run" / "result.json").unlink()
    assert train(["--resume", str(tmp_path / "run")]) == 2
    assert "put its description back" in " ".join(capsys.readouterr().err.split())


def test_a_party_that_predicts_does_not_learn(finished: Finished, tmp_path: Path) -> None:
    folder, rows = finished("--method=splitnn"), some(7)
    new = replace(
        RunFolder.reopen(folder, {}).cfg,
        tables=new_tables(tmp_path, rows, rows, rows),
        alignment=str(tmp_path),
    )
    align_here(prediction_of(new, 0, folder), tmp_path)
    party = predicting_passive(prediction_of(new, 1, folder), 1)
    learning = ("embed", "update", "save", "restore", "checkpoint", "take_best")
    for exchange, phase in enumerate(learning, start=1):
        answer = party.fit([], {"exchange": exchange, "phases": phase, "arrays": "0"})[2]
        assert f"has no phase '{phase}'" in str(answer["message"])
