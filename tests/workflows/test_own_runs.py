"""Runs on tables of the parties' own, from files to a result, and what stops them before that."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.datasets import load_diabetes

from tests.helpers.commands import align as align_tables
from tests.helpers.commands import train as run
from tests.helpers.contract import ClientTransport, carry, passive_parties
from tests.helpers.data import columns_of, labels_of
from tests.helpers.datasets import add_dataset
from tests.helpers.own import (
    NAMES,
    ROWS,
    SHARE,
    TINY,
    X,
    Y,
    flags,
    header,
    held,
    ids_of,
    make,
    result_of,
    weights_of,
    write,
)
from vfl_flower.alignment.build import build_alignment_active, build_alignment_passive
from vfl_flower.common.errors import ConfigError, DataError, PartyError, RosterError
from vfl_flower.common.names import party_name
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.alignment_record import ALIGNMENT, Alignment
from vfl_flower.data.columns import Column
from vfl_flower.data.datasets import DataSet
from vfl_flower.protocol.client import ProtocolClient
from vfl_flower.workflows import align as here
from vfl_flower.workflows.align import carried_out
from vfl_flower.workflows.baselines import bounds_of
from vfl_flower.workflows.build_parties import build_active, build_passive


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make(tmp_path_factory.mktemp("tables"))


def align(cfg: RunConfig, carrier: str, folder: Path) -> None:
    """Align over a carrier."""
    parties = passive_parties(carrier, lambda k: build_alignment_passive(cfg, k, folder), 2)
    active = build_alignment_active(cfg, folder)
    carried_out(active, ClientTransport(carrier, parties.clients))


def trained(cfg: RunConfig, carrier: str) -> list[dict[str, torch.Tensor]]:
    """Train over a carrier, and return all parties' weights."""
    parties = passive_parties(carrier, lambda k: build_passive(cfg, k), 2)
    active = build_active(cfg)
    carry(carrier, active, parties.clients)
    return [active.net.state_dict(), *parties.weights()]


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
    central = [bounds_of(build_active(each))["central"] for each in (own, named)]
    assert central[0] == central[1]


