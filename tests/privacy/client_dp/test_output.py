"""Client privacy on the terminal, in reports, and in audits."""

from pathlib import Path

import pytest

from tests.helpers.client_privacy import counts_in, result_of
from tests.helpers.outcomes.commands import train as run
from vfl_flower.analysis.audit.label_inference import audit
from vfl_flower.privacy.client_dp.accounting import epsilon_of
from vfl_flower.reporting.html.page import render
from vfl_flower.reporting.html.story import read_stories

TINY = ["--method", "splitnn", "--models", "mlp", "--epochs", "2", "--batch-size", "300"]
TINY += ["--embedding-dim", "4"]  # noise is drawn number by number


def test_the_terminal_tells_what_it_cost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The baselines, which are trained without noise, too."""
    flags = ["--dp-sigma", "3", "--target-epsilon", "4", "--baselines", "on"]
    flags += ["--embedding-dim", "64"]  # which is enough for a baseline to learn at once
    assert run([*TINY, *flags, "--out", str(tmp_path / "run")]) == 0
    told = " ".join(capsys.readouterr().out.split())
    result = result_of(tmp_path / "run")
    assert f"epsilon {result['epsilon']:.4g} (of training " in told
    assert f"training ended at step {result['steps']}: one more, with the test rows, would" in told
    assert result["baselines"]["central"] > 0.5


@pytest.mark.parametrize(
    ("flags", "ended_by"),
    [
        (["--long-tail", "10"], "epochs"),  # fewer steps than planned
        (["--stop-drop", "0.1", "--eval-every", "1"], "stop-drop"),
        (["--stop-drop", "0.1", "--eval-every", "1", "--target-epsilon", "50"], "stop-drop"),
    ],
)
def test_the_target_is_blamed_for_nothing_else(
    flags: list[str], ended_by: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, given = tmp_path / "run", ["--dp-sigma", "3", "--baselines", "off"]
    assert run([*TINY, *given, *flags, "--epochs", "8", "--out", str(out)]) == 0
    result, told = result_of(out), " ".join(capsys.readouterr().out.split())
    assert result["steps"] < result["client_privacy"]["planned"]["training"]
    assert result["ended_by"] == ended_by
    assert ("training ended" in told) == (ended_by == "stop-drop")
    assert "exceeded target-epsilon" not in told


@pytest.mark.slow
def test_seeds_add_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, flags, text in (
        ("noised", [], f"epsilon {2 * epsilon_of(3.0, 13, 1e-5, 'rdp'):.4g}, delta 2e-05"),
        ("clear", ["--dp-eval", "clear"], "epsilon inf, delta 2e-05"),
    ):
        out = str(tmp_path / name)
        given = ["--dp-sigma", "3", "--baselines", "off", "--seeds", "2", "--out", out]
        assert run([*TINY, *given, *flags]) == 0
        assert text in " ".join(capsys.readouterr().out.split())
    page = render(read_stories([tmp_path / "clear", tmp_path / "noised"]))
    assert "epsilon inf at delta" in page
    assert page.count("2 seeds sent the same columns: their epsilons add up") == 2


@pytest.mark.slow
def test_an_audit_of_labels_runs_with_noise(tmp_path: Path) -> None:
    """Its parties count in a folder of its own."""
    out = tmp_path / "run"
    assert run([*TINY, "--dp-sigma", "3", "--baselines", "off", "--out", str(out)]) == 0
    before = counts_in(out)
    assert audit(out, 1, 10).found
    assert counts_in(out) == before
