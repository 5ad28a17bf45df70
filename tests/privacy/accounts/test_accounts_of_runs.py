"""Uploads are noted in their data set's account before they leave."""

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.client_privacy import STEPS, asked
from tests.helpers.contract import configured
from tests.helpers.data import rows_for
from tests.privacy.accounts.parties import CFG, account_in, party_of, policy, roll_call, upload
from vfl_flower.common.errors import PolicyError, PrivacyError
from vfl_flower.privacy.accounts.account import Account, path_of
from vfl_flower.privacy.accounts.account import account_in as in_process
from vfl_flower.privacy.client_dp.accounting import epsilon_of
from vfl_flower.privacy.client_dp.last_upload import LAST
from vfl_flower.workflows.build_parties import build_passive

PLANNED = STEPS + 3
WHOLE = math.ceil(10 * epsilon_of(2.0, PLANNED, 1e-5, "rdp")) / 10  # of one run
CLEAR = replace(CFG, dp_sigma=0.0)


def test_every_upload_is_noted_with_run_noise_clip_and_table(tmp_path: Path) -> None:
    party = party_of(tmp_path, "bank", policy(), replace(CFG, dp_clip=0.5))
    assert roll_call(party) == ""
    for name in ("embed", "embed_only", "embed_only"):
        assert upload(party, name) == (True, "")
    account = account_in(tmp_path)
    (block,) = account.blocks
    assert (block.run, block.sigma, block.clip, block.uploads) == ("bank/party-1", 2.0, 0.5, 3)
    assert [len(digest) for digest in block.tables] == [16]
    assert account.epsilon(1e-5) == epsilon_of(2.0, 3, 1e-5, "rdp")


def test_a_party_that_is_rebuilt_for_every_message_counts_alike(tmp_path: Path) -> None:
    for exchange, name in enumerate(("embed", "embed_only", "embed_only"), 1):
        party = party_of(tmp_path, "bank", policy())
        rows = rows_for(party, name)
        assert len(asked(party, exchange, name, rows)[0]) == 1
        assert len(asked(party, exchange, name, rows)[0]) == 1  # repeated: nothing new leaves
    assert [block.uploads for block in account_in(tmp_path).blocks] == [3]


def test_a_repeated_upload_that_is_paid_for_costs_nothing(tmp_path: Path) -> None:
    """Maps may be asked for again after a restart."""
    cfg = replace(configured("adptvfedconv"), dp_sigma=1.0)
    for exchange in (1, 2):
        party = party_of(tmp_path, "bank", policy(), cfg)
        assert upload(party, rows=5) == (True, "")
        assert account_in(tmp_path).uploads("bank/party-1") == 1, exchange
    assert (tmp_path / "bank" / "party-1" / LAST).exists()
    assert upload(party, rows=6) == (True, "")
    assert account_in(tmp_path).uploads("bank/party-1") == 2


def test_an_account_that_was_cut_learns_from_the_runs_own_count(tmp_path: Path) -> None:
    for _ in range(3):
        upload(party_of(tmp_path, "bank", policy()))
    path = path_of(tmp_path / "accounts", "numbers")
    lines = path.read_bytes().splitlines(keepends=True)
    path.unlink()
    path.write_bytes(b"".join(lines[:-2]))
    from_file = Account(path)
    from_file.read()
    assert from_file.uploads("bank/party-1") == 1
    in_process.cache_clear()
    assert upload(party_of(tmp_path, "bank", policy())) == (True, "")
    assert account_in(tmp_path).uploads("bank/party-1") == 4


def test_a_changed_table_goes_on_with_its_account(tmp_path: Path) -> None:
    """The account goes by the data set's name in the policy."""
    rules = policy(largest_epsilon=5.0)
    sent = 0
    for number, parties in enumerate((4, 3, 5)):
        party = party_of(tmp_path, f"run-{number}", rules, replace(CFG, parties=parties))
        sent += sum(upload(party)[0] for _ in range(3))
    assert sent == 4


def test_digests_of_tables_are_noted_at_the_roll_call(tmp_path: Path) -> None:
    digests = []
    for parties in (4, 3, 3):
        party = party_of(tmp_path, "bank", policy(), replace(CFG, parties=parties))
        assert roll_call(party) == ""
        upload(party)
        digests = account_in(tmp_path).blocks[0].tables
    assert len(digests) == len(set(digests)) == 2


