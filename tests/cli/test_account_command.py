"""``vfl-flower account``: a data set's runs, uploads and epsilon."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.outcomes.commands import account
from tests.privacy.accounts.parties import CFG, party_of, policy, roll_call, upload
from vfl_flower.config.policy.record import OPEN
from vfl_flower.privacy.accounts.account import path_of
from vfl_flower.privacy.client_dp.accounting import epsilon_of_weight, most_weight, weight_of

WEIGHT = weight_of({2.0: 2, 4.0: 1})
LARGEST = 12.0


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """Return the state-dir of a node with three uploads of two runs."""
    rules = policy(largest_epsilon=LARGEST)
    for run, sigma, times in (("bank", 2.0, 2), ("shop", 4.0, 1)):
        party = party_of(tmp_path, run, rules, replace(CFG, dp_sigma=sigma, epochs=1))
        assert roll_call(party) == ""
        for _ in range(times):
            assert upload(party)[0]
    return tmp_path


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    assert account(["show", *arguments, "--json"]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["accounts"]
    return found


@pytest.mark.parametrize("accountant", ["rdp", "pld"])
def test_an_account_is_told_as_json(
    accountant: str, node: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (found,) = shown(capsys, "numbers", f"--state-dir={node}", f"--accountant={accountant}")
    assert [(run["run"], run["sigma"], run["uploads"]) for run in found["runs"]] == [
        ("bank/party-1", 2.0, 2),
        ("shop/party-1", 4.0, 1),
    ]
    assert all(run["begun"] <= run["last"] and len(run["tables"]) == 1 for run in found["runs"])
    assert found["epsilon"] == epsilon_of_weight(WEIGHT, 1e-5, accountant)
    assert (found["delta"], found["uploads"], found["largest_epsilon"]) == (1e-5, 3, LARGEST)
    left = most_weight(LARGEST, 1e-5, "rdp") - WEIGHT
    assert found["left"] == {"2": int(left * 4), "4": int(left * 16)}


def test_all_accounts_are_told_unless_one_is_named(
    node: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    upload(party_of(node, "clear", policy(), replace(CFG, dp_sigma=0.0)))
    path = path_of(node / "accounts", "numbers")
    path.with_name("other.jsonl").write_bytes(path.read_bytes())
    found = shown(capsys, f"--state-dir={node}", "--delta=1e-3")
    assert [each["data"] for each in found] == ["numbers", "other"]
    assert {(each["epsilon"], each["delta"]) for each in found} == {("inf", 1e-3)}


def test_an_account_is_printed_as_a_table(node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert account(["show", f"--state-dir={node}"]) == 0
    told = capsys.readouterr().out
    epsilon = epsilon_of_weight(WEIGHT, 1e-5, "rdp")
    for text in ("account of numbers", "bank/pa", f"epsilon {epsilon:.4g} at delta 1e-05, by rdp"):
        assert text in told
    assert "largest-epsilon 12\n  leaves " in told


def test_the_nodes_home_is_looked_at_without_a_folder(
    node: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("VFL_FLOWER_HOME", str(node))
    assert shown(capsys)[0]["uploads"] == 3


def test_counts_for_limits_are_told_beside_all_accounts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = replace(OPEN, most_requests=9, most_rows=900)
    for run, times in (("bank", 2), ("shop", 1)):
        party = party_of(tmp_path, run, rules, replace(CFG, dp_sigma=0.0))
        for _ in range(times):
            assert upload(party, rows=30)[0]
    assert account(["show", f"--state-dir={tmp_path}", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "accounts": [],
        "requests": {"bank/party-1": 2, "shop/party-1": 1},
        "rows": {"bank/party-1": 60, "shop/party-1": 30},
        "predicted": 0,
    }
    assert account(["show", f"--state-dir={tmp_path}"]) == 0
    told = capsys.readouterr().out
    assert "bank/party-1: 2 requests and 60 uploaded rows counted\n" in told


def test_a_missing_or_damaged_account_is_an_error(
    node: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert account(["show", "letters", f"--state-dir={node}"]) == 2
    assert "has no account of 'letters'; accounts: numbers" in one_line(capsys)
    assert account(["show", f"--state-dir={node / 'bank'}"]) == 2
    assert "there are no accounts in" in one_line(capsys)
    path = path_of(node / "accounts", "numbers")
    path.write_bytes(path.read_bytes().replace(b'"uploads":1', b'"uploads":0', 1))
    assert account(["show", f"--state-dir={node}"]) == 2
    assert "numbers.jsonl is damaged" in one_line(capsys)


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    return " ".join(capsys.readouterr().err.split())
