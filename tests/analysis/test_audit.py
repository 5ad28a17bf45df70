"""Label inference succeeds without protection, and noise bounds its success."""

import json
import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.outcomes.attempts import Attempt
from tests.helpers.outcomes.commands import audit as run
from tests.helpers.outcomes.stages import run_with_numbers, small
from vfl_flower.analysis.audit.label_inference import Finding, Findings, audit
from vfl_flower.analysis.audit.transcripts.attacked import AttackedRows
from vfl_flower.analysis.audit.transcripts.recorder import Recorder
from vfl_flower.common.errors import ConfigError
from vfl_flower.config.registry import spec_of, specs
from vfl_flower.transport.local import serve
from vfl_flower.workflows.build_parties import build_active, build_passive

pytestmark = pytest.mark.slow

TEACHING = [
    name
    for name, method in specs().items()
    if method.teaches and not method.options().uploads_before_training
]


LOOKED_AT = ("easter", "pravfed")
"""Methods whose findings are judged; of others it counts which there are."""

UNPROTECTED = ["logistic"]
"""Methods that refuse label privacy: audited without it."""


@cache
def audited(method: str, folder: Path) -> Findings:
    usual = method in LOOKED_AT or "epochs" in spec_of(method).unused
    cfg = small(method) if usual else small(method, epochs=1, train_rows=600)
    Attempt(cfg, folder / method).run()
    return audit(folder / method, epochs=1, known=10)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("audited")


def found(findings: Findings, protected: bool, source: str, attack: str) -> Finding:
    [finding] = [
        each
        for each in findings.found
        if (each.protection != "none") == protected
        and (each.source, each.attack) == (source, attack)
    ]
    return finding


def test_of_maps_nothing_but_columns_tells_labels(folder: Path) -> None:
    """No message is about a row's label, noised or not."""
    tiny = {"models": "tests.helpers.networks:TinyChain", "cut": "one", "pretrain_epochs": 1}
    Attempt(small("adptvfedconv", **tiny, parties=4, local_epochs=1), folder / "maps").run()
    findings = audit(folder / "maps", epochs=1, known=10)
    assert {each.source for each in findings.found} == {"own columns"}


@pytest.mark.parametrize("method", TEACHING)
def test_every_method_is_audited_with_and_without_protection(method: str, folder: Path) -> None:
    findings = audited(method, folder)
    sources = [
        {each.source for each in findings.found if (each.protection != "none") == protected}
        for protected in (False, True)
    ]
    assert sources[1] == (set() if method in UNPROTECTED else sources[0])
    assert len(sources[0] - {"own columns", "own network"}) > 0
    assert 0.1 < findings.majority < 0.15
    assert all(0 <= each.accuracy <= 1 and 0 <= each.auc <= 1 for each in findings.found)


@pytest.mark.parametrize(("method", "source"), [("easter", "update"), ("pravfed", "pretrain")])
def test_labels_are_read_off_what_teaches_and_noise_limits_that(
    method: str, source: str, folder: Path
) -> None:
    """No attack on otherwise unknown labels beats the guarantee.

    That is e / (e + C - 1).
    """
    findings = audited(method, folder)
    bare = found(findings, False, source, "read off")
    assert (bare.accuracy, bare.auc) == (1.0, 1.0)
    noised = found(findings, True, source, "read off")
    share = math.e / (math.e + 9)
    assert noised.accuracy < share + 4 * math.sqrt(share * (1 - share) / 1000)


def test_own_logits_are_those_from_the_global_embedding(folder: Path) -> None:
    """EASTER's party predicts from everybody's embeddings, not from its own."""
    cfg = small("easter", label_privacy="none", epochs=1)
    active = build_active(cfg)
    recorders = [Recorder(build_passive(cfg, k), 10) for k in range(1, cfg.parties)]
    serve(active, recorders)
    rows, y = active.rows["train"], active.y.numpy()
    for recorder, accuracy in zip(
        recorders, list(active.progress.records[-1].train_accuracy.values())[1:], strict=True
    ):
        sent = recorder.own_logits()
        assert sent is not None
        told = recorder.last_sent(sent, rows).argmax(1) == y[rows]
        assert told.mean() == pytest.approx(accuracy, abs=1e-6)
    findings = audited("easter", folder)
    assert {each.source for each in findings.found if each.attack == "read off"} == {
        "update",
        "own logits",
    }


