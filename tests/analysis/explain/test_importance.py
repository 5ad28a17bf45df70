"""Importance of parties: norms of heads, and noise on columns."""

import pytest
import torch
from torch import Tensor

from tests.helpers.data import columns_of, labels_of
from tests.helpers.outcomes.commands import explain as run
from tests.helpers.outcomes.explained import RUNS, Runs, findings_of, result_of
from vfl_flower.analysis.explain.importance import explain
from vfl_flower.analysis.explain.trained import complete_run, trained
from vfl_flower.data.preprocessing.scaling import noised
from vfl_flower.data.splitting.rows import rows_of


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_without_noise_the_parties_reach_what_the_run_reached(name: str, runs: Runs) -> None:
    result, findings = result_of(runs / name), findings_of(runs / name)
    assert findings.accuracy == result["test_accuracy"]["active"] > 0.3
    assert findings.rows == 359
    expected = range(1 if name == "labels only" else 0, result["parties"])
    assert [each.party for each in findings.parties] == [
        f"party-{rank}" if rank else "active" for rank in expected
    ]
    if result["method"] == "vimadmm":
        norms = {f"head_of_{each.party}": each.norm for each in findings.parties}
        assert norms == pytest.approx(result["figures"])
    assert max(each.relative for each in findings.parties) == 1


@pytest.mark.parametrize("name", ["blank", "blank logits", "blank linear"])
def test_a_party_of_blank_pixels_is_the_least_important(name: str, runs: Runs) -> None:
    *others, blank = findings_of(runs / name).parties
    assert blank.norm < 0.85 * min(each.norm for each in others)
    assert blank.drop < 0.5 * min(each.drop for each in others)


def test_parties_at_the_edges_are_less_important_and_the_ranks_agree(runs: Runs) -> None:
    findings = findings_of(runs / "strips")
    first, *middle, last = findings.parties
    assert max(first.norm, last.norm) < min(each.norm for each in middle)
    assert findings.correlation is not None
    assert findings.correlation > 0.5


@pytest.mark.slow
@pytest.mark.parametrize(("name", "noisy"), [("noisy", "party-2"), ("labels only", "party-3")])
def test_noise_in_training_is_told_and_noise_on_noise_costs_least(
    name: str, noisy: str, runs: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    parties = findings_of(runs / name).parties
    assert {each.party: each.trained_noise for each in parties if each.trained_noise} == {noisy: 10}
    assert min(parties, key=lambda each: each.drop).party == noisy
    assert run([str(runs / name)]) == 0
    table, names = capsys.readouterr().out, [each.party for each in parties]
    cells = [[cell.strip() for cell in line.split("│")] for line in table.splitlines()]
    told_of = {row[1]: row[3] for row in cells if row[1:2] and row[1] in names}
    assert told_of == {name: "10" if name == noisy else "-" for name in names}
    assert "noise in" in table


def test_noise_is_on_the_test_columns_of_one_party_at_a_time(runs: Runs) -> None:
    """As a program says that has neither parties nor shares."""
    folder, _ = complete_run(runs / "noisy")
    cfg, parties = folder.cfg, trained(folder)
    rows = torch.from_numpy(rows_of(cfg, 1797)["test"])
    y = labels_of(cfg)[rows]

    def predicted(noisy: int) -> Tensor:
        total = torch.zeros(len(rows), 10)
        for rank, holder in enumerate(parties.holders):
            x = columns_of(cfg, rank)[rows]
            x = noised(x, 3.0, cfg.seed, rank) if rank == noisy else x
            total += holder.head(holder.party.net.embed(x))  # type: ignore[operator]
        return total

    found = explain(parties, 3.0)
    for rank, each in enumerate(found.parties):
        expected = (predicted(rank).argmax(1) == y).double().mean().item()
        assert each.accuracy == pytest.approx(expected, abs=1.5 / 359)  # a tie may be rounded apart
        assert each.drop == found.accuracy - each.accuracy
    assert findings_of(runs / "noisy", 1e-9).parties[1].drop == 0


def test_the_same_noise_comes_out_each_time(runs: Runs) -> None:
    assert findings_of(runs / "strips") == findings_of(runs / "strips")
