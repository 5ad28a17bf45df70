"""Descriptions of own tables."""

from pathlib import Path

import pytest

from tests.helpers.outcomes.commands import data
from tests.helpers.own_data.own_tables import lines
from vfl_flower.common.errors import ConfigError
from vfl_flower.data.tables.description import Description, read_description


def test_a_description_is_read_with_its_file_beside_it(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(
        'file = "data/own.csv"\nid = "client"\nlabel = "paid"\ndecimal = ","\nmissing = ["?"]\n'
        'id-type = "text"\ntask = "binary"\n[columns]\nage = "numeric"\n"größe" = "ignored"\n',
        encoding="utf-8",
    )
    assert read_description(tmp_path / "own.toml") == Description(
        tmp_path / "data" / "own.csv",
        "client",
        "paid",
        {"age": "numeric", "größe": "ignored"},
        "binary",
        "text",
        ",",
        ("?",),
    )


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('id = "a"', "file is missing"),
        ('file = "a.csv"', "id is missing"),
        ('file = "a.csv"\nid = "a"\nlable = "b"', "unknown key 'lable'; did you mean 'label'"),
        ('file = "a.csv"\nid = 1', "id must be a text, not 1"),
        ('file = "a.csv"\nid = "a"\ntask = "ranking"', "task must be binary or multi-class or"),
        ('file = "a.csv"\nid = "a"\ncolumns = ["b"]', "columns must be a table"),
        ('file = "a.csv"\nid = "a"\n[columns]\nb = "number"', "column 'b' must be numeric or"),
        ('file = "a.csv"\nid = "a"\n[columns]\na = "numeric"', "'a' is the id, the label"),
        ('file = "a.csv"\nid = "a"\nlabel = "a"', "id and label are one column"),
        ('file = "a.csv"\nid = "a"\nmissing = "?"', "missing must be a list"),
        ("file = ", "cannot be read as toml"),
    ],
)
def test_a_description_that_cannot_be_is_refused(content: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(content)
    with pytest.raises(ConfigError, match=told) as refusal:
        read_description(tmp_path / "own.toml")
    assert str(tmp_path / "own.toml") in str(refusal.value)


@pytest.mark.parametrize("name", ["bank.csv", "bank.TSV", "bank.parquet", "bank.txt.gz"])
def test_a_table_is_no_description(name: str, tmp_path: Path) -> None:
    """Whether it is there or not."""
    with pytest.raises(ConfigError) as refusal:
        read_description(tmp_path / name)
    for words in (
        f"{tmp_path / name} is a table",
        "--id COLUMN",
        "bank.toml",
        f'file = "{name}"',
        'id = "COLUMN"',
    ):
        assert words in str(refusal.value)


def test_the_page_does_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its toml, on a table with the columns that it names."""
    page = (Path(__file__).resolve().parents[3] / "docs" / "tables.md").read_text()
    header = "client,defaulted,age,postcode,remarks"
    content = lines(header, lambda n: f"k{n},{n % 2},{n},0{n % 3},{n}")
    monkeypatch.chdir(tmp_path)
    Path("clients.csv").write_text(content)
    Path("clients.toml").write_text(page.split("```toml\n")[1].split("```")[0])
    assert data(["columns", "clients.toml"]) == 0
    told = capsys.readouterr().out
    for words in ("age", "numeric", "postcode", "categorical", "remarks", "ignored", "binary"):
        assert words in told
