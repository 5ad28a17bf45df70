"""Overviews and reports of methods' own options, and of earlier results."""

import json
from pathlib import Path

import pytest

from tests.helpers.outcomes.commands import inspect, report
from tests.helpers.outcomes.commands import train as run
from tests.helpers.outcomes.edits import values_of


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train a method with one of its own options changed."""
    out = tmp_path_factory.mktemp("own") / "run"
    flags = ["--method", "fedbcd", "--local-steps", "2", "--epochs", "1", "--models", "mlp"]
    assert run([*flags, "--baselines", "on", "--out", str(out)]) == 0
    return out


def test_an_overview_shows_a_changed_option_of_the_methods_own(
    own: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert inspect([str(own)]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if line[:1] == "│"]
    assert ["│", "local-steps", "│", "2", "│", "4", "│"] in rows
    assert ["│", "method", "│", "fedbcd", "│", "easter", "│"] in rows


@pytest.mark.slow
def test_a_report_of_two_methods_shows_the_options_of_both(
    own: Path, runs: Path, tmp_path: Path
) -> None:
    page = tmp_path / "report.html"
    assert report([str(runs / "easter"), str(own), "--page", str(page)]) == 0
    assert "local-steps" in page.read_text()


def test_a_result_of_an_earlier_version_has_baselines_under_another_name(
    own: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = own / "result.json"
    result = values_of(path)
    del result["policies"]
    path.write_text(json.dumps({"bounds": result.pop("baselines"), **result}))
    assert inspect([str(own)]) == 0
    assert "central" in capsys.readouterr().out
    assert inspect([str(own), "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)["result"]["baselines"]) == {"local", "central"}
