"""Loading of parties' data: once a run, anew when files change."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.helpers.datasets import add_dataset
from tests.helpers.own_data.own import TINY, make
from vfl_flower.common.layout import ALIGNMENT
from vfl_flower.common.names import party_name
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.alignment_record import Alignment
from vfl_flower.data.columns import Features
from vfl_flower.data.datasets import DataSet
from vfl_flower.data.loading import PartyCache, load_parties, load_party, run_data
from vfl_flower.workflows.align import align_here


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Make a data set of 60 rows; return the list of readings."""
    done: list[str] = []

    def features(*_: object) -> Features:
        done.append("features")
        return np.random.default_rng(0).normal(size=(60, 8)).astype(np.float32)

    def labels(*_: object) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        done.append("labels")
        return (np.arange(60) % 3).astype(np.int64)

    add_dataset(monkeypatch, "read once", DataSet(3, 0, features, labels))
    return done


def made(folder: Path) -> RunConfig:
    return RunConfig(dataset="read once", data_dir=str(folder), models="mlp", batch_size=20)


def test_a_data_set_is_read_once_for_all_parties(reads: list[str], tmp_path: Path) -> None:
    active, *passive = load_parties(made(tmp_path))
    assert reads == ["features", "labels"]
    assert active.target is not None and active.target.classes == ("0", "1", "2")
    assert active.y is not None and active.y.tolist() == [0, 1, 2] * 20
    assert [each.y for each in passive] == [each.target for each in passive] == [None] * 3
    assert [each.rank for each in passive] == [1, 2, 3]
    for each in passive:
        assert each.classes == 3
        assert all(each.rows[part].tolist() == active.rows[part].tolist() for part in active.rows)


def test_a_passive_party_reads_no_labels(reads: list[str], tmp_path: Path) -> None:
    load_party(made(tmp_path), 2)
    load_party(made(tmp_path), 0, labelled=False)
    assert reads == ["features"]


def test_a_party_s_data_are_kept_for_one_configuration(reads: list[str], tmp_path: Path) -> None:
    cache, cfg = PartyCache(), made(tmp_path)
    first = cache.load(cfg, 1)
    assert cache.load(replace(cfg), 1) is first
    assert cache.load(cfg, 2).x.shape == first.x.shape
    assert cache.load(cfg, 1) is first
    other = cache.load(replace(cfg, seed=1), 1)
    assert not torch.equal(other.numbers, first.numbers)
    assert cache.load(cfg, 1) is not first
    assert reads == ["features"]


def test_data_are_loaded_anew_when_the_alignment_changes(tmp_path: Path) -> None:
    tables = make(tmp_path / "tables")
    cfg = RunConfig(**TINY, tables=tables, alignment=str(tmp_path))
    align_here(cfg, tmp_path)
    cache = PartyCache()
    first = cache.load(cfg, 1)
    assert cache.load(cfg, 1) is first
    folder = tmp_path / party_name(1)
    kept = Alignment.load(folder)
    replace(kept, index=kept.index[:-1]).save(folder)
    assert len(cache.load(cfg, 1).x) == len(first.x) - 1


def test_an_alignment_that_is_handed_over_is_not_read_again(tmp_path: Path) -> None:
    cfg = RunConfig(**TINY, tables=make(tmp_path / "tables"), alignment=str(tmp_path))
    aligned = align_here(cfg, tmp_path)
    read = load_parties(cfg)
    for rank in range(3):
        (tmp_path / party_name(rank) / ALIGNMENT).unlink()
    data = run_data(cfg, aligned.alignments)
    for each in read:
        given = data.party(each.rank)
        assert torch.equal(given.numbers, each.numbers)
        assert given.alignment == each.alignment
