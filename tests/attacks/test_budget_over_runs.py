"""Renamed runs and deleted folders get no new privacy budget."""

import shutil
from pathlib import Path

import pytest

from tests.privacy.accounts.parties import account_in, party_of, policy, upload
from vfl_flower.privacy.accounts.account import account_in as in_process

LARGEST = 5.0
RULES = policy(largest_epsilon=LARGEST)


@pytest.mark.parametrize("deletes", [True, False])
@pytest.mark.parametrize("restarts", [True, False])
def test_a_new_name_or_an_empty_folder_is_no_new_budget(
    deletes: bool, restarts: bool, tmp_path: Path
) -> None:
    """The node goes on, or is started anew between the runs."""
    sent = []
    for number in range(4):
        party = party_of(tmp_path, "the same" if deletes else f"run-{number}", RULES)
        answers = [upload(party) for _ in range(3)]
        sent.append(sum(came for came, _ in answers))
        texts = {text for came, text in answers if not came}
        assert texts <= {
            "policy 'shop' refuses this upload by its rule largest-epsilon: 5 over all runs on "
            "'numbers' leaves none with dp-sigma 2"
        }
        if deletes:
            shutil.rmtree(tmp_path / "the same", ignore_errors=True)
        if restarts:
            in_process.cache_clear()
    assert sent == [3, 1, 0, 0]
    account = account_in(tmp_path)
    assert account.epsilon(1e-5) <= LARGEST
    assert sum(block.uploads for block in account.blocks) == 4
