"""Data sets under ``flwr run``, with and without files in `data-dir`."""

import pytest

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.dataset_specs import DATASETS
from vfl_flower.config.node_config import run_config


@pytest.mark.parametrize("dataset", ["digits", "wine", "breast-cancer"])
def test_a_data_set_without_files_needs_no_absolute_data_dir(dataset: str) -> None:
    assert not DATASETS[dataset].in_data_dir
    assert run_config({"dataset": dataset, "data-dir": "data"}, simulation=True).dataset == dataset


def test_own_tables_need_no_data_dir() -> None:
    values = {"dataset": "own", "tables": "/a.toml", "data-dir": "data", "out": "/out"}
    assert run_config(values, simulation=True).own_tables


@pytest.mark.parametrize("dataset", [name for name, each in DATASETS.items() if each.in_data_dir])
def test_any_other_needs_an_absolute_data_dir(dataset: str) -> None:
    values = {"dataset": dataset, "data-dir": "data"}
    with pytest.raises(ConfigError, match="data-dir must be an absolute path"):
        run_config(values, simulation=True)
