"""A split that is told: checked, kept, everywhere the same."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import vfl_flower
from tests.helpers.connections.streams import RUN, FakeGrid, node
from tests.helpers.outcomes.commands import predict, train
from tests.helpers.own_data.own import (
    NAMES,
    ROWS,
    TINY,
    X,
    Y,
    flags,
    header,
    held,
    result_of,
    weights_of,
    write,
)
from vfl_flower import Table
from vfl_flower.common.errors import ConfigError, DataError, PartyError, RosterError, RunError
from vfl_flower.common.layout import SPLIT
from vfl_flower.common.names import party_name
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.loading import SplitData, run_data
from vfl_flower.data.splitting.record import Split
from vfl_flower.privacy.label_dp.training_labels import NOISED
from vfl_flower.splitting.active import SplitActive
from vfl_flower.splitting.build import build_split_passive, drawn
from vfl_flower.transport.local import run_local
from vfl_flower.workflows.build_parties import build_active, build_passive

LABELS = ["ok" if row % 5 else "fraud" for row in range(ROWS)]
REGIONS = [f"region {row % 13}" for row in range(ROWS)]
DAYS = [f"2024-{1 + row % 12:02}-{1 + row % 27:02}" for row in range(ROWS)]
SPLITTING = {"split": "stratified", "method": "splitnn", "embedding-bound": "none"}


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Three tables, the active party's with groups and times."""
    folder = tmp_path_factory.mktemp("tables")
    random, paths = np.random.default_rng(7), []
    for rank in range(3):
        rows, label = random.permutation(ROWS)[: ROWS - 20], "" if rank else "outcome"
        cells = held(rank, rows, None if rank else list(LABELS))
        more = [] if rank else ["region", "day"]
        if not rank:
            pairs = zip(cells, rows, strict=True)
            cells = [[*line, REGIONS[row], DAYS[row]] for line, row in pairs]
        said = header(rank, *([label] if label else []), *more)
        keys = "" if rank else 'group = "region"\ntime = "day"\n'
        paths.append(write(folder, rank, cells, said, label=label, more=keys))
    return ",".join(map(str, paths))


def run(tables: str, out: Path, *more: str) -> Path:
    assert train(flags(tables, out, "--method=splitnn", *more)) == 0
    return out


