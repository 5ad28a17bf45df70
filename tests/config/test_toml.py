"""Configurations in toml files: ready-made ones, damaged ones, and Flower's defaults."""

import tomllib
from pathlib import Path

import pytest

from vfl_flower.common.errors import ConfigError
from vfl_flower.config import flower_defaults
from vfl_flower.config.run_config import RunConfig, read_toml

ROOT = Path(__file__).resolve().parents[2]


def test_pyprojects_section_follows_from_the_declarations() -> None:
    text = flower_defaults.PYPROJECT.read_text()
    assert flower_defaults.section() in text, "run python -m vfl_flower.config.flower_defaults"
    theirs = tomllib.loads(text)["tool"]["flwr"]["app"]["config"]
    ours = flower_defaults.flower_defaults()
    assert {k: (v, type(v)) for k, v in theirs.items()} == {
        k: (v, type(v)) for k, v in ours.items()
    }


def test_the_section_is_written_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = flower_defaults.PYPROJECT.read_text()
    path = tmp_path / "pyproject.toml"
    path.write_text(text.replace("epochs = 20\n", "epochs = 21\nold-option = 1\n"))
    monkeypatch.setattr(flower_defaults, "PYPROJECT", path)
    flower_defaults.main()
    assert path.read_text() == text


def test_flowers_defaults_are_a_configuration_of_every_method() -> None:
    """Flower's flat run configuration has every key, those of other methods too."""
    values = {k: v for k, v in flower_defaults.flower_defaults().items() if k != "resume"}
    assert RunConfig.from_flower(values) == RunConfig()
    assert RunConfig.from_flower(values | {"method": "vimadmm", "rho": 2.0}) == RunConfig(
        method="vimadmm", rho=2.0
    )
    assert RunConfig.from_flower(values | {"rho": 1}) == RunConfig()
    assert RunConfig.from_flower(values | {"bounds": "off"}).baselines == "off"
    assert RunConfig.from_flower(values | {"baselines": "off"}).baselines == "off"
    with pytest.raises(ConfigError, match=r"^rho is vimadmm's"):
        RunConfig.from_flower(values | {"rho": 2.0})
    with pytest.raises(ConfigError, match="baselines and bounds are one option"):
        RunConfig.from_flower(values | {"bounds": "on", "baselines": "off"})
    with pytest.raises(ConfigError, match="unknown key 'rhoo'"):
        RunConfig.from_flower(values | {"rhoo": 1.0})


@pytest.mark.parametrize("path", sorted((ROOT / "conf").glob("*.toml")), ids=lambda p: p.name)
def test_ready_made_configurations_work(path: Path) -> None:
    RunConfig.from_mapping(read_toml(path))


def test_toml_that_cannot_be_read_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    for content in (None, b"seed = ", b"\xff\xfe", b"seed = 1\nseed = 2"):
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(ConfigError, match=r"run\.toml"):
            read_toml(path)


def test_a_missing_file_is_no_bad_toml(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"run\.toml cannot be read: No such file"):
        read_toml(tmp_path / "run.toml")


def test_toml_with_a_section_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text("seed = 1\n[training]\nepochs = 2\n")
    with pytest.raises(ConfigError, match="training"):
        RunConfig.from_mapping(read_toml(tmp_path / "run.toml"))
