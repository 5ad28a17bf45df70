"""Predictions of a day are counted for a party's policy."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.helpers.own_data.own_predictions import Finished, new_tables, some
from tests.privacy.accounts.parties import roll_call, upload
from vfl_flower.config.policy.record import OPEN, DataPolicy, Policy
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.privacy.accounts.account import Account, path_of
from vfl_flower.privacy.accounts.counters import DAY
from vfl_flower.runs.run_folder import RunFolder
from vfl_flower.workflows.align import align_here
from vfl_flower.workflows.trained_parties import predicting_passive, prediction_of


def predicting(folder: Path, tables: Path, policy: Policy) -> PassiveParty:
    """Build the first passive party of a prediction of a hundred rows."""
    rows = some(7, 100)
    cfg = RunFolder.reopen(folder, {}).cfg
    names = new_tables(tables, rows, rows, rows)
    new = replace(cfg, tables=names, alignment=str(tables))
    if not (tables / "party-1").exists():
        align_here(prediction_of(new, 0, folder), tables)
    return predicting_passive(prediction_of(new, 1, folder), 1, policy=policy)


def test_predictions_are_counted_over_all_runs_of_a_day(
    finished: Finished, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1_763_800_000.0
    monkeypatch.setattr("vfl_flower.privacy.accounts.counters.time.time", lambda: now)
    rules = replace(OPEN, name="shop", most_predictions_a_day=150)
    folder = finished("--method=splitnn")
    party = predicting(folder, tmp_path, rules)
    rows = len(party.data.rows["test"])
    assert 75 < rows <= 100
    assert roll_call(party) == ""
    assert upload(party, rows=rows) == (True, "")
    again = predicting(folder, tmp_path, rules)
    told = "policy 'shop' refuses this {} by its rule most-predictions-a-day: it is 150"
    assert roll_call(again) == (
        f"{told.format('run')}, {150 - rows} are left, and {rows} are to be predicted"
    )
    assert upload(again, rows=rows) == (False, told.format("upload"))
    assert upload(again, rows=150 - rows) == (True, "")
    now += DAY
    assert roll_call(predicting(folder, tmp_path, rules)) == ""
    assert upload(again, rows=rows) == (True, "")


def test_a_prediction_is_noted_in_the_account_of_the_new_table(
    finished: Finished, tmp_path: Path
) -> None:
    folder = finished("--method=splitnn", "--dp-sigma=2", "--epochs=1")
    plain = predicting(folder, tmp_path, OPEN)
    data = DataPolicy(name="new", tables=(plain.cfg.table_of(1),), largest_epsilon=20.0)
    party = predicting(folder, tmp_path, replace(OPEN, data=(data,)))
    assert roll_call(party) == ""
    assert upload(party, rows=20) == (True, "")
    account = Account(path_of(folder.parent / "accounts", "new"))
    account.read()
    (block,) = account.blocks
    assert (block.run, block.sigma, block.uploads) == (f"{folder.name}/party-1", 2.0, 1)
    assert party.privacy.counts().total() > 1  # those of training, on another table
