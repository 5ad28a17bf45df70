"""A leakage card is printed, kept, and shown by other commands."""

import json
import re
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.outcomes.attempts import Attempt
from tests.helpers.outcomes.commands import audit, inspect, report
from tests.helpers.outcomes.stages import reason_of, score_of, small, stage_of
from vfl_flower.analysis.audit.attack import Adversary, Attack, Score, Target
from vfl_flower.analysis.audit.attacks.integrity import backdoor
from vfl_flower.analysis.audit.card import Estimate, Terms, leakage_card
from vfl_flower.analysis.audit.registry import ATTACKS, attack_of
from vfl_flower.analysis.audit.transcripts.stage import EndedRun, Stage
from vfl_flower.common.errors import ConfigError, Interrupted, RunError
from vfl_flower.runs.leakage_file import LEAKAGE, read_leakage

QUICK = ["--at-most", "1", "--attack", "read-off", "--attack", "learnt", "--attack", "decoder"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("audited") / "run"
    Attempt(small("easter", epochs=1), path).run()
    return path


@pytest.fixture
def run(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "run"))


@pytest.mark.slow
def test_a_card_is_printed_and_kept(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert audit([str(run), *QUICK, "--json"]) == 0
    shown = capsys.readouterr()
    card = json.loads(shown.out)
    assert card == read_leakage(run)
    assert stat.S_IMODE((run / LEAKAGE).stat().st_mode) == 0o600
    assert [line["attack"] for line in card["lines"]] == ["read-off", "learnt", "decoder"]
    assert card["protections"] == ["pairwise masking"]
    decoder = card["lines"][2]
    assert decoder["without"]["mean"] > decoder["with"]["mean"] > decoder["with"]["baseline"]
    assert "with protection" in " ".join(shown.err.split())


@pytest.mark.slow
def test_without_a_card_the_methods_leakage_is_shown(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert inspect([str(run)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "not audited; the strongest attacks on easter with its default protections" in shown
    assert "labels: read-off, accuracy 1.00 (majority 0." in shown
    assert inspect([str(run), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["leakage"] is None
    assert {"labels", "columns"} <= {each["target"] for each in told["leakage_of_method"]}
    assert report([str(run), "--page", str(run / "page.html")]) == 0
    assert "<h3>Leakage of the method</h3>" in (run / "page.html").read_text()


@pytest.mark.slow
def test_a_deviation_that_ends_the_run_does_not_end_the_audit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Gradients that are too large make an honest party send too much."""
    monkeypatch.setattr(backdoor, "GAMMA", 1e30)
    Attempt(small("easter", epochs=1, optimizers="sgd"), tmp_path / "steep").run()
    card = leakage_card(tmp_path / "steep", Terms(attacks=["backdoor", "read-off"]))
    assert [line["attack"] for line in card["lines"]] == ["read-off"]
    assert "ended in an error (PartyError)" in card["inapplicable"]["backdoor"]


def test_an_interrupted_attack_interrupts_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no run that noticed a deviation."""

    def interrupted(*_: object, **__: object) -> None:
        raise Interrupted("stopped")

    stage = stage_of("easter")
    monkeypatch.setattr("vfl_flower.analysis.audit.transcripts.stage.repeat", interrupted)
    for name in ("random-words", "chosen-labels", "backdoor"):
        with pytest.raises(Interrupted):
            attack_of(name).run(stage)


@pytest.mark.slow
def test_other_commands_show_the_card(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    leakage_card(run, Terms(epochs=1, attacks=["read-off"]))
    capsys.readouterr()
    assert inspect([str(run)]) == 0
    assert "leakage of easter on digits" in capsys.readouterr().out
    assert inspect([str(run), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["leakage"] == read_leakage(run)
    assert report([str(run), "--page", str(run / "page.html")]) == 0
    page = (run / "page.html").read_text()
    assert "<h3>Leakage</h3>" in page
    assert re.search(r'read-off</th><td>labels</td>.*?<td class="n">1\.000</td>', page, re.DOTALL)


@pytest.mark.slow
def test_several_seeds_give_an_interval(run: Path) -> None:
    card = leakage_card(run, Terms(epochs=1, seeds=2, attacks=["norm"]))
    [line] = card["lines"]
    assert card["seeds"] == [0, 1]
    assert line["without"]["low"] < line["without"]["mean"] < line["without"]["high"]


@pytest.mark.slow
def test_a_mean_over_fewer_seeds_says_so(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    attack = type(attack_of("norm"))
    whole = attack.run

    def ends_at_first(self: Attack, stage: Stage) -> Score:
        if stage.cfg.seed == 0:
            raise EndedRun(RunError("noticed"))
        return whole(self, stage)

    monkeypatch.setattr(attack, "run", ends_at_first)
    [line] = leakage_card(run, Terms(epochs=1, seeds=2, attacks=["norm"]))["lines"]
    lacks = "protection, in 1 of 2 seeds: the run with the deviation ended in an error (RunError)"
    assert line["remark"] == f"without {lacks}; with {lacks}"


def test_an_interval_is_students() -> None:
    scores = [Score("AUC", value, value / 2, "chance") for value in (1.0, 2.0, 3.0)]
    estimate = Estimate.of(scores)
    assert (estimate.mean, estimate.baseline) == (2, 1)
    assert estimate.high == pytest.approx(2 + 4.3027 * 1 / 3**0.5, abs=1e-3)
    assert Estimate.of(scores[:1]) == Estimate(1, 0.5)


def test_a_run_without_protections_has_one_column(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Attempt(small("splitnn", epochs=1), tmp_path / "run").run()
    assert audit([str(tmp_path / "run"), *QUICK]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "with protection" not in shown
    assert "protection: none" in shown
    assert "not applicable: read-off: no message to passive parties has what it needs" in shown


def test_a_run_between_machines_says_what_it_cannot_see(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for party in ("party-1", "party-2"):
        shutil.rmtree(run / party)
    assert audit([str(run), *QUICK]) == 2
    assert "nobody has all of them" in capsys.readouterr().err
    assert not (run / LEAKAGE).exists()


def test_a_damaged_card_is_refused(run: Path) -> None:
    (run / LEAKAGE).write_text('{"method": "easter"}')
    with pytest.raises(RunError, match="missing or damaged"):
        read_leakage(run)


def test_nothing_is_attacked_where_nothing_travels(tmp_path: Path) -> None:
    Attempt(small("local", epochs=1), tmp_path / "run").run()
    with pytest.raises(ConfigError, match="no party sends another one anything"):
        leakage_card(tmp_path / "run", Terms(epochs=1))


def test_a_misspelt_attack_is_named(run: Path) -> None:
    with pytest.raises(ConfigError, match=r"unknown attack 'read-of'.*did you mean 'read-off'"):
        leakage_card(run, Terms(attacks=["read-of"]))


@pytest.mark.parametrize("name", ATTACKS)
def test_every_attack_says_who_attacks_what(name: str) -> None:
    attack = attack_of(name)
    assert attack.adversary in Adversary
    assert attack.target in Target
    assert re.search(r"(19|20)\d\d|none; ", attack.anchor)
    assert attack.idea


@pytest.mark.slow
def test_trees_are_attacked_by_all_that_needs_no_network() -> None:
    stage = stage_of("boosted_trees", dataset="breast-cancer", epochs=2)
    found = {name: attack for name in ATTACKS if not (attack := attack_of(name)).applies(stage)}
    assert {"read-off", "histograms", "membership"} < set(found)
    assert reason_of("completion", stage) == "passive parties have no networks"
    values = {name: attack.run(stage).value for name, attack in found.items()}
    assert values["read-off"] == 1
    assert all(-1 <= value <= 1 for value in values.values())


@pytest.mark.slow
def test_encrypted_gradients_tell_nothing_and_splits_still_do() -> None:
    options: dict[str, Any] = {"dataset": "breast-cancer", "epochs": 2, "bins": 8}
    stage = stage_of("boosted_trees", gradient_encryption="paillier", **options)
    assert reason_of("read-off", stage) == "no message to passive parties has what it needs"
    assert score_of("learnt", stage).value < 0.65  # the majority is 0.63 of the rows
    assert score_of("histograms", stage).value > 0.5
    splits, clear = score_of("splits", stage), stage_of("boosted_trees", **options)
    assert splits.value > 0.95 > splits.baseline
    assert splits.value == score_of("splits", clear).value
    assert reason_of("splits", stage_of("splitnn")) == "no rows are told to part at splits"
