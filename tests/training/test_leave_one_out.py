"""Leave-one-out contributions of passive parties, against sums made by hand."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.helpers.contract import CASES, configured, short, used
from tests.helpers.formulas import K
from tests.helpers.outcomes.commands import inspect, report
from tests.helpers.outcomes.commands import train as run
from tests.helpers.own_data.own import result_of
from vfl_flower.config.run_config import RunConfig
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.party import Party
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.protocol.observer import Evaluation
from vfl_flower.runs.metrics_file import read_metrics
from vfl_flower.runs.results import under_present_names
from vfl_flower.training.leave_one_out import obstacle
from vfl_flower.transport.endpoint import Endpoint
from vfl_flower.transport.local import serve
from vfl_flower.workflows.build_parties import build_active, build_passive

Predict = Callable[[Sequence[Party], Tensor, int], Tensor]


def unmasked(method: str, **changes: object) -> RunConfig:
    masks = {"blinding": "none"} if configured(method).spec.blinds else {}
    return replace(configured(method), **masks, **changes)  # type: ignore[arg-type]


def trained(cfg: RunConfig) -> tuple[ActiveParty, list[Party]]:
    active, passive = build_active(cfg), [build_passive(cfg, k) for k in range(1, cfg.parties)]
    serve(active, [Endpoint(party) for party in passive])
    for each in (active, *passive):
        each.net.eval()
    return active, [active, *passive]


def last(active: ActiveParty) -> Evaluation:
    counting = active.progress.counting(active.cfg.keep)
    assert counting is not None
    return counting


def without_one(parties: Sequence[Party], rank: int) -> list[Party]:
    """Leave out the passive party of a rank; of 0, nobody."""
    return [party for party in parties if not rank or party.rank != rank]


def sent(party: Party, values: Tensor) -> Tensor:
    """Return an upload as it leaves, or the active party's own."""
    return party.bounded(values) if isinstance(party, PassiveParty) else values


def embedded(party: Party, rows: Tensor) -> Tensor:
    return sent(party, party.embed_rows(rows))


def summed_logits(parties: Sequence[Party], rows: Tensor, without: int) -> Tensor:
    return sum(  # type: ignore[return-value]
        sent(each, each.decide(each.embed_rows(rows))) for each in without_one(parties, without)
    )


def mean_logits(parties: Sequence[Party], rows: Tensor, without: int) -> Tensor:
    return summed_logits(parties, rows, without) / (len(parties) - (without > 0))


def mean_embedding(parties: Sequence[Party], rows: Tensor, without: int) -> Tensor:
    E = [embedded(party, rows) for party in without_one(parties, without)]
    return parties[0].decide(sum(E) / len(E))  # type: ignore[arg-type]


def joined(parties: Sequence[Party], rows: Tensor, without: int) -> Tensor:
    E = [embedded(party, rows) * (not without or party.rank != without) for party in parties]
    return parties[0].decide(torch.cat(E, 1))


@pytest.mark.parametrize(
    ("method", "changes", "predict"),
    [
        ("agg_vfl", {}, summed_logits),
        ("fdml", {}, summed_logits),
        ("fdml", {"prediction": "mean"}, mean_logits),
        ("easter", {}, mean_embedding),
        ("vfedmh", {}, mean_embedding),
        ("splitnn", {}, joined),
    ],
)
@torch.no_grad()
def test_it_is_the_score_of_the_others(
    method: str, changes: dict[str, object], predict: Predict
) -> None:
    with torch.enable_grad():
        active, parties = trained(unmasked(method, **changes))
    rows = torch.from_numpy(active.rows["validation"])
    score = {
        without: (predict(parties, rows, without).argmax(1) == active.y[rows]).double().mean()
        for without in range(K + 1)
    }
    assert last(active).primary["active"] == pytest.approx(score[0].item())
    assert last(active).leave_one_out == {
        f"party-{k}": pytest.approx(score[k].item()) for k in range(1, K + 1)
    }


@pytest.mark.parametrize("case", CASES)
def test_every_party_has_one_or_there_is_a_reason(case: str) -> None:
    changes = (
        used(case, {"blinding": "none", "share_check": "off"})
        if configured(case).spec.blinds
        else {}
    )
    active, _ = trained(replace(short(case), **changes))
    found = last(active).leave_one_out
    assert set(found) == (
        set() if obstacle(active.cfg) else {f"party-{k}" for k in range(1, K + 1)}
    )
    assert all(0 <= each <= 1 for each in found.values())


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--method", "easter"], "masks hide each party's upload"),
        (["--method", "boosted_trees"], "no zeros can stand for one party's uploads"),
        (
            ["--method", "splitnn", "--parties", "2", "--active-columns", "none"],
            "no party left with columns",
        ),
        (["--method", "splitnn", "--validation", "0"], "no validation rows"),
    ],
)
def test_it_says_why_it_is_not_measured(options: list[str], why: str, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert run([*options, "--epochs", "1", "--out", str(out)]) == 0
    found = result_of(out)["leave_one_out"]
    assert found["scores"] == {}
    assert why in found["unmeasured"]


@pytest.mark.slow
def test_inspect_and_the_report_show_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    assert run(["--method", "splitnn", "--epochs", "1", "--out", str(out)]) == 0
    scores = result_of(out)["leave_one_out"]["scores"]
    assert read_metrics(out)[-1].leave_one_out == scores
    capsys.readouterr()
    assert inspect([str(out)]) == 0
    shown = capsys.readouterr().out
    assert report([str(out), "--page", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text()
    for name, score in scores.items():
        assert any(name in line and f"{score:.2%}" in line for line in shown.splitlines())
        assert f'{name}</th><td class="n">{score:.2%}' in page


def test_a_result_of_an_earlier_version_has_none() -> None:
    found = under_present_names({"task": "binary"})["leave_one_out"]
    assert found["scores"] == {}
    assert found["unmeasured"]
