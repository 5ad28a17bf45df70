"""PraVFed under client-level privacy: one noised upload, and no accuracy."""

from functools import partial
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn.functional import one_hot

import vfl_flower as vfl
from strategies.pravfed import PraVFed, moments
from tests.helpers.client_privacy import asked, result_of
from tests.helpers.data import labels_of
from tests.helpers.joint.reference import parties_of
from tests.helpers.joint.row_level import public_noise
from tests.helpers.outcomes.attempts import Attempt
from tests.methods.test_pravfed import pretrained
from vfl_flower.api import Protocol, agree_keys
from vfl_flower.common.errors import ConfigError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.loading import load_party
from vfl_flower.learning.batching import batches
from vfl_flower.learning.losses import loss_of
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.privacy.client_dp.accounting import epsilon_of
from vfl_flower.privacy.client_dp.gaussian import Gaussian
from vfl_flower.transport.local import run_local
from vfl_flower.workflows.build_learner import build_learner
from vfl_flower.workflows.build_parties import build_active, build_passive

CFG = RunConfig(
    method="pravfed",
    models="mlp",
    epochs=2,
    batch_size=50,
    train_rows=200,
    local_epochs=1,
    eval_batch_size=150,
    embedding_dim=8,
    aggregation="average",
    baselines="off",
    party_randomness="public",
    dp_sigma=2.0,
    dp_clip=4.0,
)


def trained(cfg: RunConfig, folder: Path) -> tuple[PraVFed, list[PassiveParty]]:
    active = build_active(cfg)
    assert isinstance(active, PraVFed)
    passive = [build_passive(cfg, k, folder) for k in range(1, cfg.parties)]
    run_local(active, passive)
    return active, passive


def clipped(x: Tensor, mechanism: Gaussian) -> Tensor:
    """Clip a whole upload and add public noise, in double precision."""
    noise = torch.from_numpy(public_noise(mechanism.deviation, x.numel())).reshape(x.shape)
    return x.double() * min(1.0, mechanism.clip / float(x.norm())) + noise * mechanism.step


