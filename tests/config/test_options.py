"""Every option: name, help, and round trips through mappings and files."""

import re
import tomllib
from dataclasses import make_dataclass
from typing import Any

import pytest
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.option_values import BAD, GOOD, OPTIONS, method_of, whole
from vfl_flower.common.errors import ConfigError
from vfl_flower.config.dataset_specs import DATASETS
from vfl_flower.config.method_spec import MethodOptions, MethodSpec
from vfl_flower.config.registry import METHODS, method_options, owners_of, specs
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.schema import declaration, declared_in, kebab, option
from vfl_flower.config.settings import COMMON

FEWER = settings(max_examples=50)


def test_every_option_is_tried_below() -> None:
    """A new option must come with good and, mostly, bad values."""
    assert set(GOOD) == set(OPTIONS)
    assert set(OPTIONS) - {key for key, _ in BAD} == {
        *(
            "data-dir",
            "download",
            "out",
            "tensorboard",
            "profile",
            "force-sensitivity",
            "share-labels",
            "standard-errors",
        ),
        "model-transfer",
    }


def test_names_are_kebab_case() -> None:
    assert all(name == name.lower() and "_" not in name for name in OPTIONS)
    assert {"embedding-dim", "eval-batch-size", "party-timeout", "data-dir"} < set(OPTIONS)
    assert list(RunConfig().to_mapping()) == list(map(kebab, COMMON))


def test_a_mapping_has_common_and_own_options() -> None:
    for method, spec in specs().items():
        own = {each.name for each in declared_in(spec.options)}
        assert set(RunConfig(method=method).to_mapping()) == set(map(kebab, {*COMMON, *own}))


def test_no_option_is_declared_twice_differently() -> None:
    assert not set(COMMON) & set(method_options())
    for name, each in method_options().items():
        for method in owners_of(name):
            (same,) = (e for e in declared_in(specs()[method].options) if e.name == name)
            assert (type(same.default), same.default) == (type(each.default), each.default)
            assert declaration(same) == declaration(each)


@pytest.mark.parametrize(
    ("default", "declared"),
    [
        (2.0, {"above": 0, "most": 1000}),
        (1, {"above": 0, "most": 1000}),
        (1.0, {"above": 0, "most": 10}),
        (1.0, {"above": 0, "most": 1000, "choices": ("1.0",)}),
    ],
)
def test_an_option_declared_differently_by_another_method_is_refused(
    monkeypatch: pytest.MonkeyPatch, default: float, declared: dict[str, Any]
) -> None:
    field = option(default, declaration(OPTIONS["rho"]).text, **declared)
    record = make_dataclass(
        "Other", [("rho", type(default), field)], bases=(MethodOptions,), frozen=True, kw_only=True
    )
    spec = MethodSpec(strategy="", client="", options=record)
    monkeypatch.setattr(f"{__name__}.SPEC", spec, raising=False)
    monkeypatch.setitem(METHODS, "another", f"{__name__}:SPEC")
    with pytest.raises(ConfigError, match="another declares rho differently"):
        method_options()


def test_the_help_names_every_data_set_once() -> None:
    told = re.findall(r"[a-z][a-z0-9-]+", declaration(COMMON["dataset"]).text)
    assert sorted(word for word in told if word not in ("one", "of")) == sorted(DATASETS)


def test_every_option_says_what_it_means() -> None:
    assert all(declaration(each).text for each in OPTIONS.values())


@pytest.mark.parametrize("option", GOOD)
def test_every_option_arrives_under_its_name(option: str) -> None:
    @FEWER
    @given(GOOD[option])
    def arrives(value: object) -> None:
        values = whole(option, value)
        mapping = RunConfig.from_mapping(values).to_mapping()
        assert mapping[option] == value
        assert {k for k, v in mapping.items() if v != OPTIONS[k].default} == set(values)

    arrives()


def fitting(values: dict[str, object]) -> dict[str, object]:
    """Return as many compatible values as possible, the first ones first."""
    kept: dict[str, object] = {}
    for key, value in values.items():
        for more in ({key: value}, whole(key, value)):
            try:
                RunConfig.from_mapping(kept | more)
            except ConfigError:
                continue
            kept |= more
            break
    return kept


@pytest.mark.slow
@FEWER
@given(st.fixed_dictionaries({}, optional=GOOD))
def test_mappings_and_toml_round_trip(values: dict[str, object]) -> None:
    cfg = RunConfig.from_mapping(fitting(values))
    assert RunConfig.from_mapping(cfg.to_mapping()) == cfg
    mapping = tomllib.loads(tomli_w.dumps(cfg.to_mapping()))
    assert RunConfig.from_mapping(mapping) == cfg
    assert {k: type(v) for k, v in mapping.items()} == {
        k: type(OPTIONS[k].default) for k in mapping
    }


@pytest.mark.parametrize(("option", "value"), BAD)
def test_a_value_that_cannot_work_is_an_error_that_names_the_option(
    option: str, value: object
) -> None:
    with pytest.raises(ConfigError, match=f"^(unknown )?{option.removesuffix('s')}s?\\b"):
        RunConfig.from_mapping({**method_of(option), option: value})
