"""``--help``: every option, and those of one method's own."""

from dataclasses import Field
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.outcomes.commands import train as run
from vfl_flower.cli.options import IMPLIED
from vfl_flower.common.errors import ConfigError
from vfl_flower.config.registry import METHODS, method_options, spec_of
from vfl_flower.config.run_config import RunConfig, read_toml
from vfl_flower.config.schema import declaration, declared_in, kebab
from vfl_flower.config.settings import COMMON, GROUPS


def shown(capsys: pytest.CaptureFixture[str], *flags: str) -> str:
    """Return the output of ``train --help``, with single spaces."""
    assert run([*flags, "--help"]) == 0
    return " ".join(capsys.readouterr().out.split())


def is_shown(each: "Field[Any]", text: str) -> bool:
    """Tell whether the help has an option, and its default."""
    default = f"[{each.default}]" if each.default != "" else ""
    return f" --{kebab(each.name)} " in text and default in text


def test_help_lists_every_option_of_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys)
    assert [kebab(n) for n, each in COMMON.items() if not is_shown(each, text)] == [
        *map(kebab, IMPLIED)
    ]
    assert all(f"{title}:" in text for title in GROUPS)
    for flag in ("--config", "--resume", "--seeds", "--folds", "--json"):
        assert flag in text
    assert "--bounds" not in text


def test_help_lists_all_choices(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    text = shown(capsys).replace("- ", "-")  # names with hyphens are folded
    missing = {
        f"{name} {choice}"
        for name, each in COMMON.items()
        if name not in IMPLIED
        for choice in declaration(each).choices
        if choice not in text.split(f"--{kebab(name)} ", 1)[1].split(" --", 1)[0]
    }
    assert not missing


def test_a_second_name_is_shown_and_means_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "--lr, --learning-rates STR" in shown(capsys)
    file = tmp_path / "options.toml"
    file.write_text('lr = "0.5"\n')
    assert read_toml(file) == {"learning-rates": "0.5"}
    assert RunConfig.from_mapping({"lr": "0.5"}) == RunConfig(learning_rates="0.5")
    with pytest.raises(ConfigError, match=r"^learning-rates and lr are one option"):
        RunConfig.from_mapping({"lr": "0.5", "learning-rates": "0.1"})


def test_the_same_words_refuse_a_value_wherever_it_stands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "options.toml"
    file.write_text('dataset = "iris"\n')
    with pytest.raises(ConfigError) as refusal:
        RunConfig.from_flower({"dataset": "iris"})
    for flags in (["--dataset", "iris"], ["--config", str(file)]):
        assert run(flags) == 2
        assert capsys.readouterr().err == f"error: {refusal.value}\n"


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("flags", ["--method={}", "--method {}"])
def test_help_lists_the_own_options_of_one_method(
    method: str, flags: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = shown(capsys, *flags.format(method).split())
    own = {each.name for each in declared_in(spec_of(method).options)}
    assert {n for n, each in method_options().items() if f" --{kebab(n)} " in text} == own
    assert (f"Own options of {method}:" in text) == bool(own)
    for each in declared_in(spec_of(method).options):
        told = text.split(f" --{kebab(each.name)} ", 1)[1].split(" --", 1)[0]
        assert [choice for choice in declaration(each).choices if choice not in told] == []
    assert "--method METHOD --help" in text


def test_help_is_short(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    assert len(capsys.readouterr().out.splitlines()) <= 200


def test_help_of_an_unknown_method_suggests_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--method", "vimadm", "--help"]) == 2
    assert "did you mean 'vimadmm'?" in capsys.readouterr().err