def test_two_parties_of_one_machine_share_the_account(tmp_path: Path) -> None:
    """Both hold columns of the data set."""
    for rank in (1, 2):
        upload(party_of(tmp_path, "bank", policy(), rank=rank))
    account = account_in(tmp_path)
    assert [block.run for block in account.blocks] == ["bank/party-1", "bank/party-2"]


def test_runs_at_once_never_exceed_the_limit(tmp_path: Path) -> None:
    parties = [party_of(tmp_path, f"run-{n}", policy(largest_epsilon=5.0)) for n in range(4)]
    with ThreadPoolExecutor(4) as pool:
        sent = pool.map(lambda party: sum(upload(party)[0] for _ in range(3)), parties)
    assert sum(sent) == 4


# Refusals at the roll call ------------------------------------------------------------------------


def test_a_run_that_the_account_does_not_last_for_is_refused_with_what_is_left(
    tmp_path: Path,
) -> None:
    rules = policy(largest_epsilon=WHOLE)
    first = party_of(tmp_path, "first", rules)
    assert roll_call(first) == ""
    assert upload(first)[0]
    told = roll_call(party_of(tmp_path, "second", rules))
    spent = epsilon_of(2.0, 1, 1e-5, "rdp")
    assert told == (
        f"policy 'shop' refuses this run by its rule largest-epsilon: it is {WHOLE:g} over all "
        f"runs on 'numbers', {spent:.4g} is spent, which leaves {PLANNED - 1} uploads with "
        f"dp-sigma 2, and this run takes {PLANNED}"
    )


def test_what_a_resumed_run_has_sent_is_not_asked_for_again(tmp_path: Path) -> None:
    rules = policy(largest_epsilon=WHOLE)
    party = party_of(tmp_path, "bank", rules)
    assert roll_call(party) == ""
    upload(party)
    assert roll_call(party_of(tmp_path, "bank", rules)) == ""
    assert f"this run takes {PLANNED}" in roll_call(party_of(tmp_path, "shop", rules))


@pytest.mark.parametrize("changes", [{"dp_sigma": 0.0}, {"dp_eval": "clear"}])
def test_uploads_without_noise_are_refused_under_a_limit(
    changes: dict[str, Any], tmp_path: Path
) -> None:
    with pytest.raises(PolicyError, match="by its rule largest-epsilon"):
        party_of(tmp_path, "bank", policy(largest_epsilon=5.0), replace(CFG, **changes))


def test_an_upload_without_noise_is_noted_where_no_limit_forbids_it(tmp_path: Path) -> None:
    for _ in range(2):
        party = party_of(tmp_path, "bank", policy(), CLEAR)
        assert roll_call(party) == ""
        assert upload(party)[0]
    account = account_in(tmp_path)
    assert [(block.sigma, block.uploads) for block in account.blocks] == [(0.0, 1)]
    told = upload(party_of(tmp_path, "shop", policy(largest_epsilon=5.0)))
    assert "leaves none with dp-sigma 2" in told[1]  # nothing can be won back


def test_the_noise_that_a_target_finds_is_held_to_the_least(tmp_path: Path) -> None:
    cfg = replace(CFG, dp_sigma=0.0, target_epsilon=100.0)
    party = party_of(tmp_path, "bank", policy(least_sigma=3.0), cfg)
    assert party.privacy.budget
    found = party.privacy.budget.sigma
    assert found < 3
    told = (
        "policy 'shop' refuses this run by its rule least-sigma: it is 3 for 'numbers', and "
        f"dp-sigma is {found:g}"
    )
    assert roll_call(party) == told
    assert upload(party) == (False, told)
    assert roll_call(party_of(tmp_path, "shop", policy(least_sigma=found), cfg)) == ""


# Where there is none ------------------------------------------------------------------------------


def test_the_open_policy_keeps_no_account(tmp_path: Path) -> None:
    party = build_passive(CFG, 1, tmp_path / "bank")
    assert roll_call(party) == ""
    assert upload(party)[0]
    assert not (tmp_path / "accounts").exists()


def test_a_run_cannot_bear_the_name_of_the_accounts(tmp_path: Path) -> None:
    with pytest.raises(PrivacyError, match="run-name accounts is taken"):
        party_of(tmp_path, "accounts", policy())


def test_a_party_without_a_folder_has_no_place_for_an_account() -> None:
    with pytest.raises(PrivacyError, match="party-1 has no folder for the account"):
        build_passive(CLEAR, 1, policy=policy())