@pytest.mark.parametrize(("method", "source"), [("easter", "update"), ("pravfed", "pretrain")])
def test_noise_is_averaged_out_over_rows_that_are_alike(
    method: str, source: str, folder: Path
) -> None:
    """Noised labels of many rows teach more than the own one."""
    findings = audited(method, folder)
    read_off = found(findings, True, source, "read off")
    denoised = found(findings, True, source, "denoised")
    assert denoised.auc > read_off.auc + 0.1  # accuracy varies more with the noise drawn


def test_own_columns_tell_the_same_with_protection_and_without(folder: Path) -> None:
    findings = audited("easter", folder)
    bare, noised = (found(findings, each, "own columns", "learnt") for each in (False, True))
    assert bare.accuracy == noised.accuracy > 0.3


def test_a_runs_own_protection_is_the_one_that_is_audited(tmp_path: Path) -> None:
    cfg = small("easter", label_privacy="laplace", label_epsilon=0.5)
    Attempt(cfg, tmp_path / "run").run()
    findings = audit(tmp_path / "run", epochs=1, known=10)
    assert {each.protection for each in findings.found} == {"none", "laplace, epsilon 0.5"}


def test_recorder_keeps_the_mean_of_what_came_for_each_row() -> None:
    cfg = small("pravfed", label_privacy="none")
    active = build_active(cfg)
    recorders = [Recorder(build_passive(cfg, k), 10) for k in range(1, cfg.parties)]
    serve(active, recorders)
    rows = active.rows["train"]
    assert np.array_equal(
        recorders[0].received["pretrain"].mean(rows).argmax(1), active.y.numpy()[rows]
    )
    others = np.concatenate([active.rows["validation"], active.rows["test"]])
    assert not recorders[0].received["pretrain"].times[others].any()


def test_arrays_that_are_not_about_rows_are_left_out(tmp_path: Path) -> None:
    """A batch may have C rows, like the top model's biases."""
    cfg = small("c_vfl", share_labels=True, batch_size=10, train_rows=204)
    Attempt(cfg, tmp_path / "run").run()
    findings = audit(tmp_path / "run", epochs=1, known=10)
    sources = {each.source for each in findings.found}
    assert sources == {"descend 1", "own columns"}  # nothing is learnt by its own network
    assert found(findings, False, "descend 1", "read off").accuracy == 1


@pytest.mark.parametrize("downlink", ["lattice:8", "topk:0.5"])
def test_compressed_gradients_are_learnt_from(downlink: str, tmp_path: Path) -> None:
    """As Learns states: compression is no protection."""
    Attempt(small("c_vfl", downlink=downlink), tmp_path / "run").run()
    findings = audit(tmp_path / "run", epochs=1, known=10)
    assert {each.source for each in findings.found} == {"update", "own columns"}
    assert found(findings, False, "update", "learnt").auc > 0.9  # a half by chance


def test_known_labels_are_not_judged() -> None:
    attacked = AttackedRows(small("easter"), known=3)
    assert np.bincount(attacked.y[attacked.known]).tolist() == [3] * 10
    scores = np.eye(10)[attacked.y]
    scores[attacked.known] = np.roll(scores[attacked.known], 1, axis=1)
    assert attacked.judge(scores) == (1.0, 1.0)


def test_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    audited("easter", folder)
    before = sorted((folder / "easter").rglob("*"))
    arguments = ["labels", str(folder / "easter"), "--at-most", "1"]
    assert run([*arguments, "--json"]) == 0
    assert sorted((folder / "easter").rglob("*")) == before
    printed = capsys.readouterr()
    assert "majority guess" in printed.err
    assert json.loads(printed.out)["known"] == 10


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["labels", "nowhere"], "holds no run"),
        (["labels", "easter", "--known", "0"], "--known must be at least 1"),
        (["labels", "easter", "--known", "100000"], "no labels are left to attack"),
        (["labels", "easter", "--at-most", "0"], "--at-most must be at least 1"),
        (["columns", "easter"], "No such command 'columns'"),
    ],
)
def test_command_refuses(
    arguments: list[str],
    text: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    audited("easter", folder)
    monkeypatch.chdir(folder)
    assert run(arguments) == 2
    assert text in capsys.readouterr().err


def test_numbers_as_labels_are_no_classes_to_tell() -> None:
    with pytest.raises(ConfigError, match="labels of this run are numbers"):
        run_with_numbers(90).audit()
