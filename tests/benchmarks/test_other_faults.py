"""Damage is done as named, and wrong outcomes are noticed."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.faults import BENCHMARK
from benchmarks.faulty import configurations, damage, malformed
from benchmarks.faulty.forks import Ended
from vfl_flower.common.errors import DataError


def half(tmp_path: Path) -> damage.Half:
    """Return a run with a folder, which was not trained."""
    made = damage.Half.__new__(damage.Half)
    made.out, made.kept, made.other = (tmp_path / each for each in ("run", "kept", "other"))
    made.wrong, made.expected = "", {"active/file": "1", "party-1/file": "2"}
    for folder, value in ((made.kept, 0), (made.other, 5)):
        for number, party in enumerate(("active", "party-1"), 1):
            (folder / party).mkdir(parents=True)
            (folder / party / "file").write_text(str(value + number))
    return made


@pytest.mark.parametrize(
    ("after", "code", "text", "outcome"),
    [
        ("1", 0, "", "same"),
        ("1", 0, "warning: active/fi\nle is damaged", "same, told"),
        ("3", 0, "warning: file", "changed, told"),
        ("3", 0, "", "SILENT CHANGE"),
        ("1", 2, "error: file is damaged", "refused"),
        ("1", 2, "error: no", "file not named"),
        ("1", 1, "error: file", "TRACEBACK"),
        ("1", 2, "Traceback: file", "TRACEBACK"),
    ],
)
def test_outcomes_are_told_apart(
    after: str, code: int, text: str, outcome: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = half(tmp_path)

    def forked(arguments: list[str], noise: int) -> Ended:
        (made.out / "active" / "file").write_text(after)
        return Ended(code, text, [])

    monkeypatch.setattr(damage, "forked", forked)
    assert made.outcome(Path("active/file"), lambda: None) == outcome


def test_a_damaged_file_that_nobody_reads_is_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = half(tmp_path)
    monkeypatch.setattr(damage, "forked", lambda arguments, noise: Ended(0, "", []))
    path = made.out / "active" / "file"
    assert made.outcome(Path("active/file"), lambda: path.write_text("3")) == "not read"
    assert made.outcome(Path("active/file"), path.unlink) == "not read"


def test_every_kind_of_damage_is_done(tmp_path: Path) -> None:
    made, seen = half(tmp_path), dict[str, list[str | None]]()
    for kind, do in damage.damages(made, Path("active/file"), 1):
        (made.out / "party-1").mkdir(parents=True, exist_ok=True)
        (made.out / "active").mkdir(exist_ok=True)
        for party in ("active", "party-1"):
            (made.out / party / "file").write_bytes((made.kept / party / "file").read_bytes())
        do()
        path = made.out / "active" / "file"
        seen.setdefault(kind, []).append(path.read_text("latin-1") if path.exists() else None)
    flips = seen.pop("one bit flipped")
    assert all(each and (ord(each) ^ ord("1")).bit_count() == 1 for each in flips)
    assert seen == {
        "emptied": [""],
        "removed": [None],
        "another run's": ["6"],
        "another party's": ["2"],
    }


def test_a_run_is_killed_at_its_third_checkpoints() -> None:
    calls = [
        f"open {seed}active/.checkpoint-{step:09d}.safetensors.x"
        for seed in ("seed-0/", "seed-1/")
        for step in (0, 1, 2, 3)
    ]
    assert damage.third_checkpoint(calls) == 7
    assert damage.third_checkpoint(["mkdir active", *calls[:4]]) == 4


def test_bits_are_flipped_in_all_parts_of_a_file() -> None:
    places = [bit // 8 for bit in damage.bits_of(bytes(10_000), 4)]
    bounds = [0, 8, 512, 2884, 5256, 7628, 10_000]
    assert [int(np.searchsorted(bounds, place, "right")) for place in places] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (DataError("party-1: own.csv is empty"), "refused"),
        (DataError("own.csv is empty"), "TRACEBACK"),
        (ValueError("party-1: no"), "TRACEBACK"),
        (None, "read"),
    ],
)
def test_ends_of_reading_are_told_apart(
    error: Exception | None, outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(description: object, party: str) -> None:
        if error:
            raise error

    monkeypatch.setattr(malformed, "read_table", read)
    assert malformed.outcome(Path("own.csv"), {}) == outcome


def test_configurations_that_break_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert configurations.outcome({"epochs": 3}) == "accepted"
    assert configurations.outcome({"epochs": -3}) == "refused"
    other = SimpleNamespace(to_mapping=lambda: {"epochs": 2})
    taken = SimpleNamespace(from_mapping=lambda values: other if values["epochs"] == 3 else None)
    monkeypatch.setattr(configurations, "RunConfig", taken)
    assert configurations.outcome({"epochs": 3}) == "changed"
    assert configurations.outcome({}) == "TRACEBACK"


@pytest.mark.slow
def test_results_of_other_kinds_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "faults.json"
    for words in (["tables", "--tables", "8"], ["configurations", "--configurations", "5"]):
        BENCHMARK.run([*words, "--json", str(path)])
    result = json.loads(path.read_text())
    assert [each["title"] for each in result["tables"]] == [
        "malformed tables",
        "random configurations",
    ]
    assert sum(row[1] for row in result["tables"][0]["rows"]) == 8
    assert {"tables, date", "configurations, date"} == set(result["facts"])
