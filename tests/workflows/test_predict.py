"""Predictions from model folders: what they say, what travels for them, what is refused."""

import csv
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
import torch
from flwr.app import RecordDict
from torch import Tensor

from tests.helpers.attempts import Sitting
from tests.helpers.commands import predict as run
from tests.helpers.contract import CASES, Tap, configured
from tests.helpers.data import labels_of
from vfl_flower.common.codec import from_parameters
from vfl_flower.common.errors import Interrupted, PartyError, PrivacyError, ProtocolError, RunError
from vfl_flower.common.layout import CARD, CONFIG, MODEL, NETWORK, WEIGHTS
from vfl_flower.common.nonce import nonce_of
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.sources import scikit_learn
from vfl_flower.learning.metrics import metrics_of
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.parties.persistence.checkpoints import read_checkpoint
from vfl_flower.parties.persistence.model_folder import load_model
from vfl_flower.privacy.client_dp.upload_log import Counts, Uploads
from vfl_flower.protocol.strategy import Coordinator
from vfl_flower.runs.run_folder import RunFolder
from vfl_flower.transport.endpoint import Endpoint, RebuiltEndpoint
from vfl_flower.transport.local import LocalTransport, serve
from vfl_flower.workflows import predict_locally as here
from vfl_flower.workflows.build_parties import build_active, build_passive
from vfl_flower.workflows.predict_locally import ROWS, numbers_of
from vfl_flower.workflows.predict_locally import predict_rows as predict
from vfl_flower.workflows.prediction import protocol
from vfl_flower.workflows.trained_parties import predicting_parties

PRIVATE = "easter with private randomness"
REBUILT = ["easter", "pravfed", "adptvfedconv"]
NAMES = ["active", "party-1", "party-2", "party-3"]
ASKED = {"public_key", "agree", "embed_only", "predict_only"}

Finished = Callable[[str], Path]


def tiny(case: str) -> RunConfig:
    private: dict[str, Any] = {"party_randomness": "private"} if case == PRIVATE else {}
    name = "easter" if case == PRIVATE else case
    return replace(configured(name), epochs=1, bounds="off", **private)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """Return the folder of a tiny run of a case; nobody may change it."""
    root, made = tmp_path_factory.mktemp("runs"), dict[str, Path]()

    def finish(case: str) -> Path:
        if case not in made:
            made[case] = root / case.replace(" ", "-")
            Sitting(tiny(case), made[case]).run()
        return made[case]

    return finish


@pytest.fixture
def copied(finished: Finished, tmp_path: Path) -> Path:
    """Return a run that a test may harm."""
    return Path(shutil.copytree(finished("splitnn"), tmp_path / "run"))


def read(path: Path) -> tuple[np.ndarray[Any, Any], list[str], Tensor]:
    """Return row numbers, predictions and probabilities of a file."""
    with path.open(newline="") as file:
        head, *lines = csv.reader(file)
    assert head == ["id", "prediction", *(f"probability of {c}" for c in range(10))]
    numbers = np.array([line[0] for line in lines]).astype(np.int32)
    shares = torch.tensor([[float(each) for each in line[2:]] for line in lines])
    return numbers, [line[1] for line in lines], shares


def no_labels(*_: object) -> NoReturn:
    raise AssertionError("a prediction looks at labels")


# What is said -----------------------------------------------------------------------------------


