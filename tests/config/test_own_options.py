"""Options of methods, former names, and configurations of earlier versions."""

import json
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from strategies.specs.admm import ADMMOptions
from tests.helpers.option_values import OPTIONS
from vfl_flower.common.errors import ConfigError
from vfl_flower.config.registry import METHODS, owners_of
from vfl_flower.config.run_config import RunConfig, differences, read_toml
from vfl_flower.config.settings import COMMON

OWN = [key for key, each in OPTIONS.items() if each.name not in COMMON]
OLD = {"rho": 2.0, "views": 3, "heads": "ridge", "vafl-mode": "asynchronous"}


@pytest.mark.parametrize("key", OWN)
def test_another_methods_option_is_refused_by_name_unless_it_has_its_default(key: str) -> None:
    owners = owners_of(OPTIONS[key].name)
    default: Any = OPTIONS[key].default
    value = f"not {default}" if isinstance(default, str) else type(default)(1 - default)
    other = next(method for method in METHODS if method not in owners)
    assert RunConfig.from_mapping({"method": other, key: OPTIONS[key].default}) == RunConfig(
        method=other
    )
    with pytest.raises(ConfigError, match=f"^{key} is .*; {other} has no such option$") as refusal:
        RunConfig.from_mapping({"method": other, key: value})
    assert all(f"{owner}'s" in str(refusal.value) for owner in owners)


def test_the_refusal_names_the_methods_that_have_it() -> None:
    with pytest.raises(ConfigError) as refusal:
        RunConfig(rho=2.0)
    assert str(refusal.value) == (
        "rho is vimadmm's, vimadmm_j's and linear_admm's; easter has no such option"
    )


def test_own_options_can_be_changed_as_all_others() -> None:
    cfg = RunConfig(method="vimadmm", rho=2.0)
    changed = cfg.changed(beta=0.25)
    assert (changed.own(ADMMOptions).rho, changed.own(ADMMOptions).beta) == (2.0, 0.25)
    assert cfg.updated({"head-rate": 0.5}).own(ADMMOptions).head_rate == 0.5
    with pytest.raises(ConfigError, match=r"^vafl-mode is vafl's"):
        cfg.changed(vafl_mode="asynchronous")


def test_another_method_keeps_the_options_that_it_has_too() -> None:
    cfg = RunConfig(method="vimadmm", rho=2.0, local_steps=7, heads="ridge")
    assert cfg.changed(method="vimadmm_j") == RunConfig(method="vimadmm_j", rho=2.0, local_steps=7)
    assert cfg.changed(method="fedbcd") == RunConfig(method="fedbcd", local_steps=7)
    assert cfg.changed(method="easter") == RunConfig()


def test_options_that_a_method_lacks_cannot_be_asked_for() -> None:
    with pytest.raises(ConfigError, match="easter has no ADMMOptions"):
        RunConfig().own(ADMMOptions)


def test_a_former_name_is_accepted_and_never_written(tmp_path: Path) -> None:
    assert RunConfig(bounds="off") == RunConfig(baselines="off")
    assert RunConfig.from_mapping({"bounds": "on"}).to_mapping()["baselines"] == "on"
    assert RunConfig.from_mapping({"bounds": "on", "baselines": "auto"}).baselines == "on"
    assert "bounds" not in RunConfig(bounds="on").to_mapping()
    (tmp_path / "old.toml").write_text('bounds = "off"')
    assert read_toml(tmp_path / "old.toml") == {"baselines": "off"}
    with pytest.raises(ConfigError, match="baselines and bounds are one option"):
        RunConfig.from_mapping({"bounds": "on", "baselines": "off"})
    with pytest.raises(ConfigError, match=r"^baselines: unknown 'yes'"):
        RunConfig(bounds="yes")


def test_a_configuration_of_an_earlier_version_can_be_read() -> None:
    """It held every method's options, with any values, and the former names."""
    old = RunConfig(epochs=3).to_mapping() | OLD
    old["bounds"] = old.pop("baselines")
    assert RunConfig.from_record(old) == RunConfig(epochs=3)
    assert RunConfig.from_record({"method": "vimadmm", **OLD}) == RunConfig(
        method="vimadmm", rho=2.0, heads="ridge"
    )
    lacking = RunConfig(epochs=3, baselines="on").to_mapping()
    assert RunConfig.from_record({"bounds": "off"}, lacking) == RunConfig(epochs=3, baselines="off")
    with pytest.raises(ConfigError, match="unknown key 'rhoo'"):
        RunConfig.from_record({"rhoo": 1.0})
    with pytest.raises(ConfigError):
        RunConfig.from_record(json.loads("[1]"))


def test_a_file_of_an_earlier_version_can_be_used_again(tmp_path: Path) -> None:
    """A file may hold every option, but none of another method alone."""
    every = {key: each.default for key, each in OPTIONS.items()} | OLD
    (tmp_path / "old.toml").write_text(tomli_w.dumps(every))
    assert RunConfig.from_mapping(read_toml(tmp_path / "old.toml")) == RunConfig()
    (tmp_path / "new.toml").write_text("rho = 2.0")
    with pytest.raises(ConfigError, match=r"^rho is vimadmm's"):
        RunConfig.from_mapping(read_toml(tmp_path / "new.toml"))


def test_differences_are_of_options_that_both_have() -> None:
    one, other = RunConfig(method="vimadmm", rho=2.0), RunConfig(method="vimadmm", rho=3.0, out="x")
    assert differences(one, other) == "rho is 2.0, not 3.0"
    assert differences(one, RunConfig()) == "method is 'vimadmm', not 'easter'"
    assert differences(one, one.changed(device="cpu", transport="local")) == ""
