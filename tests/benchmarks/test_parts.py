"""Results of some of a benchmark's names beside those of the others."""

import json
from pathlib import Path
from typing import Any

from benchmarks.harness.benchmark import Arguments, Benchmark, Option
from benchmarks.harness.parts import days
from benchmarks.harness.report import Report


def measure(given: Arguments, report: Report) -> None:
    table = report.table("all", {"name": "", "value": "d"})
    for name in given.names:
        table.add(name, given.value)
        table.add(name, given.value + 1)
        report.table(f"of {name}", {"": "", "value": "d"}).add("all", given.value)
    report.fact("value", given.value)


BENCHMARK = Benchmark(
    measure, {"value": Option(0, help="of all rows")}, known=("a", "b", "c"), timed=False
)


def written(path: Path, *words: str) -> dict[str, Any]:
    BENCHMARK.run([*words, "--json", str(path)])
    result: dict[str, Any] = json.loads(path.read_text())
    return result


def test_names_take_the_place_of_their_former_rows(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    written(path, "a", "c", "--value", "10")
    whole, *single = written(path, "c", "b", "--value", "20")["tables"]
    assert whole["rows"] == [["a", 10], ["a", 11], ["c", 20], ["c", 21], ["b", 20], ["b", 21]]
    assert {each["title"]: each["rows"] for each in single} == {
        "of a": [["all", 10]],
        "of c": [["all", 20]],
        "of b": [["all", 20]],
    }


def test_a_name_measured_anew_loses_tables_of_other_titles(tmp_path: Path) -> None:
    def titled(given: Arguments, report: Report) -> None:
        for name in given.names:
            report.table(f"{name}: {given.value} rows", {"value": "d"}).add(given.value)

    options = {"value": Option(0, help="in titles")}
    path, shown = (
        tmp_path / "result.json",
        Benchmark(titled, options, known=("a", "b"), timed=False),
    )
    for words in (["a", "b", "--value", "10"], ["b", "--value", "20"]):
        shown.run([*words, "--json", str(path)])
    titles = [each["title"] for each in json.loads(path.read_text())["tables"]]
    assert titles == ["a: 10 rows", "b: 20 rows"]


def test_a_name_measured_anew_loses_its_facts(tmp_path: Path) -> None:
    def failing(given: Arguments, report: Report) -> None:
        for name in given.names if given.value else ():
            report.fact(f"{name}, mlp", "did not run here")

    path = tmp_path / "result.json"
    shown = Benchmark(failing, {"value": Option(0)}, known=("a", "b", "c"), timed=False)
    for words in (["a", "b", "--value", "1"], ["b", "--value", "0"]):
        shown.run([*words, "--json", str(path)])
    assert json.loads(path.read_text())["facts"] == {"a, mlp": "did not run here"}


def test_each_name_keeps_its_day(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    former = written(path, "a", "b") | {"date": "2026-01-02T03:04:05+00:00"}
    path.write_text(json.dumps(former))
    assert days(former) == "2026-01-02"
    both = written(path, "b")
    assert [each["names"] for each in both["parts"]] == [["a"], ["b"]]
    assert both["options"]["names"] == ["a", "b"]
    assert days(both) == f"2026-01-02 to {both['date'][:10]}"
    assert days(both, "a") == "2026-01-02"
    assert days(both, "b") == both["date"][:10]


def test_all_names_are_measured_anew(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    written(path, "a", "--value", "10")
    result = written(path, "--value", "20")
    assert "parts" not in result
    assert result["tables"][0]["rows"][0] == ["a", 20]