@pytest.mark.parametrize("noise", ["own", "distributed"])
@pytest.mark.parametrize("bound", ["none", "0.7"])
def test_equals_the_joint_program(
    noise: str, bound: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mean of noised embeddings; local training is not clipped."""
    name = "vfl_flower.privacy.client_dp.gaussian.discrete_gaussian"
    monkeypatch.setattr(name, public_noise)
    changes = {"optimizers": "sgd,adam,adam,adam", "label_privacy": "none"}  # nothing is drawn
    cfg = CFG.changed(dp_noise=noise, embedding_bound=bound, **changes)
    y = labels_of(cfg)
    active, passive = trained(cfg, tmp_path)
    assert active.budget
    rows = active.rows["train"]
    train = torch.from_numpy(rows)
    _, *others = parties_of(cfg)
    for party in others:
        pretrained(cfg, party, train, one_hot(y[train], 10).float())
    with torch.no_grad():
        sent = [clipped(party.bounded(party.embed_rows(train)), active.budget.summed)
                for party in passive]  # fmt: skip
    E_p = torch.zeros(len(y), cfg.embedding_dim)
    E_p[train] = (torch.stack(sent).sum(0) / len(sent)).float()
    assert torch.allclose(active.E_p[train], E_p[train], atol=1e-4)
    mean, deviation = moments(E_p[train])
    theirs = build_learner(cfg, load_party(cfg, 0), layers=3)
    theirs.net.train()
    for epoch in range(cfg.epochs):
        for batch in map(torch.from_numpy, batches(cfg.seed, epoch, rows, cfg.batch_size)):
            R = theirs.decide(theirs.embed_rows(batch) + (E_p[batch] - mean) / deviation)
            theirs.optimizer.down(loss_of("cross-entropy")(R, y[batch]))
    for ours, other in zip([active, *passive], [theirs, *others], strict=True):
        for name, weight in ours.net.state_dict().items():
            assert torch.allclose(weight, other.net.state_dict()[name], atol=1e-3), name


@pytest.mark.parametrize(
    "changes", [{}, {"dp_noise": "distributed"}, {"dp_eval": "clear"}, {"epochs": 0}], ids=str
)
def test_every_row_is_uploaded_once(changes: dict[str, str | int], tmp_path: Path) -> None:
    """As planned, training rows with noise, and no accuracy is told."""
    Attempt(CFG.changed(**changes), tmp_path / "run").run()
    result = result_of(tmp_path / "run")
    privacy = result["client_privacy"]
    held_out = 3 if changes.get("epochs", 2) else 2  # 161 validation rows, if any, and 359
    assert privacy["planned"] == {"training": 1, "evaluation": privacy["planned"]["evaluation"]}
    assert [*privacy["uploads"].values()] == [privacy["planned"]] * 3
    assert privacy["planned"]["evaluation"] >= held_out
    uploads = 1 + privacy["planned"]["evaluation"]
    clear = "dp_eval" in changes
    assert result["epsilon"] == ("inf" if clear else epsilon_of(2.0, uploads, 1e-5, "rdp"))
    assert privacy["epsilon_training"] == epsilon_of(2.0, 1, 1e-5, "rdp")
    assert not [name for name in result["figures"] if "accuracy" in name or "weight" in name]


def test_a_target_finds_the_noise(tmp_path: Path) -> None:
    cfg = CFG.changed(dp_sigma=0.0, target_epsilon=8.0)
    Attempt(cfg, tmp_path / "run").run()
    result = result_of(tmp_path / "run")
    assert result["ended_by"] == "epochs"
    assert 7.9 < result["epsilon"] <= 8.0


def test_weights_by_accuracy_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"accuracies, .* would leave .* aggregation = average"):
        CFG.changed(aggregation="weighted")


def test_a_repeated_request_costs_nothing(tmp_path: Path) -> None:
    """Also that of a run which was resumed."""
    rows, uploads = None, []
    for _ in range(2):
        party = build_passive(CFG.changed(blinding="none"), 1, tmp_path)
        rows = party.data.rows["train"]
        reply, _, metrics = asked(party, 1, "pretrain", rows, labels_of(CFG)[rows].byte().numpy())
        assert (reply, metrics.get("error")) == ([], None)
        accuracies = torch.zeros(3).numpy()
        uploads.append(asked(party, 2, "embed", rows, accuracies)[0][0])
        assert party.privacy.counts()["training"] == 1
    assert (uploads[0] == uploads[1]).all()


def test_a_share_of_noise_is_never_sent_twice(tmp_path: Path) -> None:
    """Beside fresh shares of others it would leave less noise."""
    cfg = CFG.changed(dp_noise="distributed", label_privacy="none")
    for time in (1, 2):
        active = build_active(cfg)
        assert isinstance(active, PraVFed)
        passive = [build_passive(cfg, k, tmp_path) for k in range(1, cfg.parties)]
        vars(active)["protocol"] = partial(_embeds, active)
        run_local(active, passive)
        assert [party.privacy.counts()["training"] for party in passive] == [time] * 3


def _embeds(active: PraVFed) -> Protocol:
    """Ask for the embeddings of training, and for nothing further."""
    yield from agree_keys(active.cfg)
    yield from active.pretrain(active.rows["train"])
    yield from active.gather("embed", active.rows["train"], "training")


def test_each_prediction_is_noised_anew(tmp_path: Path) -> None:
    """Its rows may be another table's, of the same numbers."""
    Attempt(CFG.changed(eval_batch_size=512), tmp_path / "run").run()  # one request is all
    run = vfl.load(tmp_path / "run")
    first, again = (run.predict(rows="test") for _ in range(2))
    assert not first.equals(again)


def test_embeddings_that_are_not_finite_are_noise_alone(tmp_path: Path) -> None:
    """No refusal tells of columns."""
    party = build_passive(CFG.changed(blinding="none", learning_rates="1e30"), 1, tmp_path)
    rows = party.data.rows["train"]
    reply, _, metrics = asked(party, 1, "pretrain", rows, labels_of(CFG)[rows].byte().numpy())
    assert (reply, metrics.get("error")) == ([], None)
    (sent,), _, _ = asked(party, 2, "embed", rows, torch.zeros(3).numpy())
    assert sent.std() == pytest.approx(8.0, rel=0.1)
