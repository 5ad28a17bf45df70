"""Reports: what stands on the page, and what a browser makes of it."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.helpers.commands import report
from tests.helpers.commands import train as run
from vfl_flower.config.run_config import RunConfig
from vfl_flower.reporting.console.format import readable
from vfl_flower.reporting.html.story import read_stories

SHORT = ["--epochs", "2", "--eval-every", "4"]
BLUE = (0x00, 0x72, 0xB2)  # of the active party's line and bar
ORANGE = (0xE6, 0x9F, 0x00)  # of the bytes down
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")


class Reader(HTMLParser):
    """Collects what a page says and refers to."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.sources: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {key: value or "" for key, value in attrs}
        self.tags.append(tag)
        self.sources += [named[key] for key in ("src", "data", "srcset") if key in named]
        self.links += [named["href"]] if "href" in named else []
        self.ids += [named["id"]] if "id" in named else []

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def read(path: Path) -> Reader:
    """Parse a page."""
    reader = Reader()
    reader.feed(path.read_text())
    return reader


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Train a run with EASTER, one with VFedMH, and one with three seeds."""
    root = tmp_path_factory.mktemp("runs")
    assert run([*SHORT, "--bounds", "on", "--out", str(root / "easter")]) == 0
    assert run([*SHORT, "--method", "vfedmh", "--out", str(root / "vfedmh")]) == 0
    assert run([*SHORT, "--seeds", "3", "--bounds", "on", "--out", str(root / "seeds")]) == 0
    yield root


@pytest.fixture
def copied(runs: Path, tmp_path: Path) -> Path:
    """Return a copy of the EASTER run that a test may change."""
    return Path(shutil.copytree(runs / "easter", tmp_path / "run"))


def result_of(path: Path) -> dict[str, Any]:
    """Read a result."""
    content: dict[str, Any] = json.loads((path / "result.json").read_text())
    return content


def test_page_shows_what_the_result_holds(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report([str(runs / "easter")]) == 0
    page = runs / "easter" / "report.html"
    assert capsys.readouterr().out == f"written to {page}\n"
    text, result = read(page).text, result_of(runs / "easter")
    for accuracy in [*result["test_accuracy"].values(), *result["bounds"].values()]:
        assert f"{accuracy:.2%}" in text
    books = [result, result["evaluation"], result["upkeep"]]
    for table in (result["bytes_by_party"], *(book["bytes_by_phase"] for book in books)):
        for name, entry in table.items():
            assert f"{name} {readable(entry['up'])} {readable(entry['down'])}" in text
    for told in [*result["protections"], *result["unprotected"]]:
        assert told in text
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
    assert differing == ["method", "bounds"]
    assert [key for _, key in rows][:2] == differing
    assert len(rows) > 20


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


def test_many_parties_fit(tmp_path: Path) -> None:
    flags = ["--epochs", "1", "--parties", "16", "--dataset", "breast-cancer", "--bounds", "off"]
    assert run([*flags, "--out", str(tmp_path / "run")]) == 0
    assert report([str(tmp_path / "run")]) == 0
    assert "party-15" in read(tmp_path / "run" / "report.html").text


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
    """Return copies of a record with each entry missing or of another type."""
    others: list[object] = ["x", [], {"a": "b"}, -1]
    missing = [{k: v for k, v in good.items() if k != key} for key in good]
    return missing + [good | {key: wrong} for key in good for wrong in others]


def test_damaged_results_and_metrics_are_told_or_shown(
    copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever is wrong in them, there is a page or one line of error, never a traceback."""
    result, told = result_of(copied), 0
    line = json.loads((copied / "metrics.jsonl").read_text().splitlines()[0])
    for wrong in damages(result)[::5]:
        (copied / "result.json").write_text(json.dumps(wrong))
        told += _told_or_shown(copied, capsys)
    (copied / "result.json").write_text(json.dumps(result))
    for wrong in damages(line):
        (copied / "metrics.jsonl").write_text(json.dumps(wrong) + "\n")
        told += _told_or_shown(copied, capsys)
    (copied / "metrics.jsonl").write_text("[" * 100_000 + "\n")
    assert _told_or_shown(copied, capsys)
    assert told > 40


def _told_or_shown(run: Path, capsys: pytest.CaptureFixture[str]) -> bool:
    code, lines = report([str(run)]), capsys.readouterr().err.splitlines()
    assert (code, len(lines)) in ((0, 0), (2, 1))
    return code == 2


@pytest.mark.parametrize("seeds", ["x", [], [0.5], [1e400], [-1], None])
def test_damaged_seeds_are_told(
    seeds: object, runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    some = Path(shutil.copytree(runs / "seeds", tmp_path / "seeds"))
    content = json.loads((some / "seeds.json").read_text())
    (some / "seeds.json").write_text(json.dumps(content | {"seeds": seeds}))
    assert report([str(some)]) == 2
    assert "seeds.json is damaged" in capsys.readouterr().err


def test_a_run_of_no_epochs_has_a_page(tmp_path: Path) -> None:
    assert run(["--epochs", "0", "--bounds", "off", "--out", str(tmp_path / "run")]) == 0
    assert report([str(tmp_path / "run")]) == 0
    assert len(read(tmp_path / "run" / "report.html").sources) == 1


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


def test_a_page_that_cannot_be_written_is_an_error(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    page = tmp_path / "file" / "page.html"
    assert report([str(runs / "easter"), "--page", str(page)]) == 2
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.skipif(BROWSER is None, reason="there is no Chromium")
def test_a_browser_shows_it(runs: Path, tmp_path: Path) -> None:
    page, picture = tmp_path / "page.html", tmp_path / "page.png"
    assert report([str(runs / "easter"), "--page", str(page)]) == 0
    command = [
        str(BROWSER),
        *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-quic"),
        *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
        f"--user-data-dir={tmp_path / 'profile'}",
        "--window-size=1250,2400",
    ]

    def browse(*arguments: str) -> str:
        done = subprocess.run(  # noqa: S603
            [*command, *arguments, page.as_uri()],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            timeout=120,
            check=True,
        )
        return done.stdout

    reader = Reader()
    reader.feed(browse("--dump-dom"))
    assert f"{result_of(runs / 'easter')['test_accuracy']['active']:.2%}" in reader.text
    browse(f"--screenshot={picture}")
    pixels = np.asarray(Image.open(picture).convert("RGB")).reshape(-1, 3)
    for colour in (BLUE, ORANGE):  # the figures are there, not only their frames
        assert (pixels == colour).all(1).sum() > 500
