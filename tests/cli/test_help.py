"""``--help``: every option, and those of one method's own."""

from dataclasses import Field
from typing import Any

import pytest

from tests.helpers.outcomes.commands import train as run
from vfl_flower.cli.options import IMPLIED
from vfl_flower.config.registry import METHODS, method_options, spec_of
from vfl_flower.config.schema import declared_in, kebab
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
    assert [kebab(n) for n, each in COMMON.items() if not is_shown(each, text)] == [*IMPLIED]
    assert all(f"{title}:" in text for title in GROUPS)
    for flag in ("--config", "--resume", "--seeds", "--json"):
        assert flag in text
    assert "--bounds" not in text


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("flags", ["--method={}", "--method {}"])
def test_help_lists_the_own_options_of_one_method(
    method: str, flags: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = shown(capsys, *flags.format(method).split())
    own = {each.name for each in declared_in(spec_of(method).options)}
    assert {n for n, each in method_options().items() if f" --{kebab(n)} " in text} == own
    assert (f"Own options of {method}:" in text) == bool(own)
    assert "--method METHOD --help" in text


def test_help_is_short(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    assert len(capsys.readouterr().out.splitlines()) <= 160


def test_help_of_an_unknown_method_suggests_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--method", "vimadm", "--help"]) == 2
    assert "did you mean 'vimadmm'?" in capsys.readouterr().err
