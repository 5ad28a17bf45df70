"""Page of a table's columns, through the command line."""

import re
from html import unescape
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from vfl_flower.cli.main import run as program

HOSTILE = "<script>alert('x')</script>\"&"


def page_of(folder: Path, *said: str) -> str:
    """Write the page of the folder's table, and return it."""
    page = folder / "page.html"
    assert program(["data", "columns", *said, "--out", str(page)]) == 0
    assert page.stat().st_mode & 0o777 == 0o600
    return page.read_text()


def sections(page: str) -> dict[str, str]:
    """Return the sections by column, as one line each."""
    found = re.findall(r"<section>(.*?)</section>", page, re.DOTALL)
    names = [re.search(r"<h2><bdi>(.*?)</bdi></h2>", each) for each in found]
    joined = (" ".join(each.split()) for each in found)
    return {unescape(name[1]): each for name, each in zip(names, joined, strict=True) if name}


def bars(section: str) -> dict[str, str]:
    """Return the counts by value, as the section has them."""
    pattern = r'<div class="bar[^>]*><(?:bdi|em)>(.*?)</(?:bdi|em)>.*?<span>(.*?)</span>'
    return dict(re.findall(pattern, section))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Write a table of 200 rows, of every kind of column."""
    rows = np.arange(200)
    numbers = np.where(rows % 4 == 0, np.nan, rows % 8)
    columns = {
        "client": [f"secret{n}" for n in rows],
        "age": pa.array(numbers, from_pandas=True),
        "constant": np.ones(200),
        "town": [f"t{min(n, 13)}" if n else HOSTILE for n in rows % 20],
        "day": pa.array(rows * 86_400, pa.timestamp("s")),
        "ok": [bool(n % 2) for n in rows],
        "name": [f"person {n}" for n in rows],
        "empty": pa.nulls(200, pa.string()),
        "parts": [[1]] * 200,
        "skipped": [f"hidden {n % 2}" for n in rows],
        "risk": ["high" if n % 10 == 0 else "low" for n in rows],
    }
    pa.parquet.write_table(pa.table(columns), tmp_path / "bank.parquet")
    said = 'file = "bank.parquet"\nid = "client"\nlabel = "risk"\n[columns]\nskipped = "ignored"\n'
    (tmp_path / "bank.toml").write_text(said)
    return tmp_path / "bank.toml"


def test_every_column_is_drawn_and_no_id_is_shown(table: Path) -> None:
    page = page_of(table.parent, str(table))
    found = sections(page)
    names = ["risk", "age", "constant", "town", "day", "ok", "name", "empty", "parts", "skipped"]
    assert list(found) == names
    assert "200 rows, 10 columns" in page
    assert not re.search("secret|person|hidden", page)
    assert bars(found["risk"]) == {"low": "180", "high": "20"}
    assert "50 missing (25.0 %), 6 distinct" in found["age"]
    assert found["age"].count("z") == 6  # bars of the numbers that come
    assert "<span>1</span><span>7</span>" in found["age"]
    assert found["constant"].count("z") == 1
    assert "<span>1970-01-01</span><span>1970-07-19</span>" in found["day"]
    assert sum(int(each) for each in bars(found["town"]).values()) == 200
    assert len(bars(found["town"])) == 11
    assert bars(found["town"])["other values"] == "40"
    assert "a value of their own; none is shown" in found["name"]
    assert "Hint: " in found["name"]
    assert "200 missing (100.0 %)" in found["empty"]
    assert "write one column for each part" in found["parts"]
    assert "not read" in found["skipped"]


def test_hostile_names_and_cells_are_text(tmp_path: Path) -> None:
    cells = [HOSTILE, "</bdi><img src=x onerror=alert(1)>", "w" * 100_000]
    name = "<svg onload=alert(1)>" + "n" * 100_000
    table = pa.table({"id": range(60), name: cells * 20, "y": [0, 1] * 30})
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    page = page_of(tmp_path, str(tmp_path / "t.parquet"), "--id", "id", "--label", "y")
    for tag in ("<script", "<img", "<svg onload"):
        assert tag not in page
    assert "&lt;script&gt;" in page
    assert "&lt;svg onload" in page
    assert len(page) < 10_000
    assert "default-src 'none'" in page
    assert not re.search(r"(src|href)=\"|url\(", page)


def test_text_with_many_values_is_counted(tmp_path: Path) -> None:
    cells = [f"v{n}" for n in range(1100)] * 2 + ["often"] * 1000
    table = pa.table({"id": range(3200), "code": ["often", *cells[:-1]], "y": [0, 1] * 1600})
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    page = page_of(tmp_path, str(tmp_path / "t.parquet"), "--id", "id", "--label", "y")
    code = sections(page)["code"]
    assert "<b>hashed</b>" in code
    assert "over 1,000 distinct" in code
    assert bars(code)["often"] == "1,000"
    assert bars(code)["other values"] == "2,182"


def test_labels_that_are_numbers_and_weights(tmp_path: Path) -> None:
    near = np.nextafter(1.0, 2.0)  # the narrowest range there is
    prices = [1.0, near] * 30
    weights = np.linspace(0, 2, 60)
    table = pa.table({"id": range(60), "price": prices, "w": weights, "b": range(60)})
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    said = 'file = "t.parquet"\nid = "id"\nlabel = "price"\nweight = "w"\ntask = "regression"\n'
    (tmp_path / "t.toml").write_text(said)
    found = sections(page_of(tmp_path, str(tmp_path / "t.toml")))
    assert list(found) == ["price", "w", "b"]
    assert found["price"].count("z") == 2
    assert "<b>weight</b>" in found["w"]
    assert found["w"].count("z") == 24


def test_wide_tables_have_small_pages(tmp_path: Path) -> None:
    numbers = {f"pixel {n}": np.arange(50) * n for n in range(200)}
    table = pa.table({"id": range(50), **numbers, "y": [0, 1] * 25})
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    page = page_of(tmp_path, str(tmp_path / "t.parquet"), "--id", "id", "--label", "y")
    assert len(sections(page)) == 201
    assert len(page) < 400_000


def test_inputs_are_never_replaced(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = table.parent
    before = (folder / "bank.parquet").read_bytes()
    (folder / "link.html").symlink_to(folder / "bank.parquet")
    (folder / "other.html").hardlink_to(table)
    for name, why in {
        "link.html": "is an input of this page",
        "other.html": "is an input of this page",
        "bank.parquet": "must end in .html",
        "page.txt": "must end in .html",
    }.items():
        assert program(["data", "columns", str(table), "--out", str(folder / name)])
        shown = capsys.readouterr()
        assert why in " ".join(shown.err.split())
        assert shown.out == ""  # refused before the table is read
    assert (folder / "bank.parquet").read_bytes() == before
    (folder / "page.html").write_text("an earlier page")
    assert "earlier" not in page_of(folder, str(table))