@pytest.fixture(scope="module")
def stratified(tables: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(tables, tmp_path_factory.mktemp("runs") / "stratified", "--split=stratified")


def splits_of(root: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(root.rglob(SPLIT))]


@pytest.mark.parametrize("split", ["stratified", "grouped", "time"])
def test_all_parties_keep_one_split(
    tables: str, stratified: Path, tmp_path: Path, split: str
) -> None:
    out = stratified if split == "stratified" else run(tables, tmp_path / "run", f"--split={split}")
    assert len(splits_of(out)) == 3
    assert len(set(splits_of(out))) == 1
    assert (out / "active" / SPLIT).stat().st_mode & 0o777 == 0o600
    assert result_of(out)["steps"] > 0


def test_the_test_rows_of_a_model_are_those_of_its_split(stratified: Path, tmp_path: Path) -> None:
    assert predict([str(stratified), f"--out={tmp_path / 'said.csv'}"]) == 0
    ids = [line.split(",")[0] for line in (tmp_path / "said.csv").read_text().splitlines()[1:]]
    assert len(ids) == len(Split.load(stratified / "active").rows["test"])
    frauds = sum(LABELS[int(each.strip('"').removeprefix("id-"))] == "fraud" for each in ids)
    assert abs(frauds - len(ids) / 5) < 2


@pytest.mark.slow
def test_nodes_learn_the_same_weights(
    tables: str, stratified: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bit for bit, over streams between nodes with folders of their own."""
    monkeypatch.setenv("VFL_FLOWER_HOME", str(tmp_path / "active"))
    _flower_run(tables, tmp_path, **SPLITTING)
    assert [
        (
            tmp_path / party_name(k) / "run" / party_name(k) / "model" / "weights.safetensors"
        ).read_bytes()
        for k in range(3)
    ] == weights_of(stratified)
    assert set(splits_of(tmp_path)) == set(splits_of(stratified))


def _flower_run(tables: str, root: Path, **options: Any) -> None:
    # flwr is slow to import
    from flwr.app import Context, RecordDict

    from vfl_flower.server_app import main

    each = tables.split(",")
    nodes = {
        100 + k: node(k, root / party_name(k + 1), {}, table=each[k + 1]).fit for k in range(2)
    }
    given = {key.replace("_", "-"): value for key, value in TINY.items()}
    given |= {"tables": each[0], "run-name": "run", "stream-listen": "127.0.0.1:0"} | options
    asked = RunConfig().to_mapping() | given
    main(FakeGrid(nodes, overrides=given), Context(RUN, 1, {}, RecordDict(), asked))  # type: ignore[arg-type]


def test_a_run_goes_on_with_its_split(
    tables: str, stratified: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And not without it."""
    out = run(tables, tmp_path / "run", "--split=stratified", "--epochs=2")
    (out / "result.json").unlink()
    for path in out.glob("*/checkpoint-*"):
        path.unlink()
    assert train([f"--resume={out}"]) == 0
    assert weights_of(out) == weights_of(stratified)
    (out / "result.json").unlink()
    (out / "active" / SPLIT).unlink()
    assert train([f"--resume={out}"]) != 0
    assert f"{SPLIT} is missing: put it back" in capsys.readouterr().err


def lying(tables: str, folder: Path, change: Callable[[np.ndarray], np.ndarray]) -> None:
    """Tell two passive parties another split than the rows come to."""
    given = {**TINY, "tables": tables, "method": "splitnn", "split": "stratified"}
    cfg, source = RunConfig(**given), _data(np.array([row % 5 == 0 for row in range(200)]))
    split = drawn(cfg, source, None)
    active = SplitActive(cfg, Split(change(split.parts)), folder / "active")
    passive = [build_split_passive(cfg, rank, folder, source) for rank in (1, 2)]
    try:
        run_local(active, passive)
    finally:
        active.close()


def _all(part: int) -> Callable[[np.ndarray], np.ndarray]:
    return lambda parts: np.full_like(parts, part)


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        (_all(0), PartyError, "no rows are left for validation"),
        (_all(4), PartyError, "ranges from|array 1 of phase 'keep_split'"),
        (lambda parts: parts[:-1], RosterError, "has rows = 200, the active party 199"),
        (lambda parts: parts.astype(np.int32), PartyError, "array 1 of phase 'keep_split'"),
        (lambda parts: np.roll(np.sort(parts), 1) * 0 + 2, PartyError, "no rows are left for"),
        (lambda parts: np.where(parts == 2, 1, parts), PartyError, "test"),
    ],
)
def test_a_split_that_cannot_be_is_kept_by_nobody(
    tables: str, tmp_path: Path, change: Any, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        lying(tables, tmp_path, change)
    assert not splits_of(tmp_path)


def test_a_second_split_of_one_name_is_refused(tables: str, tmp_path: Path) -> None:
    lying(tables, tmp_path, lambda parts: parts)
    kept = splits_of(tmp_path)
    with pytest.raises(PartyError, match="has a split of this name already"):
        lying(tables, tmp_path, lambda parts: np.roll(parts, 1))
    assert splits_of(tmp_path) == kept


def test_parties_with_different_splits_do_not_train() -> None:
    cfg = RunConfig(dataset="wine", parties=2, split="stratified", method="splitnn", batch_size=8)
    split = drawn(cfg, run_data(cfg), None)
    other = Split(np.roll(split.parts, 1))
    active = build_active(cfg, source=run_data(cfg, split=split))
    passive = build_passive(cfg, 1, data=run_data(cfg, split=other).party(1))
    with pytest.raises(RosterError, match=f"party-1 has split = {other.digest}, the active party"):
        run_local(active, [passive])
    active.close()


# Label privacy -------------------------------------------------------------------------------


class Relabelled:
    """Rows of two classes, with labels that may be anything."""

    def __init__(self, y: np.ndarray) -> None:
        self.y = y

    def size(self, rank: int) -> tuple[int, int]:
        return len(self.y), 2

    def classes(self) -> tuple[np.ndarray, tuple[str, ...]]:
        return self.y, ("ok", "fraud")


def test_the_split_depends_on_noised_labels_alone(tmp_path: Path) -> None:
    """Same noised labels, same split, whatever the true labels are."""
    cfg = RunConfig(
        dataset="breast-cancer", split="stratified", method="splitnn", label_privacy="laplace"
    )
    random = np.random.default_rng(3)
    first = drawn(cfg, _data(random.integers(2, size=569)), tmp_path)
    kept = (tmp_path / NOISED).read_bytes()
    other = drawn(cfg, _data(random.integers(2, size=569)), tmp_path)
    assert np.array_equal(first.parts, other.parts)
    assert (tmp_path / NOISED).read_bytes() == kept
    again = drawn(cfg, _data(random.integers(2, size=569)), tmp_path / "elsewhere")
    assert not np.array_equal(first.parts, again.parts)


def _data(y: np.ndarray) -> SplitData:
    return Relabelled(y.astype(np.int64))  # type: ignore[return-value]


def test_training_learns_the_labels_that_the_split_was_drawn_by(tmp_path: Path) -> None:
    out, options = tmp_path / "run", ["--method=splitnn", "--label-privacy=laplace", "--epochs=1"]
    assert train(["--dataset=breast-cancer", "--split=stratified", f"--out={out}", *options]) == 0
    cfg = RunConfig(dataset="breast-cancer", split="stratified", method="splitnn")
    noised = replace(cfg, label_privacy="laplace")
    again = drawn(noised, run_data(cfg), out / "active")  # by the labels that are kept there
    assert np.array_equal(again.parts, Split.load(out / "active").parts)
    truly = drawn(cfg, run_data(cfg), None)
    assert not np.array_equal(again.parts, truly.parts)


def test_a_fold_by_labels_that_only_it_has_noised_is_refused(tmp_path: Path) -> None:
    options: dict[str, Any] = {"split": "stratified", "label_privacy": "laplace", "fold": "0/5"}
    cfg = RunConfig(dataset="breast-cancer", method="splitnn", **options)
    with pytest.raises(RunError, match="each run would noise the labels anew"):
        drawn(cfg, run_data(replace(cfg, split="random")), tmp_path)


# Python --------------------------------------------------------------------------------------


def test_tables_in_memory_are_split_by_their_columns() -> None:
    days = pd.date_range("2024-01-01", periods=ROWS)
    frame = pd.DataFrame(X, columns=NAMES).assign(id=range(ROWS), y=Y, day=days[::-1])
    bank = Table(frame[["id", "y", "day", *NAMES[:8]]], id="id", label="y", time="day")
    shop = Table(frame[["id", *NAMES[8:]]], id="id")
    options: dict[str, Any] = {
        "batch_size": 32,
        "epochs": 1,
        "baselines": "off",
        "method": "splitnn",
    }
    run = vfl_flower.train([bank, shop], split="time", progress=False, **options)
    assert sorted(run.predict()["id"].astype(int)) == list(range(48))  # the latest are the first
    with pytest.raises(ConfigError, match="names no group; write group"):
        vfl_flower.train([bank, shop], split="grouped", progress=False, **options)
    with pytest.raises(DataError, match="no column 'region'"):
        region = Table(frame, id="id", label="y", group="region")
        vfl_flower.train([region, shop], split="grouped", progress=False, **options)
