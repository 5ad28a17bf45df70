"""Options of methods, former names, and configurations of earlier versions."""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from strategies.specs.admm import ADMMOptions
from tests.helpers.option_values import OPTIONS
from tests.helpers.outcomes.commands import train as run
from vfl_flower.cli.options import given
from vfl_flower.common.errors import ConfigError
from vfl_flower.config.registry import METHODS, owners_of
from vfl_flower.config.run_config import RECORDED, RunConfig, differences, read_toml
from vfl_flower.config.schema import kebab
from vfl_flower.config.settings import COMMON

OWN = [key for key, each in OPTIONS.items() if each.name not in COMMON]
OLD = {"rho": 2.0, "views": 3, "heads": "ridge", "vafl-mode": "asynchronous"}


@pytest.mark.parametrize("key", OWN)
def test_another_methods_option_is_refused_by_name(key: str) -> None:
    """At its default too, except in Flower's configuration."""
    owners = owners_of(OPTIONS[key].name)
    default: Any = OPTIONS[key].default
    value = f"not {default}" if isinstance(default, str) else type(default)(1 - default)
    other = next(method for method in METHODS if method not in owners)
    flat: dict[str, Any] = {"method": other, key: default}
    assert RunConfig.from_flower(flat) == RunConfig(method=other)
    refused: list[Callable[[], RunConfig]] = [
        lambda: RunConfig.from_mapping(flat),
        lambda: RunConfig.from_mapping(flat | {key: value}),
        lambda: RunConfig.from_flower(flat | {key: value}),
        lambda: RunConfig(method=other, **{OPTIONS[key].name: default}),
        lambda: RunConfig(method=other).updated({key: default}),
    ]
    for make in refused:
        with pytest.raises(ConfigError, match=f"^{key} is .*; {other} has no such option$") as told:
            make()
        assert all(f"{owner}'s" in str(told.value) for owner in owners)


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
    assert "bounds" not in RunConfig(bounds="on").to_mapping()
    (tmp_path / "old.toml").write_text('bounds = "off"')
    assert read_toml(tmp_path / "old.toml") == {"baselines": "off"}
    for baselines in ("auto", "on", "off"):
        with pytest.raises(ConfigError, match="baselines and bounds are one option"):
            RunConfig.from_mapping({"bounds": "on", "baselines": baselines})
    with pytest.raises(ConfigError, match=r"^unknown baselines 'yes'"):
        RunConfig(bounds="yes")


def test_a_configuration_of_an_earlier_version_can_be_read() -> None:
    """It held every method's options, with any values, and the former names."""
    old = RunConfig(epochs=3).to_mapping() | OLD
    old["bounds"] = old.pop("baselines")
    assert RunConfig.from_record(old) == RunConfig(epochs=3)
    assert RunConfig.from_record({"method": "vimadmm", **OLD}) == RunConfig(
        method="vimadmm", rho=2.0, heads="ridge", residual="new-heads", top_model="usual"
    )
    assert RunConfig.from_record({"method": "vimadmm_j", **OLD}) == RunConfig(
        method="vimadmm_j", rho=2.0, head_steps="in-turns", top_model="usual"
    )
    lacking = RunConfig(epochs=3, baselines="on").to_mapping()
    assert RunConfig.from_record({"bounds": "off"}, lacking) == RunConfig(epochs=3, baselines="off")
    with pytest.raises(ConfigError, match="unknown key 'rhoo'"):
        RunConfig.from_record({"rhoo": 1.0})
    with pytest.raises(ConfigError):
        RunConfig.from_record(json.loads("[1]"))


def test_tau_adaptive_steps_share_the_usual_rate() -> None:
    cfg = RunConfig(method="vimadmm", optimizers="adam,momentum,sgd,adam:betas=0.8/0.9")
    assert [cfg.rate_of(rank) for rank in range(4)] == [0.00075, 0.01, 0.05, 0.00075]
    assert cfg.changed(local_steps=1).rate_of(0) == cfg.changed(residual="new-heads").rate_of(0)
    assert cfg.changed(learning_rates="0.003").rate_of(0) == 0.003


