"""``--profile``: where the time of a run went."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from tests.helpers.outcomes.commands import train as run
from vfl_flower.common.errors import ConfigError, RunError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.protocol.profiling import MOST, Profile
from vfl_flower.reporting.html.page import render
from vfl_flower.reporting.html.story import read_stories
from vfl_flower.reporting.profile_rows import profile_rows
from vfl_flower.workflows.build_parties import build_active
from vfl_flower.workflows.run import conduct

SHORT = ["--models", "mlp", "--epochs", "1", "--baselines", "off"]
PARTIES = ["active", "party-1", "party-2", "party-3"]


@pytest.fixture(scope="module")
def profiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train with a profile."""
    path = tmp_path_factory.mktemp("profiled") / "run"
    assert run([*SHORT, "--profile", "--out", str(path)]) == 0
    return path


def result(path: Path) -> dict[str, Any]:
    """Read a run's result."""
    read: dict[str, Any] = json.loads((path / "result.json").read_text())
    return read


def test_the_trace_has_a_thread_for_each_party_and_for_the_exchanges(profiled: Path) -> None:
    events = json.loads((profiled / "profile.json").read_text())["traceEvents"]
    lanes = {each["tid"]: each["args"]["name"] for each in events if each["ph"] == "M"}
    assert sorted(lanes.values()) == sorted([*PARTIES, "exchanges"])
    spans = [each for each in events if each["ph"] == "X"]
    of = {(lanes[each["tid"]], each["cat"], each["name"]) for each in spans}
    wanted = {("exchanges", "exchange", "embed"), ("active", "phase", "during exchanges")}
    wanted |= {("party-2", "phase", "embed"), ("party-2", "phase", "predict")}
    wanted |= {("party-2", "work", name) for name in ("forward", "backward", "masks", "codec")}
    assert wanted <= of
    assert (profiled / "profile.json").stat().st_mode & 0o077 == 0


def test_work_lies_within_its_phase_and_phases_within_their_exchange(profiled: Path) -> None:
    events = json.loads((profiled / "profile.json").read_text())["traceEvents"]
    lanes = {each["tid"]: each["args"]["name"] for each in events if each["ph"] == "M"}
    spans = [each for each in events if each["ph"] == "X"]

    def intervals(lane: str, kind: str, *names: str) -> list[tuple[float, float]]:
        return [
            (each["ts"] - 1, each["ts"] + each["dur"] + 1)  # of a microsecond, by rounding
            for each in spans
            if (lanes[each["tid"]], each["cat"]) == (lane, kind)
            and (not names or each["name"] in names)
        ]

    def lie_within(inner: list[tuple[float, float]], outer: list[tuple[float, float]]) -> bool:
        return bool(inner) and all(any(a <= c and d <= b for a, b in outer) for c, d in inner)

    exchanges = intervals("exchanges", "exchange")
    for party in PARTIES[1:]:
        phases = intervals(party, "phase")
        assert lie_within([(a + 2, b - 2) for a, b in phases], exchanges)
        within = intervals(party, "work", "forward", "backward", "masks")
        assert lie_within([(a + 2, b - 2) for a, b in within], phases)


def test_the_result_sums_up_seconds(profiled: Path) -> None:
    summed = result(profiled)["profile"]
    assert sorted(summed["parties"]) == PARTIES
    for kinds in summed["parties"].values():
        within = sum(kinds["work"].values()) - kinds["work"].get("codec", 0)
        assert 0 < within < sum(kinds["phase"].values())
    assert sum(summed["parties"]["party-1"]["phase"].values()) < summed["exchanges"]


@pytest.mark.slow
def test_terminal_and_report_show_it(profiled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--resume", str(profiled)]) == 0
    text = capsys.readouterr().out
    assert "seconds of this attempt" in text
    assert "waiting" in text
    page = render(read_stories([profiled]))
    assert '<th scope="col" class="n">waiting</th>' in page


def test_a_profile_changes_no_weight_and_none_is_taken_unasked(
    profiled: Path, tmp_path: Path
) -> None:
    assert run([*SHORT, "--out", str(tmp_path / "run")]) == 0
    assert not (tmp_path / "run" / "profile.json").exists()
    assert result(tmp_path / "run")["profile"] is None
    for party in PARTIES:
        place = Path(party, "model", "weights.safetensors")
        mine, theirs = load_file(profiled / place), load_file(tmp_path / "run" / place)
        assert all(torch.equal(mine[name], theirs[name]) for name in mine.keys() | theirs.keys())


def test_without_a_folder_it_is_refused() -> None:
    active = build_active(RunConfig(profile=True))
    with pytest.raises(ConfigError, match="profile is on, but the run has no folder"):
        conduct(active, None)  # type: ignore[arg-type]


def test_a_long_run_keeps_some_spans_and_counts_all() -> None:
    profile = Profile()
    for _ in range(MOST + 10):
        profile.add("active", "phase", "step", 0.0, 1.0)
    assert len(profile.spans) == MOST
    assert profile.summary()["parties"]["active"]["phase"]["step"] == MOST + 10


def test_rows_of_the_table_add_up() -> None:
    """The codec is beside phases; between exchanges nobody waits."""
    active = {
        "phase": {"during exchanges": 3.0, "between exchanges": 2.0},
        "work": {"forward": 1.0, "codec": 0.5},
    }
    passive = {"phase": {"embed": 4.0}, "work": {"forward": 1.0, "backward": 0.5, "masks": 0.25}}
    parties = {"active": active, "party-1": passive}
    first, second = profile_rows({"exchanges": 10.0, "parties": parties})
    assert first == ("active", [1.0, 0.0, 0.0, 0.5], 4.0, 6.5)
    assert second == ("party-1", [1.0, 0.5, 0.25, 0.0], 2.25, 6.0)


def test_a_trace_that_cannot_be_written_loses_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, content: bytes) -> None:
        raise RunError(f"{path} cannot be written: no space left on device")

    monkeypatch.setattr("vfl_flower.workflows.run.write_atomically", full)
    assert run([*SHORT, "--profile", "--out", str(tmp_path / "run")]) == 0
    assert result(tmp_path / "run")["profile"]["parties"]
    assert not (tmp_path / "run" / "profile.json").exists()
