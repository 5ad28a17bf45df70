"""Predictions of rows: the outputs, their traffic and their privacy budget."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
import torch
from flwr.app import RecordDict
from torch import Tensor

from tests.helpers.contract import CASES, Tap
from tests.helpers.data import labels_of
from tests.helpers.outcomes.attempts import Attempt
from tests.helpers.outcomes.commands import predict as run
from tests.helpers.outcomes.predictions import ASKED, NAMES, PRIVATE, REBUILT, Finished, read, tiny
from vfl_flower.common.codec import from_parameters
from vfl_flower.common.errors import PartyError, PrivacyError, ProtocolError
from vfl_flower.common.layout import CARD, MODEL
from vfl_flower.data.preprocessing.target import Target
from vfl_flower.data.sources import scikit_learn
from vfl_flower.learning.metrics.of_classes import confusion
from vfl_flower.learning.metrics.predictions import Predictions
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.privacy.client_dp.upload_log import Counts, Uploads
from vfl_flower.protocol.strategy import Coordinator
from vfl_flower.runs.run_folder import RunFolder
from vfl_flower.transport.endpoint import Endpoint, RebuiltEndpoint
from vfl_flower.transport.local import LocalTransport, serve
from vfl_flower.workflows.build_parties import build_active
from vfl_flower.workflows.local import predict as here
from vfl_flower.workflows.local.predict import ROWS, numbers_of
from vfl_flower.workflows.local.predict import predict_rows as predict
from vfl_flower.workflows.prediction import protocol
from vfl_flower.workflows.trained_parties import predicting_parties


def no_labels(*_: object) -> NoReturn:
    raise AssertionError("a prediction looks at labels")


@pytest.mark.parametrize("case", [*CASES, PRIVATE])
def test_predictions_of_the_test_rows_are_those_of_the_run(
    case: str, finished: Finished, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them, without labels, and without further requests or files."""
    taps: list[Tap] = []

    class Tapped(LocalTransport):
        def run(self, active: Coordinator) -> dict[str, Any]:
            taps.extend(Tap(Endpoint(party)) for party in self.passive)
            serve(active, taps)
            return {}

    folder, out = finished(case), tmp_path / "new" / "said.csv"
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    with monkeypatch.context() as patch:
        patch.setattr(scikit_learn, "DIGITS", replace(scikit_learn.DIGITS, labels=no_labels))
        patch.setattr(here, "LocalTransport", Tapped)
        assert predict(folder, "test", out) == (359, None, 0)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before

    result = json.loads((folder / "result.json").read_text())
    numbers, classes, shares = read(out)
    y = labels_of(tiny(case))[torch.from_numpy(numbers)]
    said = torch.tensor([int(each) for each in classes])
    assert (said == y).double().mean().item() == result["test_accuracy"]["active"]
    counted = confusion(Predictions(shares, y, Target("multi-class", tuple("0123456789"))))
    assert counted == result["metrics"]["active"]["confusion"]
    assert torch.allclose(shares.sum(1), torch.ones(359), atol=1e-5)
    assert out.stat().st_mode & 0o777 == 0o600
    for tap in taps:
        assert {phase for phase, _ in tap.requests()} <= ASKED
        if tiny(case).blinded:  # two exchanges for keys come first
            (sent,) = from_parameters(tap.sent[2][1].parameters)
            assert sent.dtype == np.uint32


def outputs_of(folder: Path, rows: str, rebuilt: bool) -> Tensor:
    """Return logits of some rows, with live or rebuilt parties."""
    kept = RunFolder.reopen(folder, {})
    active, live = predicting_parties(kept)
    clients = [
        RebuiltEndpoint(lambda k=k: predicting_parties(kept)[1][k], k + 1, RecordDict())  # type: ignore[misc]
        if rebuilt
        else Endpoint(party)
        for k, party in enumerate(live)
    ]
    logits: list[Tensor] = []
    active.task = partial(protocol, active, numbers_of(active, rows), logits)
    serve(active, clients)
    return logits[0]


