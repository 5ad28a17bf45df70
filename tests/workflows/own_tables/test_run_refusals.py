"""Refusals of runs on the parties' own tables."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.contract import ClientTransport, passive_parties
from tests.helpers.outcomes.commands import align as align_tables
from tests.helpers.outcomes.commands import train as run
from tests.helpers.own_data.own import (
    NAMES,
    ROWS,
    SHARE,
    TINY,
    flags,
    header,
    held,
    make,
    write,
)
from tests.helpers.own_data.own_runs import align, stopped, trained
from vfl_flower.alignment.build import build_alignment_active, build_alignment_passive
from vfl_flower.common.errors import DataError, PartyError, RosterError
from vfl_flower.common.layout import ALIGNMENT
from vfl_flower.config.run_config import RunConfig
from vfl_flower.protocol.client import ProtocolClient
from vfl_flower.workflows.align import carried_out
from vfl_flower.workflows.build_parties import build_passive

Change = Callable[[Path], object]


ALL = np.arange(ROWS)


BAD: dict[str, tuple[Change, str]] = {
    "the label's column at a passive party": (
        lambda f: write(f, 1, [[*r, 1] for r in held(1, ALL)], header(1, "OUTCOME")),
        "party-1: a column has the name of the labels",
    ),
    "a column called label": (
        lambda f: write(f, 2, [[*r, 1] for r in held(2, ALL)], header(2, "label")),
        "party-2: a column has the name of the labels",
    ),
    "a passive party that names a label": (
        lambda f: write(f, 1, held(1, ALL), header(1), label=NAMES[SHARE]),
        "party-1: 1.toml names a label",
    ),
    "an active party that names none": (
        lambda f: write(f, 0, held(0, ALL), header(0)),
        "names no label; say which column it is",
    ),
    "ids of another type": (
        lambda f: write(f, 1, [[n, *r[1:]] for n, r in enumerate(held(1, ALL))], header(1)),
        "party-1's ids are whole numbers and the active party's are text",
    ),
    "no id in common": (
        lambda f: write(f, 1, [[f"other-{r[0]}", *r[1:]] for r in held(1, ALL)], header(1)),
        "the active party has 220 ids; party-1 has 240 and shares 0 of them",
    ),
    "too few rows in common": (
        lambda f: write(f, 2, held(2, np.arange(9)), header(2)),
        "rows are common to all parties: batch-size 64 is more than the",
    ),
    "no description": (lambda f: (f / "2.toml").unlink(), "party-2: "),
    "no file": (lambda f: (f / "1.csv").unlink(), "party-1: 1.csv cannot be read"),
    "no numbers": (
        lambda f: write(f, 1, held(1, ALL)[:0], header(1)),
        "party-1: 1.csv holds no rows",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_tables_are_told_of_and_leave_nothing(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change, told = BAD[case]
    tables = make(tmp_path / "tables")
    change(tmp_path / "tables")
    stopped(tables, tmp_path / "out", capsys, told)


def test_a_column_of_the_label_s_name_may_be_ignored(tmp_path: Path) -> None:
    tables = make(tmp_path / "tables")
    ignored = '[columns]\noutcome = "ignored"\n'
    rows = [[*row, 1] for row in held(1, ALL)]
    write(tmp_path / "tables", 1, rows, header(1, "outcome"), more=ignored)
    assert run(flags(tables, tmp_path / "out", "--epochs=0")) == 0


@pytest.mark.parametrize("count", [1, 2])
def test_each_party_needs_a_table(
    count: int, tables: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few = ",".join(tables.split(",")[:count])
    told = "tables names one table" if count == 1 else "tables names 2 tables, and parties is 3"
    stopped(few, tmp_path / "out", capsys, told)


def test_what_was_aligned_must_be_as_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = make(tmp_path / "tables")
    assert align_tables(["--parties=3", f"--tables={tables}", f"--out={tmp_path / 'rows'}"]) == 0
    named = f"--alignment={tmp_path / 'rows'}"
    stopped(
        tables, tmp_path / "out", capsys, "of 3 parties, and the run has 2", named, *two_of(tables)
    )
    stopped(tables, tmp_path / "out", capsys, "is missing: align", f"--alignment={tmp_path}")
    with (tmp_path / "tables" / "1.csv").open("a") as file:
        file.write(",".join(["id-999", *["1"] * SHARE]) + "\n")
    stopped(tables, tmp_path / "out", capsys, "party-1: 1.csv, or what is said of its ids", named)


@pytest.mark.parametrize("carrier", ["local", "amnesia"])
def test_a_table_that_changes_during_the_alignment_is_noticed(carrier: str, tmp_path: Path) -> None:
    """Be it then, or when the rows are used."""
    tables = make(tmp_path / "tables")
    cfg = RunConfig(**TINY, tables=tables, alignment=str(tmp_path))
    rows = held(1, np.arange(ROWS))

    def shuffled(k: int) -> ProtocolClient:
        party = build_alignment_passive(cfg, k, tmp_path)
        if k == 1:
            rows.reverse()
            write(tmp_path / "tables", 1, rows, header(1))
        return party

    parties = passive_parties(carrier, shuffled, 2)
    active = build_alignment_active(cfg, tmp_path)
    with pytest.raises((DataError, PartyError), match=r"has changed since|was changed"):
        carried_out(active, ClientTransport(carrier, parties.clients))
        build_passive(cfg, 1)


def two_of(tables: str) -> list[str]:
    """Return the flags of a run of two parties only."""
    two = ",".join(tables.split(",")[:2])
    return ["--parties=2", "--method=splitnn", f"--tables={two}"]


def test_parts_of_two_alignments_do_not_go_together(tables: str, tmp_path: Path) -> None:
    cfg = RunConfig(**TINY, tables=tables, alignment=str(tmp_path / "mixed"))
    for name in ("mixed", "other"):
        align(cfg, "local", tmp_path / name)
    shutil.copy(tmp_path / "other/party-1" / ALIGNMENT, tmp_path / "mixed/party-1" / ALIGNMENT)
    with pytest.raises(RosterError, match="party-1 has alignment = "):
        trained(cfg, "local")


@pytest.mark.slow
def test_a_run_does_not_go_on_with_another_alignment(
    tables: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(flags(tables, tmp_path / "out")) == 0
    (tmp_path / "out" / "result.json").unlink()
    assert align_tables(["--parties=3", f"--tables={tables}", f"--out={tmp_path / 'rows'}"]) == 0
    assert run(["--resume", str(tmp_path / "out"), f"--alignment={tmp_path / 'rows'}"]) == 2
    assert "another alignment of the tables" in capsys.readouterr().err