@pytest.mark.parametrize(
    ("method", "other"),
    [
        ("vimadmm", {"residual": "new-heads"}),
        ("vimadmm_j", {"head_steps": "in-turns"}),
        ("vimadmm_j", {"head_steps": "together"}),
        ("linear_admm", {"head_steps": "in-turns"}),
    ],
)
def test_heads_step_at_the_rate_of_their_networks_sgd(method: str, other: dict[str, str]) -> None:
    cfg = RunConfig(method=method, optimizers="momentum", learning_rates="0.1")

    def rate(optimizer: str = "momentum", **changes: Any) -> float:
        return cfg.changed(**changes).own(ADMMOptions).rate_of_heads(optimizer, 0.1)

    assert rate() == rate("sgd") == 0.1
    assert rate("adam") == rate(**other) == 0.001
    assert rate(head_rate=0.5) == rate(head_rate=0.5, **other) == 0.5


def test_a_file_of_an_earlier_version_can_be_used_again(tmp_path: Path) -> None:
    """A run folder's alone may hold another method's options."""
    every = {key: each.default for key, each in OPTIONS.items() if key != "out"} | OLD
    every["bounds"] = every.pop("baselines")
    path = tmp_path / "config.toml"
    path.write_text(tomli_w.dumps(every))
    assert RunConfig.from_mapping(read_toml(path)) == RunConfig()
    for lacking in map(kebab, RECORDED - {"baselines"}):
        path.write_text(tomli_w.dumps({k: v for k, v in every.items() if k != lacking}))
        with pytest.raises(ConfigError, match="has no such option"):
            RunConfig.from_mapping(read_toml(path) | {"method": "easter"})
    for line in ("rho = 2.0", "rho = 1.0"):
        path.write_text(line)
        with pytest.raises(ConfigError, match=r"^rho is vimadmm's"):
            RunConfig.from_mapping(read_toml(path))


def test_a_run_folder_of_an_earlier_version_is_read_resumed_and_used_again(tmp_path: Path) -> None:
    flags = [*("--epochs", "1", "--models", "mlp", "--batch-size", "400"), "--baselines", "off"]
    assert run([*flags, "--out", str(tmp_path / "old")]) == 0
    config = tmp_path / "old" / "config.toml"
    every = {key: each.default for key, each in OPTIONS.items() if key != "out"} | OLD
    former = every | tomllib.loads(config.read_text())
    former["bounds"], former["carrier"] = former.pop("baselines"), former.pop("transport")
    config.write_text(tomli_w.dumps(former))
    (tmp_path / "old" / "result.json").unlink()
    assert run(["--resume", str(tmp_path / "old")]) == 0
    assert (tmp_path / "old" / "result.json").is_file()
    config.write_text(tomli_w.dumps(former))
    assert run(["--config", str(config), "--out", str(tmp_path / "new")]) == 0
    assert "rho" not in tomllib.loads((tmp_path / "new" / "config.toml").read_text())


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--rho", "1"], "rho is vimadmm's, vimadmm_j's and linear_admm's; easter has no such"),
        (["--rho", "1", "--method", "pyvertical"], "splitnn has no such option"),
        (["--bounds", "off", "--baselines", "on"], "baselines and bounds are one option"),
        (["--bounds", "off", "--baselines", "off"], "baselines and bounds are one option"),
        (["--carrier", "local", "--transport", "local"], "transport and carrier are one option"),
        (["--config", "own.toml"], "rho is vimadmm's"),
        (["--config", "absent.toml"], "absent.toml cannot be read: No such file"),
    ],
)
def test_the_command_line_refuses(
    flags: list[str],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.toml").write_text("rho = 1.0")
    assert run([*flags, "--out", "run"]) == 2
    assert says in capsys.readouterr().err
    assert not Path("run").exists()


def test_a_former_flag_beats_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('baselines = "on"')
    assert read_toml(tmp_path / "a.toml") | given({"bounds": "off", "seed": None}) == {
        "baselines": "off"
    }


def test_differences_are_of_options_that_both_have() -> None:
    one, other = RunConfig(method="vimadmm", rho=2.0), RunConfig(method="vimadmm", rho=3.0, out="x")
    assert differences(one, other) == "rho is 2.0, not 3.0"
    assert differences(one, RunConfig()) == "method is 'vimadmm', not 'easter'"
    assert differences(one, one.changed(device="cpu", transport="local")) == ""
