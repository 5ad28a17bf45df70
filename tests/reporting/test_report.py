"""Reports: content and self-containment of the page."""

import re
import shutil
from html import unescape
from pathlib import Path

import pytest

from tests.helpers.outcomes.commands import report
from tests.helpers.outcomes.commands import train as run
from tests.helpers.outcomes.report_pages import read, result_of
from vfl_flower.config.policy.record import OPEN
from vfl_flower.config.run_config import RunConfig
from vfl_flower.reporting.console.format import data_name, readable
from vfl_flower.reporting.html.story import read_stories
from vfl_flower.runs.results import write_result

pytestmark = pytest.mark.slow


def test_page_shows_what_the_result_holds(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report([str(runs / "easter")]) == 0
    page = runs / "easter" / "report.html"
    assert capsys.readouterr().out == f"written to {page}\n"
    text, result = read(page).text, result_of(runs / "easter")
    for accuracy in [*result["test_accuracy"].values(), *result["baselines"].values()]:
        assert f"{accuracy:.2%}" in text
    books = [result, result["evaluation"], result["control"]]
    for table in (result["bytes_by_party"], *(book["bytes_by_phase"] for book in books)):
        for name, entry in table.items():
            assert f"{name} {readable(entry['up'])} {readable(entry['down'])}" in text
    for told in [*result["protections"], *result["unprotected"]]:
        assert told in text
    told = result["policies"]
    assert told == {key: {"name": "open", "digest": OPEN.digest} for key in told}
    assert f"{', '.join(told)}: policy open ({OPEN.digest})" in text
    for fact, value in result["environment"].items():
        assert f"{fact} {value}" in text
    for key in RunConfig().to_mapping().keys() - {"out"}:
        assert f"{key} " in text
    assert "UNPROTECTED" in text
    assert page.stat().st_mode & 0o777 == 0o600


def test_page_needs_nothing_else(runs: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert report([str(runs / "easter"), str(runs / "vfedmh"), "--page", str(page)]) == 0
    reader = read(page)
    assert "img" in reader.tags
    assert all(source.startswith("data:image/svg+xml;base64,") for source in reader.sources)
    assert {"script", "link", "iframe", "object"}.isdisjoint(reader.tags)
    assert "default-src 'none'" in page.read_text()
    assert not re.search(r"https?://", page.read_text())
    assert reader.links
    assert {link.removeprefix("#") for link in reader.links} <= set(reader.ids)


def test_what_differs_stands_first(runs: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert report([str(runs / "easter"), str(runs / "vfedmh"), "--page", str(page)]) == 0
    table = page.read_text().split('id="configuration"')[1]
    rows = re.findall(r'<tr( class="differs")?><th scope="row">([\w-]+)</th>', table)
    differing = [key for marked, key in rows if marked]
    assert differing == ["method", "baselines"]
    assert [key for _, key in rows][:2] == differing
    shown, folded = table.split("<details>")
    named = re.compile(r'<th scope="row">([\w-]+)</th>')
    assert named.findall(shown)[2:] == ["dataset", "epochs", "eval-every"]
    assert {"batch-size", "data-dir"} <= set(named.findall(folded))
    assert len(rows) > 20


def test_runs_on_other_data_have_axes_of_their_own(runs: Path, tmp_path: Path) -> None:
    wine = ["--dataset", "wine", "--epochs", "1", "--models", "linear", "--baselines", "off"]
    assert run([*wine, "--out", str(tmp_path / "wine")]) == 0
    page = tmp_path / "page.html"
    folders = [str(runs / "easter"), str(tmp_path / "wine"), str(runs / "vfedmh")]
    assert report([*folders, "--page", str(page)]) == 0
    text = page.read_text()
    assert re.findall(r"active party on ([\w-]+) by epoch", text) == ["digits", "wine"]
    assert re.findall(r"<h3>(digits|wine)</h3>", text) == ["digits", "wine"]


@pytest.mark.parametrize(
    ("tables", "told"),
    [("here/bank.toml,there/shop.toml", "bank + shop"), ("a/t.toml,b/t.toml", "own tables")],
)
def test_own_tables_have_their_names(tables: str, told: str) -> None:
    cfg = RunConfig(dataset="own", method="splitnn", parties=2, tables=tables)
    assert data_name(cfg) == told
    assert data_name(RunConfig()) == "digits"


def test_seeds_are_one_story_with_mean_and_deviation(runs: Path) -> None:
    assert report([str(runs / "seeds")]) == 0
    text = read(runs / "seeds" / "report.html").text
    for spread in result_of(runs / "seeds")["test_accuracy"].values():
        assert f"{spread['mean']:.2%} ± {spread['std']:.2%}" in text
    assert "seeds 0, 1, 2" in text


def test_seeds_that_are_not_complete_are_told_apart(runs: Path, tmp_path: Path) -> None:
    some = Path(shutil.copytree(runs / "seeds", tmp_path / "seeds"))
    (some / "seed-1" / "result.json").unlink()
    shutil.rmtree(some / "seed-2")
    assert report([str(some)]) == 0
    text = read(some / "report.html").text
    assert "1 of 3 seeds complete" in text
    assert "seeds 0, 1;" in text


def test_a_run_in_progress_has_curves_and_no_result(copied: Path) -> None:
    (copied / "result.json").unlink()
    with (copied / "metrics.jsonl").open("a") as file:
        file.write('{"step": 12, "epo')  # being written
    assert report([str(copied)]) == 0
    reader = read(copied / "report.html")
    assert "not complete" in reader.text
    assert len(reader.sources) == 2  # the comparison, and the curves


def test_a_run_that_has_just_begun_is_told(copied: Path) -> None:
    (copied / "result.json").unlink()
    (copied / "metrics.jsonl").unlink()
    assert report([str(copied)]) == 0
    assert read(copied / "report.html").sources == []


def test_names_are_no_markup(copied: Path) -> None:
    odd = copied.parent / "_<img src=x> $\\frac{x}$ & run"
    copied.rename(odd)
    assert report([str(odd)]) == 0
    reader = read(odd / "report.html")
    assert unescape(odd.name) in reader.text
    assert all(source.startswith("data:") for source in reader.sources)


def test_figures_of_the_method_are_shown(copied: Path) -> None:
    write_result(copied, result_of(copied) | {"figures": {"gain_share_party-1": 0.25}})
    assert report([str(copied)]) == 0
    text = " ".join(read(copied / "report.html").text.split())
    assert "of the method value gain share party-1 0.25" in text


def test_many_parties_fit(tmp_path: Path) -> None:
    flags = ["--epochs", "1", "--parties", "16", "--dataset", "breast-cancer", "--baselines", "off"]
    assert run([*flags, "--out", str(tmp_path / "run")]) == 0
    assert report([str(tmp_path / "run")]) == 0
    assert "party-15" in read(tmp_path / "run" / "report.html").text


def test_a_run_of_no_epochs_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--epochs", "0", "--baselines", "off", "--out", str(tmp_path / "run")]) == 0
    assert report([str(tmp_path / "run")]) == 0
    assert len(read(tmp_path / "run" / "report.html").sources) == 2
    assert "epochs is 0: nothing was trained" in read(tmp_path / "run" / "report.html").text
    told = capsys.readouterr().out
    assert "epochs is 0: nothing was trained" in told
    assert "learnt nothing" not in told


def test_a_seed_that_has_just_begun_does_not_empty_the_curves(runs: Path, tmp_path: Path) -> None:
    some = Path(shutil.copytree(runs / "seeds", tmp_path / "seeds"))
    (some / "seed-1" / "result.json").unlink()
    (some / "seed-1" / "metrics.jsonl").write_text("")
    (story,) = read_stories([some])
    assert len(story.metrics) == 2
    assert len(story.curve("step")) > 3
    assert report([str(some)]) == 0
    text = read(some / "report.html").text
    assert "Means over 2 seeds" in text
    assert "2 of 3" in text


def test_epochs_are_right_within_one(copied: Path) -> None:
    lines = (copied / "metrics.jsonl").read_text().splitlines(keepends=True)
    (copied / "result.json").unlink()
    (copied / "metrics.jsonl").write_text("".join(lines[:-1]))  # the last is within an epoch
    (story,) = read_stories([copied])
    assert story.per_epoch == 11