def test_a_run_aligns_first_and_keeps_what_it_came_to(
    tables: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run that goes on, even in a folder that was moved, does not align again."""
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


def test_seeds_share_an_alignment_made_before(tables: str, tmp_path: Path) -> None:
    assert align_tables(["--parties=3", f"--tables={tables}", f"--out={tmp_path / 'rows'}"]) == 0
    assert not (tmp_path / "rows" / "config.toml").exists()
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


# What stops a run -------------------------------------------------------------------------------


def stopped(
    tables: str, out: Path, capsys: pytest.CaptureFixture[str], told: str, *more: str
) -> None:
    """See that a run ends with an error that says so, and leaves nothing."""
    capsys.readouterr()
    assert run(flags(tables, out, *more)) == 2
    err = capsys.readouterr().err
    assert told in err, err
    assert err.startswith("error: ") and err.count("\n") == 1
    assert not out.exists()


Change = Callable[[Path], object]
ALL = np.arange(ROWS)
BAD: dict[str, tuple[Change, str]] = {
    "the label's column at a passive party": (
        lambda f: write(f, 1, [[*r, 1] for r in held(1, ALL)], header(1, "OUTCOME")),
        "column OUTCOME has the name of the labels",
    ),
    "a column called label": (
        lambda f: write(f, 2, [[*r, 1] for r in held(2, ALL)], header(2, "label")),
        "party-2: column label has the name of the labels",
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
    told = "tables lists one description" if count == 1 else "tables lists 2 values for 3 parties"
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
        if k == 0:
            rows.reverse()
            write(tmp_path / "tables", 1, rows, header(1))
        return party

    parties = passive_parties(carrier, shuffled, 2)
    active = build_alignment_active(cfg, tmp_path)
    with pytest.raises((DataError, PartyError), match=r"has changed since|was changed"):
        carried_out(active, ClientTransport(carrier, parties.clients))
        build_passive(cfg, 0)


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


def test_a_run_does_not_go_on_with_another_alignment(
    tables: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(flags(tables, tmp_path / "out")) == 0
    (tmp_path / "out" / "result.json").unlink()
    assert align_tables(["--parties=3", f"--tables={tables}", f"--out={tmp_path / 'rows'}"]) == 0
    assert run(["--resume", str(tmp_path / "out"), f"--alignment={tmp_path / 'rows'}"]) == 2
    assert "another alignment of the tables" in capsys.readouterr().err


# Numbers, and rare classes ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return tables whose labels are numbers, in a unit of their own."""
    bunch = load_diabetes()
    y = (1000 + 50 * (X[:, 3] / X[:, 3].std()) + bunch.target[:ROWS] / 100).round(3)
    return make(tmp_path_factory.mktemp("numbers"), y.tolist())


@pytest.mark.parametrize("method", ["easter", "splitnn", "agg_vfl", "vafl", "fedbcd", "c_vfl"])
def test_numbers_are_learnt_too(method: str, numbers: str, tmp_path: Path) -> None:
    more = (f"--method={method}", "--epochs=12", "--keep=best", "--bounds=on")
    assert run(flags(numbers, tmp_path / "out", *more)) == 0
    result = result_of(tmp_path / "out")
    assert (result["task"], result["classes"]) == ("regression", [])
    assert result["loss"] == "mean-squared-error"
    metrics = result["metrics"]["active"]
    assert metrics["r2"] == pytest.approx(result["test_accuracy"]["active"])
    assert 0.4 < metrics["r2"] < 1
    assert 0.4 < result["bounds"]["local"] < 1
    assert 1 < metrics["mae"] < 40  # in the file's unit, of which labels are 50 apart
    assert metrics["mse"] > metrics["mae"] ** 2
    lines = (tmp_path / "out" / "metrics.jsonl").read_text().splitlines()
    scores = [np.mean([*json.loads(line)["validation_accuracy"].values()]) for line in lines]
    steps = [json.loads(line)["step"] for line in lines]
    assert result["counting_step"] == steps[int(np.argmax(scores))]


@pytest.mark.parametrize(
    "more",
    [
        *([f"--method={method}"] for method in ("pravfed", "fdml", "vimadmm", "linear_admm")),
        ["--method=c_vfl", "--share-labels"],
        ["--label-privacy=laplace"],
        ["--class-weights=balanced"],
        ["--long-tail=3"],
        ["--loss=cross-entropy"],
    ],
)
def test_what_is_of_classes_is_refused_for_numbers(
    more: list[str], numbers: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stopped(numbers, tmp_path / "out", capsys, "is of classes, and the labels are numbers", *more)


def test_a_loss_of_numbers_is_refused_for_classes(
    tables: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stopped(tables, tmp_path / "out", capsys, "labels are classes", "--loss=mean-squared-error")


@pytest.mark.parametrize("loss", ["cross-entropy", "binary-cross-entropy"])
def test_balanced_classes_weigh_alike(loss: str, tables: str, tmp_path: Path) -> None:
    """A loss of outputs that say nothing has each class's share of it."""
    cfg = RunConfig(**TINY, tables=tables, loss=loss, alignment=str(tmp_path))
    align(cfg, "local", tmp_path)
    active = build_active(replace(cfg, class_weights="balanced"))
    y = active.y[torch.from_numpy(active.rows["train"])]
    assert (y == 0).sum() != (y == 1).sum()
    logits = torch.randn(len(y), 2, generator=torch.Generator().manual_seed(1))
    plain = build_active(cfg).loss
    by_class = [plain(logits[y == c], y[y == c]).item() for c in (0, 1)]
    assert active.loss(logits, y).item() == pytest.approx(sum(by_class) / 2, rel=1e-5)


def test_weights_of_classes_are_refused_where_they_would_not_act() -> None:
    for given in ({"method": "vimadmm"}, {"method": "fdml"}, {"label_privacy": "laplace"}):
        with pytest.raises(ConfigError, match="class-weights"):
            RunConfig(class_weights="balanced", **given)  # type: ignore[arg-type]


def test_label_privacy_noises_own_labels(tables: str, tmp_path: Path) -> None:
    cfg = RunConfig(**TINY, tables=tables, alignment=str(tmp_path))
    align(cfg, "local", tmp_path)
    private = replace(cfg, label_privacy="randomized-response", label_epsilon=0.5)
    active = build_active(private)
    assert not torch.equal(active.training_labels.labels.argmax(1), labels_of(cfg))
    assert torch.equal(active.y, labels_of(private))
    assert columns_of(private, 1).shape == (len(active.y), SHARE)