@pytest.mark.parametrize("case", REBUILT)
def test_parties_rebuilt_for_every_message_say_the_same(case: str, finished: Finished) -> None:
    folder = finished(case)
    assert torch.equal(outputs_of(folder, "test", True), outputs_of(folder, "test", False))


@pytest.mark.parametrize("case", REBUILT)
def test_all_rows_can_be_predicted(case: str, finished: Finished, tmp_path: Path) -> None:
    """Training rows too; each row's prediction is independent of others."""
    files = [tmp_path / f"{rows}.csv" for rows in ROWS]
    assert [predict(finished(case), *each).rows for each in zip(ROWS, files, strict=True)] == [
        *(359, 144),
        1797,
    ]
    test, validation, every = map(read, files)
    assert every[0].tolist() == list(range(1797))
    assert not {*test[0].tolist()} & {*validation[0].tolist()}
    for numbers, _, shares in (test, validation):
        assert numbers.tolist() == sorted(numbers)
        assert torch.allclose(every[2][torch.from_numpy(numbers)], shares, atol=1e-4)


def test_rows_that_the_run_left_out_can_be_predicted(tmp_path: Path) -> None:
    """Of which no view has a feature map."""
    cfg = replace(tiny("adptvfedconv"), train_rows=250)
    Attempt(cfg, tmp_path / "run").run()
    assert predict(tmp_path / "run", "all", tmp_path / "all.csv").rows == 1797
    assert not list((tmp_path / "run").rglob("*.dat"))


def test_nothing_is_written_when_a_party_fails(
    finished: Finished, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ProtocolError("no")

    monkeypatch.setattr(PassiveParty, "embed_rows", fail)
    with pytest.raises(PartyError, match="party-1 failed in 'embed_only'"):
        predict(finished("splitnn"), "test", tmp_path / "said.csv")
    assert not list(tmp_path.iterdir())


def test_a_party_without_labels_cannot_learn() -> None:
    active = build_active(tiny("splitnn"), labelled=False)
    with pytest.raises(IndexError):
        active.loss(torch.zeros(2, 10), active.training_labels.of(torch.arange(2)))


def counts_in(folder: Path) -> list[Counts]:
    return [Uploads(folder / name).counts() for name in NAMES[1:]]


def test_predictions_are_uploads_that_count(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    Attempt(replace(tiny("splitnn"), dp_sigma=2.0, eval_batch_size=200), folder).run()
    before, result = counts_in(folder), json.loads((folder / "result.json").read_text())
    made = predict(folder, "test", tmp_path / "said.csv")
    assert counts_in(folder) == [each + Counts(evaluation=2) for each in before]
    assert made.epsilon is not None
    assert made.epsilon > result["epsilon"]
    for name in NAMES:
        assert f"epsilon {result['epsilon']:.4g}" in (folder / name / MODEL / CARD).read_text()


def test_a_budget_that_is_spent_is_not_overdrawn(tmp_path: Path) -> None:
    """Training spends all of it; then nothing is asked."""
    folder = tmp_path / "run"
    Attempt(replace(tiny("splitnn"), target_epsilon=6.0, train_rows=0), folder).run()
    before = counts_in(folder)
    with pytest.raises(PrivacyError, match="party-1 has sent 9 noised uploads; target-epsilon 6"):
        predict(folder, "test", tmp_path / "said.csv")
    assert counts_in(folder) == before
    assert not (tmp_path / "said.csv").exists()


def test_the_command(
    finished: Finished, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = str(finished("splitnn")), tmp_path / "said.csv"
    assert run([folder, "--rows", "validation", "--out", str(out)]) == 0
    assert "144 rows predicted" in capsys.readouterr().out
    assert len(read(out)[0]) == 144
    for arguments, says in (
        ([folder, "--out", str(tmp_path / "said.txt")], "must end in .csv or .parquet"),
        ([folder, "--rows", "tests", "--out", str(out)], "did you mean 'test'?"),
        ([str(tmp_path), "--out", str(out)], "holds no run"),
        ([folder], "--out"),
    ):
        assert run(arguments) == 2
        assert says in " ".join(capsys.readouterr().err.split())
