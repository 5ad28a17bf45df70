"""What every method keeps whose passive parties noise their uploads, in whole runs."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from flwr.common import FitIns, FitRes
from torch import Tensor

from clients.splitnn import SplitNNClient
from tests.helpers.attempts import Sitting
from tests.helpers.commands import train as run
from tests.helpers.contract import CARRIERS, Tap, carry, passive_parties
from tests.helpers.reference import joint
from tests.methods.test_joint_baselines import step_of
from tests.methods.test_joint_reference import FIFTY, assert_equal
from tests.methods.test_joint_reference import STEPS as STEPS_OF_FIFTY
from vfl_flower.analysis.audit.label_inference import audit
from vfl_flower.common.codec import Array, from_parameters
from vfl_flower.common.errors import ConfigError, Interrupted, PartyError, PrivacyError
from vfl_flower.config.registry import METHODS
from vfl_flower.config.run_config import RunConfig
from vfl_flower.crypto.fixed_point import SCALE, decode_ring
from vfl_flower.learning.losses import Loss, loss_of
from vfl_flower.parties.party import Party
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.privacy.client_dp.accounting import epsilon_of
from vfl_flower.privacy.client_dp.component import ClientPrivacy
from vfl_flower.privacy.client_dp.gaussian import Gaussian
from vfl_flower.privacy.client_dp.upload_log import Counts, Uploads
from vfl_flower.protocol.components import phase
from vfl_flower.protocol.observer import Observer
from vfl_flower.reporting.html.page import render
from vfl_flower.reporting.html.story import read_stories
from vfl_flower.runs.run_folder import RunFolder
from vfl_flower.workflows.build_parties import build_active, build_passive

NOISING = [name for name, method in METHODS.items() if method.noises and not method.maps]
"""Methods with an upload for each batch; those with maps have tests of their own."""

ROWS, NONCE = np.arange(20, dtype=np.int32), np.zeros(8, np.uint8)
STEPS, EVALUATIONS = 14, 3  # two epochs of seven batches; two of the validation rows, one of test

each_method = pytest.mark.parametrize("method", NOISING)


def configured(method: str, **changes: float | str) -> RunConfig:
    """Return a run whose replies can be read: two epochs, uploads of about norm 1, no masks."""
    cfg = RunConfig(
        method=method,
        models="mlp",
        epochs=2,
        batch_size=200,
        embedding_dim=16,
        blinding="none",
        bounds="off",
        dp_sigma=2.0,
    )
    return replace(cfg, **changes)  # type: ignore[arg-type]


@pytest.fixture
def uploads(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Tensor, Tensor]]:
    """Note what every party would have sent, for what, and what it sends."""
    noted: list[tuple[str, Tensor, Tensor]] = []
    true = ClientPrivacy.upload

    def upload(self: ClientPrivacy, x: Tensor, repeatable: bool) -> Tensor:
        sent = true(self, x, repeatable)
        noted.append((self.party.received.phase, x, sent))
        return sent

    monkeypatch.setattr(ClientPrivacy, "upload", upload)
    return noted


def of_columns(sent: tuple[FitIns, FitRes]) -> list[Array]:
    """Return what a party answered, unless that is control traffic."""
    last = str(sent[0].config["phases"]).split(",")[-1]
    return [] if last in ("checkpoint", "restore", "save") else from_parameters(sent[1].parameters)


def counts_in(folder: Path) -> list[Counts]:
    return [Uploads(folder / f"party-{k}").counts() for k in (1, 2, 3)]


# What leaves ----------------------------------------------------------------------------------


@each_method
@pytest.mark.parametrize("carrier", CARRIERS)
def test_all_that_leaves_is_noised_and_counted(
    method: str, carrier: str, tmp_path: Path, uploads: list[tuple[str, Tensor, Tensor]]
) -> None:
    """Over each carrier, the one that rebuilds parties for every message among them."""
    cfg = configured(method)
    active = build_active(cfg)
    parties = passive_parties(carrier, lambda k: build_passive(cfg, k, tmp_path))
    taps = [Tap(client) for client in parties.clients]
    carry(carrier, active, taps)
    replies = [array for tap in taps for sent in tap.sent for array in of_columns(sent)]
    assert len(replies) == len(uploads) == 3 * (STEPS + EVALUATIONS)
    noised = {sent.numpy().tobytes() for _, _, sent in uploads}
    assert {reply.tobytes() for reply in replies} == noised
    counts = Counts(training=STEPS, evaluation=EVALUATIONS)
    assert counts_in(tmp_path) == [counts] * 3
    assert active.uploaded == {f"party-{k}": counts for k in (1, 2, 3)}
    assert active.budget
    assert active.budget.planned == counts
    assert dict(active.ledger.uploads) == {f"party-{k}": STEPS + EVALUATIONS for k in (1, 2, 3)}


@each_method
def test_the_noise_is_as_wide_as_it_says(
    method: str, tmp_path: Path, uploads: list[tuple[str, Tensor, Tensor]]
) -> None:
    cfg = configured(method, dp_clip=0.5)
    Sitting(cfg, tmp_path / "run").run()
    mechanism = Gaussian(2.0, 0.5)
    assert len({name for name, _, _ in uploads}) == 2  # a phase to train and one to evaluate
    for _, x, sent in uploads:
        steps = sent.double().numpy() / mechanism.step
        assert (steps == np.rint(steps)).all()
        noise = (steps - mechanism.clipped(x)) * mechanism.step
        assert noise.std() == pytest.approx(1.0, rel=6 / np.sqrt(noise.size))
        assert x.norm() > 0.5  # so that it was clipped


@each_method
def test_evaluations_in_the_clear_cost_everything(
    method: str, tmp_path: Path, uploads: list[tuple[str, Tensor, Tensor]]
) -> None:
    Sitting(configured(method, dp_eval="clear"), tmp_path / "run").run()
    clear = [torch.equal(x, sent) for _, x, sent in uploads]
    assert sum(clear) == 3 * EVALUATIONS
    result = result_of(tmp_path / "run")
    assert result["epsilon"] == result["client_privacy"]["epsilon"] == "inf"
    assert result["client_privacy"]["epsilon_training"] == epsilon_of(2.0, STEPS, 1e-5, "rdp")
    assert any("evaluations were sent without noise" in text for text in result["unprotected"])


@each_method
def test_without_noise_uploads_are_what_they_are(method: str, tmp_path: Path) -> None:
    party = build_passive(configured(method, dp_sigma=0.0), 1, tmp_path)
    x = torch.rand(3, 2)
    assert party.privacy.upload(x) is x
    assert not any(tmp_path.rglob("uploads"))
    assert asked(party, 1, "save", NONCE)[2] == {}


def result_of(folder: Path) -> dict[str, Any]:
    """Read a result, which is refused if it has not its shape."""
    result = RunFolder.reopen(folder, {}).result()
    assert result
    return result


def test_the_result_says_what_it_cost_and_covers(tmp_path: Path) -> None:
    Sitting(configured("splitnn"), tmp_path / "run").run()
    result = result_of(tmp_path / "run")
    privacy = result["client_privacy"]
    assert result["epsilon"] == privacy["epsilon"] == epsilon_of(2.0, 17, 1e-5, "rdp")
    assert list(privacy["uploads"]) == ["party-1", "party-2", "party-3"]
    for uploads in (*privacy["uploads"].values(), privacy["planned"]):
        assert uploads == {"training": STEPS, "evaluation": EVALUATIONS}
    assert "whole data" in privacy["covers"]
    assert "labels" in privacy["does_not_cover"]
    assert any("discrete Gaussian noise" in text for text in result["protections"])


# The count over sittings ------------------------------------------------------------------------


class DiesAt(Observer):
    """Ends the process, as it were, after some step."""

    def __init__(self, step: int) -> None:
        self.step = step

    def on_step(self, step: int, losses: list[float]) -> None:
        if step == self.step:
            raise KeyboardInterrupt


@each_method
def test_a_resumed_run_goes_on_counting(method: str, tmp_path: Path) -> None:
    cfg, out = configured(method), tmp_path / "run"
    with pytest.raises(Interrupted):
        Sitting(cfg, out).run(3)
    assert counts_in(out) == [Counts(training=3)] * 3
    second = Sitting(cfg, out)
    second.run()
    assert second.active.uploaded["party-2"] == Counts(training=STEPS, evaluation=EVALUATIONS)


def die_at(step: int, cfg: RunConfig, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run until some step and leave no checkpoint of it."""
    with monkeypatch.context() as patch:
        patch.setattr("tests.helpers.attempts.StopAt", lambda active, at, *unit: DiesAt(at))
        with pytest.raises(KeyboardInterrupt):
            Sitting(cfg, out).run(step)


