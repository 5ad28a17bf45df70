"""Repeatable uploads of a party that dies before counting one."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.blinding import send
from tests.helpers.contract import configured
from tests.helpers.data import chunk
from vfl_flower.common.codec import Array
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.privacy.client_dp.last_upload import LAST
from vfl_flower.privacy.client_dp.upload_log import Counts, Uploads
from vfl_flower.workflows.build_parties import build_passive

CFG = replace(
    configured("adptvfedconv"), dp_sigma=1.0, eval_batch_size=5
)  # its uploads can be asked for again


def asked(party: PassiveParty, exchange: int, batch: int) -> Array:
    """Return maps of five training rows, as they left."""
    (reply,), _ = send(party, exchange, "embed", chunk(party, batch), np.array(0))
    return reply


def dies(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("earlier", [0, 2])
def test_a_repeatable_upload_is_counted_once_wherever_its_party_dies(
    earlier: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next request gets the same noise, counted once."""
    log, written = Uploads(tmp_path / "party-1"), tmp_path / "party-1" / LAST
    party = build_passive(CFG, 1, tmp_path)
    for number in range(earlier):
        asked(party, number + 1, number)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Uploads, "add", dies)
        asked(party, earlier + 1, earlier)
    assert log.counts() == Counts(training=earlier, evaluation=0)
    noised = written.read_bytes()
    first, again = (asked(build_passive(CFG, 1, tmp_path), 1, earlier) for _ in range(2))
    assert np.array_equal(first, again)
    assert written.read_bytes() == noised
    assert log.counts() == Counts(training=earlier + 1, evaluation=0)


def test_a_damaged_upload_is_noised_anew_and_counted(tmp_path: Path) -> None:
    written = tmp_path / "party-1" / LAST
    first = asked(build_passive(CFG, 1, tmp_path), 1, 0)
    content = bytearray(written.read_bytes())
    content[-3] ^= 4
    written.write_bytes(content)
    again = asked(build_passive(CFG, 1, tmp_path), 1, 0)
    assert not np.array_equal(first, again)
    assert Uploads(tmp_path / "party-1").counts() == Counts(training=2, evaluation=0)


def test_another_request_is_noised_anew_and_counted(tmp_path: Path) -> None:
    """Only the last request is answered alike."""
    party = build_passive(CFG, 1, tmp_path)
    sent = [asked(party, exchange, batch) for exchange, batch in enumerate((0, 1, 0), 1)]
    assert len({array.tobytes() for array in sent}) == 3
    assert Uploads(tmp_path / "party-1").counts() == Counts(training=3, evaluation=0)
