"""Guesses of column names, by alignments that the active party begins."""

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.helpers.blinding import send
from tests.helpers.connections.streams import node
from tests.helpers.own_data.own import TINY, make
from vfl_flower.alignment.build import build_alignment_passive
from vfl_flower.alignment.label_check import MOST_A_DAY
from vfl_flower.alignment.messages import name_digest
from vfl_flower.alignment.passive import AlignmentPassive
from vfl_flower.common.layout import BEGUN
from vfl_flower.common.nonce import bytes_of
from vfl_flower.config.run_config import RunConfig

NONCE = "ab" * 16
OTHER = "the name of no column"


class Guesser:
    """An active party that begins alignments with names of its choice.

    Each gets a party that is built anew, as from one message or run to the next.
    """

    def __init__(self, folder: Path) -> None:
        self.cfg = RunConfig(**TINY, tables=make(folder / "tables"))
        self.root, self.exchange = folder / "state", 0
        self.party = self.built("first")
        self.columns = [column.name for column in self.party.table.columns]

    def built(self, run: str) -> AlignmentPassive:
        return build_alignment_passive(self.cfg, 1, self.root / run, root=self.root)

    def ask(self, party: AlignmentPassive, name: str, nonce: str = NONCE) -> str:
        """Return the refusal; empty if the party goes on."""
        self.exchange += 1
        label = name_digest(nonce, name)
        reply, metrics = send(party, self.exchange, "begin_alignment", bytes_of(nonce), label)
        assert reply == []
        return str(metrics.get("message", ""))


@pytest.fixture
def guesser(tmp_path: Path) -> Guesser:
    return Guesser(tmp_path)


def test_a_party_answers_for_one_name(guesser: Guesser) -> None:
    """All names of columns were found, one begun alignment each."""
    assert not guesser.ask(guesser.party, OTHER)
    for each in (guesser.party, guesser.built("first")):
        told = {guesser.ask(each, name) for name in (*guesser.columns, "x", "y")}
        assert told == {"party-1 has begun another alignment of this name; choose another run-name"}
    assert "another alignment" in guesser.ask(guesser.party, OTHER, "cd" * 16)
    assert not guesser.ask(guesser.built("first"), OTHER)  # the same question


def test_ids_are_not_announced_before_the_question_is_asked_and_counted(guesser: Guesser) -> None:
    """Ids could be guessed in alignments that no limit counted."""
    told = np.array([1, 5])
    reply, metrics = send(guesser.party, 1, "announce_ids", told)
    assert not reply
    assert metrics["message"] == "phase 'announce_ids' must follow 'begin_alignment'"
    guesser.exchange = 1
    assert not guesser.ask(guesser.party, OTHER)
    assert send(guesser.party, 3, "announce_ids", told)[0]


def test_a_refusal_names_no_column(guesser: Guesser) -> None:
    told = guesser.ask(guesser.party, guesser.columns[0].upper())
    assert told == (
        "party-1: a column has the name of the labels, which are the active party's; rename it, or "
        "say that it is ignored"
    )


def test_other_runs_are_counted_and_bounded(
    guesser: Guesser, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "vfl_flower")
    names = [guesser.columns[0], *(f"guess {n}" for n in range(MOST_A_DAY + 3))]
    told = [guesser.ask(guesser.built(f"run-{n}"), name) for n, name in enumerate(names)]
    assert "name of the labels" in told[0]
    assert told[1:MOST_A_DAY] == [""] * (MOST_A_DAY - 1)
    assert all("begins no more; wait, or ask its owner" in each for each in told[MOST_A_DAY:])
    assert f"alignment {MOST_A_DAY} of {MOST_A_DAY} in 24 hours" in caplog.text
    old = time.time() - 25 * 3600
    for path in guesser.root.rglob(BEGUN):
        os.utime(path, (old, old))
    assert not guesser.ask(guesser.built("the next day"), OTHER)


def test_another_alignment_than_the_one_begun_is_not_kept(guesser: Guesser) -> None:
    assert not guesser.ask(guesser.party, OTHER)
    party: Any = guesser.party
    party.aligner.rows = np.arange(3)
    facts = np.array([guesser.cfg.parties, 2, 0])
    for nonce in (bytes_of("cd" * 16), np.ones(16, np.float32), np.ones((2, 8), np.uint8)):
        _, metrics = send(party, guesser.exchange + 1, "keep_alignment", nonce, facts)
        assert metrics["error"] == "ProtocolError"
        guesser.exchange += 1
    _, metrics = send(party, guesser.exchange + 1, "keep_alignment", bytes_of(NONCE), facts)
    assert not metrics
    for rows, told in ((3, ""), (4, "has an alignment of this name already")):
        guesser.exchange += 1
        party.aligner.rows = np.arange(rows)
        _, metrics = send(party, guesser.exchange + 1, "keep_alignment", bytes_of(NONCE), facts)
        assert told in str(metrics.get("message", ""))
        assert bool(metrics) == bool(told)


@pytest.mark.parametrize(
    ("nonce", "label"),
    [
        (np.zeros(16, np.float32), np.zeros(32, np.uint8)),
        (np.full(16, np.nan, np.float32), np.zeros(32, np.uint8)),
        (np.zeros(15, np.uint8), np.zeros(32, np.uint8)),
        (np.zeros((16, 1), np.uint8), np.zeros(32, np.uint8)),
        (np.zeros(16, np.uint8), np.zeros(31, np.uint8)),
        (np.zeros(16, np.uint8), np.full(32, -1, np.int64)),
    ],
)
def test_what_is_no_nonce_and_no_digest_is_refused(
    nonce: Any, label: Any, guesser: Guesser
) -> None:
    _, metrics = send(guesser.party, 1, "begin_alignment", nonce, label)
    assert metrics["error"] == "ProtocolError"
    assert not list(guesser.root.rglob(BEGUN))


def test_a_node_counts_in_its_own_folder(tmp_path: Path) -> None:
    tables = make(tmp_path / "tables")
    options = RunConfig(**TINY, tables=tables, task="align", run_name="first").to_mapping()
    held = node(0, tmp_path / "state", options, table=tables.split(",")[1])
    party: Any = held._build(options)
    assert party.check.root == tmp_path / "state"
    _, metrics = send(party, 1, "begin_alignment", bytes_of(NONCE), name_digest(NONCE, OTHER))
    assert not metrics
    assert [*(tmp_path / "state").rglob(BEGUN)] == [tmp_path / "state/first/party-1" / BEGUN]