@each_method
def test_steps_that_are_repeated_cost_once_more(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last checkpoint is after seven steps; three more were sent and are sent again."""
    cfg, out = configured(method), tmp_path / "run"
    die_at(10, cfg, out, monkeypatch)
    again = Sitting(cfg, out)
    again.run()
    counts = Counts(training=STEPS + 3, evaluation=EVALUATIONS)
    assert counts_in(out) == [counts] * 3
    assert again.active.uploaded == dict.fromkeys(("party-1", "party-2", "party-3"), counts)
    assert result_of(out)["epsilon"] == epsilon_of(2.0, counts.total(), 1e-5, "rdp")


each_loss = pytest.mark.parametrize("lose", [Path.unlink, lambda path: path.write_bytes(b"tt")])


@each_loss
def test_a_count_that_was_taken_back_is_refused(
    lose: Callable[[Path], object], tmp_path: Path
) -> None:
    cfg, out = configured("splitnn"), tmp_path / "run"
    with pytest.raises(Interrupted):
        Sitting(cfg, out).run(3)
    lose(out / "party-2" / "uploads")
    with pytest.raises(PartyError, match="PrivacyError: party-2's count of uploads is missing"):
        Sitting(cfg, out).run()


def test_a_count_is_missed_though_the_only_checkpoint_is_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There were no uploads before it, but a file to count them in."""
    cfg, out = configured("splitnn"), tmp_path / "run"
    die_at(3, cfg, out, monkeypatch)
    assert counts_in(out) == [Counts(training=3)] * 3
    (out / "party-2" / "uploads").unlink()
    with pytest.raises(PartyError, match="PrivacyError: party-2's count of uploads is missing"):
        Sitting(cfg, out).run()


def test_a_run_that_died_before_its_first_upload_goes_on(tmp_path: Path) -> None:
    """Its count is begun by then, and is not taken for a lost one."""
    party = build_passive(configured("splitnn"), 1, tmp_path)
    assert "error" not in asked(party, 1, "checkpoint", np.array(0))[2]
    assert (tmp_path / "party-1" / "uploads").read_bytes() == b""
    again = build_passive(configured("splitnn"), 1, tmp_path)
    assert "error" not in asked(again, 1, "restore", np.array(0))[2]
    assert len(asked(again, 2, "embed", ROWS)[0]) == 1
    assert again.privacy.counts() == Counts(training=1)


@each_loss
def test_a_party_at_work_misses_its_count(lose: Callable[[Path], object], tmp_path: Path) -> None:
    """Itself, and built anew with its memory alone: nothing says so but what it has sent."""
    cfg = configured("splitnn")
    party = build_passive(cfg, 2, tmp_path)
    for exchange in (1, 2, 3):
        assert len(asked(party, exchange, "embed", ROWS)[0]) == 1
    path = tmp_path / "party-2" / "uploads"
    lose(path)
    left = path.exists() and path.read_bytes()
    reply, _, metrics = asked(party, 4, "embed", ROWS)
    assert reply == []
    assert metrics["error"] == "PrivacyError"
    assert "party-2's count of uploads is missing or cut short" in metrics["message"]
    with pytest.raises(PrivacyError, match="party-2's count of uploads is missing"):
        build_passive(cfg, 2, tmp_path).recall(party.memory())
    assert left == (path.exists() and path.read_bytes())  # none was begun in its place


@pytest.mark.parametrize("kept", [1, 2])
def test_a_party_with_checkpoints_begins_no_count(kept: int, tmp_path: Path) -> None:
    """Not even if it is asked for something before it is taken back to one of them."""
    cfg, out = configured("splitnn"), tmp_path / "run"
    with pytest.raises(Interrupted):
        Sitting(cfg, out).run(3)
    checkpoints = sorted((out / "party-2").glob("checkpoint-*"))
    assert len(checkpoints) == 2  # of steps 0 and 3
    for path in (*checkpoints[kept:], out / "party-2" / "uploads"):
        path.unlink()
    reply, _, metrics = asked(build_passive(cfg, 2, out), 1, "embed", ROWS)
    assert reply == []
    assert "party-2's count of uploads is missing" in metrics["message"]


# The budget -------------------------------------------------------------------------------------


@each_method
def test_training_ends_before_the_target_is_exceeded(method: str, tmp_path: Path) -> None:
    cfg = configured(method, target_epsilon=6.0)
    run = Sitting(cfg, tmp_path / "run")
    run.run()
    result = result_of(tmp_path / "run")
    sent = run.active.uploaded["party-1"]
    assert 0 < result["steps"] == sent["training"] < STEPS
    assert result["ended_by"] == "target-epsilon"
    assert 0 < result["test_accuracy"]["active"] < 1
    assert result["epsilon"] <= 6 < epsilon_of(2.0, sent.total() + 2, 1e-5, "rdp")
    for name in ("active", "party-1", "party-3"):
        assert (tmp_path / "run" / name / "model/weights.safetensors").exists()
    assert list((tmp_path / "run" / "party-1").glob(f"checkpoint-*{result['steps']}.safetensors"))


@each_method
def test_a_run_with_a_target_alone_is_as_long_as_planned(method: str, tmp_path: Path) -> None:
    run = Sitting(configured(method, dp_sigma=0.0, target_epsilon=6.0), tmp_path / "run")
    run.run()
    result = result_of(tmp_path / "run")
    assert (result["steps"], result["ended_by"]) == (STEPS, "epochs")
    assert 5.9 < result["epsilon"] <= 6


SOME = [("vafl", {"vafl_mode": "asynchronous"}), ("vimadmm", {"participation": 0.34})]


@pytest.mark.parametrize(("method", "changes"), SOME)
def test_who_is_not_asked_is_not_charged(
    method: str, changes: dict[str, Any], tmp_path: Path
) -> None:
    """A step asks one of three: a target buys less noise, and noise buys more steps."""
    cfg = configured(method, dp_sigma=0.0, target_epsilon=6.0, **changes)
    planned = Sitting(cfg, tmp_path / "planned")
    planned.run()
    result, most = result_of(tmp_path / "planned"), planned.active.uploaded
    assert result["steps"] == STEPS == sum(counts["training"] for counts in most.values())
    assert 5.9 < result["epsilon"] <= 6
    assert max(counts["training"] for counts in most.values()) < STEPS
    assert result["client_privacy"]["planned"] in result["client_privacy"]["uploads"].values()
    fewer = replace(cfg, dp_sigma=2.0)
    Sitting(fewer, tmp_path / "fewer").run()
    result = result_of(tmp_path / "fewer")
    uploads = result["client_privacy"]["uploads"]
    assert result["steps"] == sum(counts["training"] for counts in uploads.values())
    busiest = Counts(max(uploads.values(), key=lambda counts: sum(counts.values())))
    assert result["epsilon"] == epsilon_of(2.0, busiest.total(), 1e-5, "rdp") <= 6
    assert result["steps"] == STEPS or epsilon_of(2.0, busiest.total() + 2, 1e-5, "rdp") > 6


@each_method
def test_repeated_steps_are_paid_for_by_fewer(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parties tell how much they have sent as soon as they are back."""
    cfg, out = configured(method, dp_sigma=0.0, target_epsilon=6.0), tmp_path / "run"
    die_at(12, cfg, out, monkeypatch)
    Sitting(cfg, out).run()
    result = result_of(out)
    assert result["epsilon"] <= 6
    assert STEPS - 6 <= result["steps"] < STEPS


@each_method
def test_a_result_that_is_lost_costs_nothing_to_have_again(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The target does not allow the test rows a second time."""
    lost: list[dict[str, Any]] = []

    def killed(self: RunFolder, result: dict[str, Any]) -> None:
        lost.append(result)
        raise KeyboardInterrupt

    target = {"dp_sigma": 0.0, "target_epsilon": 6.0}
    cfg, out = configured(method, keep="best", checkpoint_every=3, **target), tmp_path / "run"
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(RunFolder, "write_result", killed)
        Sitting(cfg, out).run()
    weights = {path: path.read_bytes() for path in out.rglob("weights.safetensors")}
    Sitting(cfg, out).run()
    assert counts_in(out) == [Counts(training=STEPS, evaluation=EVALUATIONS)] * 3
    assert len(weights) == 4
    assert all(path.read_bytes() == content for path, content in weights.items())
    found = result_of(out)
    for key in ("test_accuracy", "metrics", "counting_step", "evaluation", "client_privacy"):
        assert found[key] == lost[0][key], key


def asked(party: PassiveParty, exchange: int, name: str, *arrays: Array) -> tuple[Any, ...]:
    """Ask a party for one phase."""
    config = {"exchange": exchange, "phases": name, "arrays": str(len(arrays))}
    return party.fit(list(arrays), config)  # type: ignore[arg-type]


def asks(party: PassiveParty) -> list[str]:
    """Return the phases that send something of columns: in training, and in evaluation."""
    names: list[str] = [
        n for n in ("embed", "predict", "embed_only", "predict_only") if n in party.phases
    ]
    assert len(names) == 2
    return names


@each_method
def test_the_party_itself_refuses_what_would_exceed_the_target(method: str, tmp_path: Path) -> None:
    """Whatever the active party asks for."""
    cfg = configured(method, target_epsilon=6.0)
    party = build_passive(cfg, 2, tmp_path)
    assert party.privacy.budget
    most = int(party.privacy.budget.most)
    for exchange in range(1, most + 4):
        name = asks(party)[exchange % 2]
        reply, _, metrics = asked(party, exchange, name, ROWS)
        if exchange <= most:
            assert len(reply) == 1
        else:
            assert reply == []
            assert metrics["error"] == "PrivacyError"
            assert "party-2 has spent its privacy budget" in metrics["message"]
    assert party.privacy.counts().total() == most


# One door ---------------------------------------------------------------------------------------


@each_method
def test_a_repeated_request_gets_the_same_noise_and_costs_nothing(
    method: str, tmp_path: Path
) -> None:
    party = build_passive(configured(method), 1, tmp_path)
    for name in asks(party):
        exchange = party.exchange + 1
        replies = [asked(party, exchange, name, ROWS) for _ in range(2)]
        assert np.array_equal(replies[0][0][0], replies[1][0][0])
        assert replies[0][2] == replies[1][2]
    assert party.privacy.counts() == Counts(training=1, evaluation=1)
    other = asked(party, party.exchange + 1, asks(party)[1], ROWS)
    assert not np.array_equal(other[0][0], replies[0][0][0])  # asked anew, noised anew
    assert party.privacy.counts() == Counts(training=1, evaluation=2)


def embedded(self: SplitNNClient, rows: Tensor) -> Tensor:
    return self.tape.start("embed", rows)


def twice(self: SplitNNClient, rows: Tensor) -> tuple[Tensor, Tensor]:
    E_k = self.tape.start("embed", rows)
    return E_k, E_k


@pytest.mark.parametrize(
    ("method", "sends", "text", "counted"),
    [
        (embedded, "figure", "answer 'embed' without noise", 0),
        (embedded, (), "returns 1 values and declares none", 0),
        (twice, "embedding", "returns 2 values and declares embedding", 0),
        (twice, ("embedding", "embedding"), "answer one request with two uploads", 1),
    ],
)
def test_a_reply_leaves_through_the_one_door_or_not_at_all(
    method: Callable[..., object],
    sends: Any,
    text: str,
    counted: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    method.__name__ = "embed"
    monkeypatch.setattr(SplitNNClient, "embed", phase(sends=sends)(method))
    party = build_passive(configured("splitnn"), 1, tmp_path)
    reply, _, metrics = asked(party, 1, "embed", ROWS)
    assert reply == []
    assert metrics["error"] in ("PrivacyError", "ProtocolError")
    assert text in metrics["message"]
    assert party.privacy.counts() == Counts(training=counted)


@each_method
def test_keys_and_control_traffic_need_no_noise(method: str, tmp_path: Path) -> None:
    party = build_passive(configured(method, blinding="auto"), 1, tmp_path)
    assert "error" not in asked(party, 1, "save", NONCE)[2]
    if METHODS[method].blinds:
        assert "error" not in asked(party, 2, "public_key")[2]
    assert party.privacy.counts().total() == 0


@each_method
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_not_finite_is_neither_sent_nor_counted(
    method: str, value: float, tmp_path: Path
) -> None:
    party = build_passive(configured(method), 1, tmp_path)
    with torch.no_grad():
        for parameter in party.net.parameters():
            parameter.fill_(value)
    for exchange, name in enumerate(asks(party), 1):
        reply, _, metrics = asked(party, exchange, name, ROWS)
        assert reply == []
        assert "party-1 would send values that are not finite" in metrics["message"]
    assert party.privacy.counts().total() == 0


@each_method
def test_a_party_without_a_folder_cannot_count(method: str) -> None:
    with pytest.raises(PrivacyError, match="party-1 has no folder to count its uploads in"):
        build_passive(configured(method), 1)


def test_a_run_without_a_folder_is_refused_before_it_starts(tmp_path: Path) -> None:
    run = Sitting(configured("splitnn"), tmp_path / "run")
    run.folder = None
    with pytest.raises(ConfigError, match="no folder to count in; set out"):
        run.run()


def test_a_party_that_does_not_tell_its_count_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Sitting(configured("splitnn"), tmp_path / "run")
    monkeypatch.setattr(ClientPrivacy, "counts", lambda self: Counts())
    with pytest.raises(PartyError, match="party-1 noises its uploads and does not tell how many"):
        run.run()


@pytest.mark.parametrize("method", [name for name in NOISING if METHODS[name].blinds])
def test_masks_hide_what_is_noised(
    method: str, tmp_path: Path, uploads: list[tuple[str, Tensor, Tensor]]
) -> None:
    """In the sum the masks cancel, and all parties' noise is left."""
    cfg = configured(method, blinding="pairwise")
    parties = passive_parties("local", lambda k: build_passive(cfg, k, tmp_path))
    taps = [Tap(client) for client in parties.clients]
    carry("local", build_active(cfg), taps)
    words = [
        [a for sent in tap.sent for a in of_columns(sent) if a.dtype == np.uint32] for tap in taps
    ]
    sums = [decode_ring(np.add.reduce(each, dtype=np.uint32)) for each in zip(*words, strict=True)]
    noised = [sent for _, _, sent in uploads]  # of one exchange before the next
    assert len(sums) == STEPS + EVALUATIONS
    for number, total in enumerate(sums):
        expected = torch.stack(noised[3 * number : 3 * number + 3]).sum(0)
        assert (total - expected).abs().max() < 3 / SCALE


# The same mathematics ---------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "sends"), [("splitnn", "embed_rows"), ("agg_vfl", "decide")])
def test_a_noised_run_equals_its_joint_program(
    method: str, sends: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Gradients go through clip and noise as they are; nothing else changes."""

    def drawn(deviation: int, count: int, entropy: object) -> Array:
        return np.random.default_rng(count).normal(0, deviation, count).astype(np.int64)

    monkeypatch.setattr("vfl_flower.privacy.client_dp.gaussian.discrete_gaussian", drawn)
    cfg = replace(FIFTY, method=method, models="mixed", dp_sigma=0.1, dp_clip=10.0, bounds="off")
    plain, mechanism = step_of(cfg), Gaussian(0.1, 10.0)

    def noised(compute: Callable[[Tensor], Tensor], given: Tensor) -> Tensor:
        x = compute(given)
        return x - x.detach() + mechanism.release(x.detach())

    def step(members: Sequence[Party], rows: Tensor, y: Tensor, loss: Loss) -> None:
        with monkeypatch.context() as patch:
            for member in members[1:]:
                patch.setattr(member, sends, partial(noised, getattr(member, sends)))
            plain(members, rows, y, loss)

    run = Sitting(cfg, tmp_path / "run")
    run.run()
    loss = loss_of("cross-entropy")
    assert_equal([run.active, *run.passive], joint(cfg, loss, STEPS_OF_FIFTY, step))
    with pytest.raises(AssertionError):
        assert_equal([run.active, *run.passive], joint(cfg, loss, STEPS_OF_FIFTY, plain))


# What a user sees -------------------------------------------------------------------------------

TINY = ["--method", "splitnn", "--models", "mlp", "--epochs", "2", "--batch-size", "300"]


def test_the_terminal_tells_what_it_cost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The bounds, which are trained without noise, too."""
    flags = ["--dp-sigma", "3", "--target-epsilon", "4", "--bounds", "on"]
    assert run([*TINY, *flags, "--out", str(tmp_path / "run")]) == 0
    told = " ".join(capsys.readouterr().out.split())
    result = result_of(tmp_path / "run")
    assert f"epsilon {result['epsilon']:.4g} (of training " in told
    assert f"training ended at step {result['steps']}: one more, with the test rows, would" in told
    assert result["bounds"]["central"] > 0.5


@pytest.mark.parametrize(
    ("flags", "ended_by"),
    [
        (["--long-tail", "10"], "epochs"),  # fewer steps than planned
        (["--stop-drop", "0.1", "--eval-every", "1"], "stop-drop"),
        (["--stop-drop", "0.1", "--eval-every", "1", "--target-epsilon", "50"], "stop-drop"),
    ],
)
def test_the_target_is_blamed_for_nothing_else(
    flags: list[str], ended_by: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, given = tmp_path / "run", ["--dp-sigma", "3", "--bounds", "off"]
    assert run([*TINY, *given, *flags, "--epochs", "8", "--out", str(out)]) == 0
    result, told = result_of(out), " ".join(capsys.readouterr().out.split())
    assert result["steps"] < result["client_privacy"]["planned"]["training"]
    assert result["ended_by"] == ended_by
    assert ("training ended" in told) == (ended_by == "stop-drop")
    assert "exceeded target-epsilon" not in told


def test_seeds_add_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, flags, text in (
        ("noised", [], f"epsilon {2 * epsilon_of(3.0, 13, 1e-5, 'rdp'):.4g}, delta 2e-05"),
        ("clear", ["--dp-eval", "clear"], "epsilon inf, delta 2e-05"),
    ):
        out = str(tmp_path / name)
        given = ["--dp-sigma", "3", "--bounds", "off", "--seeds", "2", "--out", out]
        assert run([*TINY, *given, *flags]) == 0
        assert text in " ".join(capsys.readouterr().out.split())
    page = render(read_stories([tmp_path / "clear", tmp_path / "noised"]))
    assert "epsilon inf at delta" in page
    assert page.count("2 seeds sent the same columns: their epsilons add up") == 2


def test_an_audit_of_labels_runs_with_noise(tmp_path: Path) -> None:
    """Its parties count in a folder of its own."""
    out = tmp_path / "run"
    assert run([*TINY, "--dp-sigma", "3", "--bounds", "off", "--out", str(out)]) == 0
    before = counts_in(out)
    assert audit(out, 1, 10).found
    assert counts_in(out) == before
