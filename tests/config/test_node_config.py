"""Options between machines: data sets, and which options a node takes."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.option_values import GOOD
from vfl_flower.common.errors import ConfigError
from vfl_flower.config.dataset_specs import DATASETS
from vfl_flower.config.node_config import own_config, run_config, told_of
from vfl_flower.config.options.privacy import USUAL_BOUND
from vfl_flower.config.policy.run_options import LEFT, TAKEN
from vfl_flower.config.registry import method_options, specs
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.schema import declaration, kebab
from vfl_flower.config.settings import COMMON


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


@pytest.mark.parametrize("simulation", [True, False])
def test_out_must_be_absolute(simulation: bool) -> None:
    with pytest.raises(ConfigError, match="out must be an absolute path"):
        run_config({"dataset": "digits", "out": "results"}, simulation=simulation)


def test_every_option_is_taken_from_the_run_or_is_not() -> None:
    """A new option must be thought about."""
    assert frozenset(map(kebab, COMMON)) == TAKEN | LEFT
    assert not TAKEN & LEFT
    paths = {kebab(name) for name, each in COMMON.items() if declaration(each).path}
    assert paths - LEFT == {"alignment", "model"}, "names of runs, between machines"


def test_methods_own_options_are_no_paths() -> None:
    """Those that are neither numbers nor choices are listed here."""
    own = method_options()
    assert not [name for name, each in own.items() if declaration(each).path]
    texts = {n for n, e in own.items() if type(e.default) is str and not declaration(e).choices}
    assert texts == {"cut", "compression", "downlink", "penalty_path", "scorecard", "monotone"}


@pytest.mark.slow
@given(st.data())
def test_no_option_that_is_not_taken_changes_a_nodes_configuration(data: st.DataObject) -> None:
    chosen = data.draw(st.sets(st.sampled_from(sorted(LEFT)), min_size=1))
    told = {key: data.draw(GOOD[key]) for key in chosen}
    assert own_config(told, {}) == own_config({}, {})


def test_the_active_party_tells_no_path() -> None:
    own: dict[str, Any] = {"dataset": "own", "tables": "/bank/loans.toml", "data_dir": "/bank/data"}
    own |= {"alignment": "/bank/runs/rows", "out": "/bank/runs/first", "weights": "/bank/w.pth"}
    told = told_of(RunConfig(**own), simulation=False, own=Path("/bank/runs/first"))
    assert told == {"dataset": "own", "alignment": "rows"}
    assert told_of(RunConfig(), simulation=True, own=None) == RunConfig().to_mapping()


def test_a_nodes_own_keys_are_its_options() -> None:
    own = {"data-dir": "/own", "download": False, "weights": "/own.pth", "model": "resnet18"}
    theirs = {"data-dir": "/a", "download": True, "weights": "/a.pth", "dataset": "mnist"}
    cfg = own_config(theirs, own)
    assert (cfg.data_dir, cfg.download, cfg.weights) == ("/own", False, "/own.pth")


def test_a_nodes_own_table_may_have_no_description() -> None:
    """Its owner then names the column of its ids; the run cannot."""
    run = {"dataset": "own", "id": "theirs", "label": "y", "tables": "/theirs.csv"}
    cfg = own_config(run, {"table": "/own.csv", "id": "client"})
    assert (cfg.tables, cfg.id, cfg.label) == ("/own.csv", "client", "")
    with pytest.raises(ConfigError, match=r"/own\.csv is a table; say which column holds its ids"):
        own_config(run, {"table": "/own.csv"})


def test_a_node_downloads_only_if_its_owner_allows_it() -> None:
    run = {"dataset": "cifar10", "download": True}
    assert not own_config(run, {"data-dir": "/own"}).download
    assert own_config(run, {"data-dir": "/own", "download": True}).download


@pytest.mark.parametrize("key", ["run-name", "alignment", "model"])
@pytest.mark.parametrize("name", ["accounts", "config.toml", "Accounts"])
def test_names_that_state_folders_use_name_no_run(key: str, name: str) -> None:
    run = {"dataset": "own", "task": "predict" if key == "model" else "train", key: name}
    with pytest.raises(ConfigError, match=f"{key} must not be '{name}', which state folders use"):
        own_config(run, {"table": "/a.toml", "new-table": "/b.toml"})


def test_an_unknown_option_of_the_run_is_an_error() -> None:
    with pytest.raises(ConfigError, match="unknown key 'epoch'; did you mean 'epochs'"):
        own_config({"epoch": 3}, {})


@pytest.mark.parametrize("method", [name for name, each in specs().items() if each.blinds])
def test_rows_are_bounded_between_machines_and_not_in_simulations(method: str) -> None:
    told = {"method": method, "dataset": "digits"}
    assert run_config(told, simulation=True).row_bound is None
    usual = specs()[method].usual_bound or USUAL_BOUND
    assert run_config(told, simulation=False).row_bound == float(usual)
    assert run_config(told | {"embedding-bound": "none"}, simulation=False).row_bound is None
    assert run_config(told | {"embedding-bound": "300"}, simulation=False).row_bound == 300


def test_a_method_that_sums_nothing_has_no_bound_between_machines() -> None:
    told = {"method": "splitnn", "dataset": "digits"}
    assert run_config(told, simulation=False).embedding_bound == "none"