@pytest.mark.parametrize("case", [*CASES, PRIVATE])
def test_predictions_of_the_test_rows_are_those_of_the_run(
    case: str, finished: Finished, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the last of them; without a look at labels, and nothing else is asked or written."""
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
    assert metrics_of(shares, y)["confusion"] == result["metrics"]["active"]["confusion"]
    assert torch.allclose(shares.sum(1), torch.ones(359), atol=1e-5)
    assert out.stat().st_mode & 0o777 == 0o600

    cfg = tiny(case)
    for tap in taps:
        assert {phase for phase, _ in tap.requests()} <= ASKED
        if cfg.blinded:  # two exchanges for keys come first
            (sent,) = from_parameters(tap.sent[2][1].parameters)
            assert sent.dtype == np.uint32


def outputs_of(folder: Path, rows: str, rebuilt: bool) -> Tensor:
    """Return the logits of some rows, with parties live or rebuilt for every message."""
    kept = RunFolder.reopen(folder, {})
    active, live = predicting_parties(kept)
    clients = [
        RebuiltEndpoint(lambda k=k: predicting_parties(kept)[1][k], k, RecordDict())  # type: ignore[misc]
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
    """Those that were learnt from, too; each comes to the same whoever is asked beside it."""
    files = [tmp_path / f"{rows}.csv" for rows in ROWS]
    assert [predict(finished(case), *each).rows for each in zip(ROWS, files, strict=True)] == [
        *(359, 144),
        1797,
    ]
    test, validation, every = map(read, files)
    assert every[0].tolist() == list(range(1797))
    assert not {*test[0].tolist()} & {*validation[0].tolist()}
    for numbers, _, shares in (test, validation):
        assert torch.allclose(every[2][torch.from_numpy(numbers)], shares, atol=1e-4)


def test_rows_that_the_run_left_out_can_be_predicted(tmp_path: Path) -> None:
    """Of which no view has a feature map."""
    cfg = replace(tiny("adptvfedconv"), train_rows=250)
    Sitting(cfg, tmp_path / "run").run()
    assert predict(tmp_path / "run", "all", tmp_path / "all.csv").rows == 1797
    assert not list((tmp_path / "run").rglob("*.dat"))


# Model folders ----------------------------------------------------------------------------------


def test_a_model_folder_has_four_files_and_the_runs_nonce(finished: Finished) -> None:
    runs = set()
    for name in NAMES:
        where = finished("splitnn") / name / MODEL
        assert {path.name for path in where.iterdir()} == {WEIGHTS, CONFIG, CARD, NETWORK}
        assert all(path.stat().st_mode & 0o777 == 0o600 for path in where.iterdir())
        about = json.loads((where / NETWORK).read_text())
        assert about["party"] == name
        runs.add(about["run"])
        card = (where / CARD).read_text()
        assert about["run"] in card
        assert ("AUC" in card) == (name == "active")
    assert len(runs) == 1


def test_the_nonce_is_the_same_in_all_sittings(tmp_path: Path) -> None:
    first = Sitting(tiny("splitnn"), tmp_path)
    with pytest.raises(Interrupted):
        first.run(stop_at=2)
    again = Sitting(tiny("splitnn"), tmp_path)
    assert again.active.nonce != first.active.nonce
    assert read_checkpoint(again.active, 2)["nonce"] == first.active.nonce
    again.run()
    told = [json.loads((tmp_path / name / MODEL / NETWORK).read_text())["run"] for name in NAMES]
    assert told == [first.active.nonce] * 4


def test_what_is_no_nonce_is_refused() -> None:
    for array in (torch.zeros(7, dtype=torch.uint8), torch.zeros(8)):
        with pytest.raises(ProtocolError, match="a nonce has 8 bytes"):
            nonce_of(array)


def swap_run(run: Path, finished: Finished) -> None:
    Sitting(tiny("splitnn"), run.with_name("other")).run()
    replace_model(run, run.with_name("other") / "party-2")


def swap_configuration(run: Path, finished: Finished) -> None:
    kept = (run / CONFIG).read_text()
    (run / CONFIG).write_text(kept.replace("embedding-dim = ", "embedding-dim = 1"))


def swap_party(run: Path, finished: Finished) -> None:
    replace_model(run, run / "party-1")


def replace_model(run: Path, other: Path) -> None:
    shutil.copytree(other / MODEL, run / "party-2" / MODEL, dirs_exist_ok=True)


def swap_file(name: str, run: Path, finished: Finished) -> None:
    shutil.copy(finished("fedbcd") / "party-1" / MODEL / name, run / "party-2" / MODEL)


def cut(name: str, run: Path, finished: Finished) -> None:
    path = run / "party-2" / MODEL / name
    path.write_bytes(path.read_bytes()[:50])


def lose(name: str, run: Path, finished: Finished) -> None:
    (run / "party-2" / MODEL / name).unlink()


@pytest.mark.parametrize(
    ("harm", "says"),
    [
        (swap_run, r"party-2/model is of run \w+, and that of active of run \w+"),
        (swap_configuration, "active/model is of a run with another configuration: embedding-dim"),
        (swap_party, "party-2/model is of party-1, not of party-2"),
        (partial(swap_file, WEIGHTS), r"party-2/model/weights.safetensors is .* another run's or"),
        (partial(swap_file, CONFIG), r"party-2/model/config.toml is missing or damaged"),
        (partial(cut, WEIGHTS), "party-2/model/weights.safetensors is missing or damaged"),
        (partial(cut, CONFIG), "party-2/model/config.toml is missing or damaged"),
        (partial(cut, NETWORK), "party-2/model/network.json is missing or damaged"),
        (partial(lose, WEIGHTS), "party-2/model/weights.safetensors is missing; the folders of"),
        (partial(lose, CONFIG), "party-2/model/config.toml is missing or damaged"),
        (partial(lose, NETWORK), "party-2/model/network.json is missing or damaged"),
    ],
)
def test_model_folders_that_do_not_belong_together_are_refused(
    harm: Callable[[Path, Finished], None],
    says: str,
    copied: Path,
    finished: Finished,
    tmp_path: Path,
) -> None:
    harm(copied, finished)
    with pytest.raises(RunError, match=says):
        predict(copied, "test", tmp_path / "out" / "said.csv")
    assert not (tmp_path / "out").exists()


def test_a_model_of_other_columns_is_refused(finished: Finished) -> None:
    party = build_passive(tiny("splitnn"), 0)
    party.data = replace(party.data, x=party.x[..., :1])
    with pytest.raises(RunError, match=r"network of party-1: its row is \[1, 8, 2\], not"):
        load_model(finished("splitnn") / "party-1", party, party.cfg)


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


# Privacy ----------------------------------------------------------------------------------------


def counts_in(folder: Path) -> list[Counts]:
    return [Uploads(folder / name).counts() for name in NAMES[1:]]


def test_predictions_are_uploads_that_count(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    Sitting(replace(tiny("splitnn"), dp_sigma=2.0, eval_batch_size=200), folder).run()
    before, result = counts_in(folder), json.loads((folder / "result.json").read_text())
    made = predict(folder, "test", tmp_path / "said.csv")
    assert counts_in(folder) == [each + Counts(evaluation=2) for each in before]
    assert made.epsilon is not None
    assert made.epsilon > result["epsilon"]
    for name in NAMES:
        assert f"epsilon {result['epsilon']:.4g}" in (folder / name / MODEL / CARD).read_text()


def test_a_budget_that_is_spent_is_not_overdrawn(tmp_path: Path) -> None:
    """Training takes what there is; nothing is asked of anybody then."""
    folder = tmp_path / "run"
    Sitting(replace(tiny("splitnn"), target_epsilon=6.0), folder).run()
    before = counts_in(folder)
    with pytest.raises(PrivacyError, match="party-1 has sent 9 noised uploads; target-epsilon 6"):
        predict(folder, "test", tmp_path / "said.csv")
    assert counts_in(folder) == before
    assert not (tmp_path / "said.csv").exists()


# The command ------------------------------------------------------------------------------------


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
