"""Reports of damaged runs, refused in one line or shown."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.outcomes.commands import report
from tests.helpers.outcomes.edits import values_of
from tests.helpers.outcomes.report_pages import result_of
from vfl_flower.common.errors import VflError
from vfl_flower.reporting.html.story import read_stories


def test_wrong_runs_are_refused_and_nothing_is_written(
    copied: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"

    def refused(*paths: Path) -> str:
        assert report([*map(str, paths), "--page", str(page)]) == 2
        assert not page.exists()
        return capsys.readouterr().err

    assert "holds no run" in refused(tmp_path / "nothing")
    assert "named twice" in refused(copied, copied / ".." / "run")
    (copied / "metrics.jsonl").write_text('{"step": 1}\n')
    assert "metrics.jsonl is damaged" in refused(copied)
    (copied / "result.json").write_text("{}")
    assert "result.json is damaged" in refused(copied)
    (copied / "config.toml").write_text("epochs = 'many'")
    assert "epochs must be" in refused(copied)


def damages(good: dict[str, Any]) -> list[dict[str, Any]]:
    """Return copies of a record, each with one damaged entry.

    Missing or of another type.
    """
    others: list[object] = ["x", [], {"a": "b"}, -1]
    missing = [{k: v for k, v in good.items() if k != key} for key in good]
    return missing + [good | {key: wrong} for key in good for wrong in others]


@pytest.mark.slow
def test_damaged_results_and_metrics_are_told_or_shown(
    copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """There is a page or one line of error; few are drawn."""
    result, line = result_of(copied), (copied / "metrics.jsonl").read_text().splitlines()[0]
    for name, good in (("result.json", result), ("metrics.jsonl", json.loads(line))):
        whole, shown = (copied / name).read_text(), list[dict[str, Any]]()
        told = 0
        for wrong in damages(good):
            (copied / name).write_text(json.dumps(wrong) + "\n")
            try:
                read_stories([copied])
            except VflError as error:
                told += 1
                assert len(str(error).splitlines()) == 1
            else:
                shown.append(wrong)
        assert told > len(shown)
        for wrong in shown[:: len(shown) // 3 + 1]:
            (copied / name).write_text(json.dumps(wrong) + "\n")
            assert _told_or_shown(copied, capsys) == 0
        (copied / name).write_text(whole)
    (copied / "metrics.jsonl").write_text("[" * 100_000 + "\n")
    assert _told_or_shown(copied, capsys) == 2


def _told_or_shown(run: Path, capsys: pytest.CaptureFixture[str]) -> int:
    code, lines = report([str(run)]), capsys.readouterr().err.splitlines()
    assert (code, len(lines)) in ((0, 0), (2, 1))
    return code


@pytest.mark.parametrize("seeds", ["x", [], [0.5], [1e400], [-1], None])
def test_damaged_seeds_are_told(
    seeds: object, runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    some = Path(shutil.copytree(runs / "seeds", tmp_path / "seeds"))
    content = values_of(some / "seeds.json")
    (some / "seeds.json").write_text(json.dumps(content | {"seeds": seeds}))
    assert report([str(some)]) == 2
    assert "seeds.json is damaged" in capsys.readouterr().err


def test_a_page_takes_no_other_files_place(
    copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (copied / "config.toml").read_bytes()
    assert report([str(copied), "--page", str(copied / "config.toml")]) == 2
    assert "must name an .html file" in capsys.readouterr().err
    assert (copied / "config.toml").read_bytes() == before


def test_a_loop_of_links_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert report([str(tmp_path / "loop")]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.slow
def test_a_page_that_cannot_be_written_is_an_error(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    page = tmp_path / "file" / "page.html"
    assert report([str(runs / "easter"), "--page", str(page)]) == 2
    assert "cannot be written" in capsys.readouterr().err
