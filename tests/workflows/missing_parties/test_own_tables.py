"""Aligned tables of which parties lack rows: trained, predicted, resumed."""

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.outcomes.commands import train
from tests.helpers.own_data.own import flags
from tests.helpers.own_data.own_runs import align
from tests.helpers.own_data.partly import PARTIES, make, presence
from vfl_flower.common.errors import DataError, PartyError
from vfl_flower.common.layout import ROW_SETS
from vfl_flower.common.names import party_name
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.alignment_record import Alignment
from vfl_flower.data.loading import load_party
from vfl_flower.workflows.simulate import predict

USE = ("--missing-parties=use", f"--parties={PARTIES}", "--method=agg_vfl", "--models=mlp")
LEFT = (*USE[1:], "--missing-parties=refuse")


def config(tables: str) -> RunConfig:
    return RunConfig(dataset="own", tables=tables, parties=PARTIES, missing_parties="use")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """Return tables and a run on all rows that two parties have."""
    folder = tmp_path_factory.mktemp("partly")
    tables = make(folder / "tables")
    assert train(flags(tables, folder / "run", *USE)) == 0
    return tables, folder / "run"


@pytest.mark.parametrize("carrier", ["local", "amnesia", "stream"])
def test_alignment_keeps_who_has_which_row(carrier: str, tmp_path: Path) -> None:
    cfg = config(make(tmp_path / "tables"))
    align(cfg, carrier, tmp_path / "aligned", PARTIES - 1)
    active, *passive = [
        Alignment.load(tmp_path / "aligned" / party_name(rank)) for rank in range(PARTIES)
    ]
    kept = presence()[presence().sum(1) >= 2]
    assert len(active.index) == len(kept) > presence().all(1).sum()
    assert active.presence is not None
    for rank, each in enumerate(passive, 1):
        assert np.array_equal(each.index >= 0, active.presence[:, rank - 1])
        assert each.names is not None
        assert (each.names != 0).tolist() == (each.index >= 0).tolist()
    order = np.argsort(active.index)  # the active party's rows are those of the made tables
    assert sorted(map(tuple, active.presence[order].tolist())) == sorted(map(tuple, kept.tolist()))


def test_names_of_rows_are_those_of_ids(tmp_path: Path) -> None:
    here = presence()
    cfg = config(make(tmp_path / "one"))
    align(cfg, "local", tmp_path / "first", PARTIES - 1)
    here[:, 1:] = True
    other = config(make(tmp_path / "two", here))
    align(other, "local", tmp_path / "second", PARTIES - 1)
    first, second = (Alignment.load(tmp_path / f / "party-1") for f in ("first", "second"))
    assert first.names is not None and second.names is not None
    assert {*first.names.tolist()} <= {*second.names.tolist()}


def test_rows_that_a_party_lacks_are_zeros_there(tmp_path: Path) -> None:
    cfg = config(make(tmp_path / "tables"))
    align(cfg, "local", tmp_path / "aligned", PARTIES - 1)
    data = load_party(replace(cfg, alignment=str(tmp_path / "aligned")), 2)
    assert data.presence is not None
    assert not data.numbers[~data.presence].any()
    assert data.numbers[data.presence].any()


def test_an_alignment_with_such_rows_is_not_of_all_rows(tmp_path: Path) -> None:
    cfg = config(make(tmp_path / "tables"))
    align(cfg, "local", tmp_path / "aligned", PARTIES - 1)
    refusing = replace(cfg, alignment=str(tmp_path / "aligned"), missing_parties="refuse")
    for rank in range(PARTIES):
        with pytest.raises(DataError, match="rows that some party lacks"):
            load_party(refusing, rank)


def test_an_alignment_of_all_rows_does_for_no_run_with_others(tmp_path: Path) -> None:
    """Its rows have no names, by which contributors are known again."""
    cfg = config(make(tmp_path / "tables"))
    align(replace(cfg, missing_parties="refuse"), "local", tmp_path / "aligned", PARTIES - 1)
    with pytest.raises(DataError, match="party-1: its alignment names no rows"):
        load_party(replace(cfg, alignment=str(tmp_path / "aligned")), 1)


def test_more_rows_are_used(run: tuple[str, Path]) -> None:
    _, folder = run
    used = (presence().sum(1) >= 2).sum()
    assert len(Alignment.load(folder / party_name(0)).index) == used > presence().all(1).sum()


def test_a_run_that_leaves_rows_out_says_how_many(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(flags(make(tmp_path / "tables"), tmp_path / "run", *LEFT)) == 0
    counts = presence().sum(1)
    gained = ((counts >= 2) & (counts < PARTIES - 1)).sum()
    told = capsys.readouterr()
    assert f"{gained} rows are left out, which some party lacks" in told.out + told.err


def test_new_rows_that_two_parties_have_are_predicted(
    run: tuple[str, Path], tmp_path: Path
) -> None:
    tables, folder = run
    predict(folder, tmp_path / "said.csv", tables, None)
    with (tmp_path / "said.csv").open() as file:
        said = list(csv.DictReader(file))
    assert len(said) == (presence().sum(1) >= 2).sum()


@pytest.mark.slow
def test_a_row_with_other_parties_is_refused_for_the_same_model(tmp_path: Path) -> None:
    tables = make(tmp_path / "tables")
    assert train(flags(tables, tmp_path / "run", *USE)) == 0
    predict(tmp_path / "run", tmp_path / "said.csv", tables, None)
    for k in range(1, PARTIES):
        assert (tmp_path / "run" / party_name(k) / ROW_SETS).is_file()
    here = presence()
    here[np.flatnonzero(here.sum(1) == 2)[0]] = True  # a customer of two is one of all
    later = make(tmp_path / "later", here)
    with pytest.raises(PartyError, match="rows were in sums of other parties"):
        predict(tmp_path / "run", tmp_path / "again.csv", later, None)
