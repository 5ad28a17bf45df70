"""Everything that leaves a party is noised and counted."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.helpers.client_privacy import (
    EVALUATIONS,
    NOISING,
    NONCE,
    STEPS,
    asked,
    configured,
    counts_in,
    each_method,
    of_columns,
    result_of,
    some_methods,
    uploads_an_exchange,
)
from tests.helpers.contract import Tap, carry, passive_parties
from tests.helpers.joint.reference import joint
from tests.helpers.outcomes.attempts import Attempt
from tests.methods.test_joint_baselines import step_of
from tests.methods.test_joint_reference import FIFTY, assert_equal
from tests.methods.test_joint_reference import STEPS as STEPS_OF_FIFTY
from vfl_flower.common.codec import Array
from vfl_flower.config.registry import spec_of
from vfl_flower.crypto.fixed_point import SCALE, decode_ring
from vfl_flower.learning.losses import Loss, loss_of
from vfl_flower.learning.row_norms import clip_whole
from vfl_flower.parties.party import Party
from vfl_flower.privacy.client_dp.accounting import epsilon_of
from vfl_flower.privacy.client_dp.gaussian import Gaussian
from vfl_flower.privacy.client_dp.upload_log import Counts
from vfl_flower.workflows.build_parties import build_active, build_passive

# What leaves ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "carrier"),
    [*((method, "local") for method in NOISING), ("splitnn", "amnesia"), ("agg_vfl", "stream")],
)
def test_all_that_leaves_is_noised_and_counted(
    method: str, carrier: str, tmp_path: Path, uploads: list[tuple[str, Tensor, Tensor]]
) -> None:
    """Over each transport, the one that rebuilds parties included."""
    cfg = configured(method)
    active = build_active(cfg)
    parties = passive_parties(carrier, lambda k: build_passive(cfg, k, tmp_path))
    taps = [Tap(client) for client in parties.clients]
    carry(carrier, active, taps)
    replies = [array for tap in taps for sent in tap.sent for array in of_columns(sent, method)]
    assert len(replies) == len(uploads) == 3 * (STEPS + EVALUATIONS)
    noised = {sent.numpy().tobytes() for _, _, sent in uploads}
    assert {reply.tobytes() for reply in replies} == noised
    counts = Counts(training=STEPS, evaluation=EVALUATIONS)
    assert counts_in(tmp_path) == [counts] * 3
    assert active.uploaded == {f"party-{k}": counts for k in (1, 2, 3)}
    assert active.budget
    assert active.budget.planned == counts
    sent = (STEPS + EVALUATIONS) * uploads_an_exchange(method)
    assert dict(active.ledger.uploads) == {f"party-{k}": sent for k in (1, 2, 3)}


@some_methods
def test_the_noise_is_as_wide_as_it_says(
    method: str, tmp_path: Path, uploads: list[tuple[str, Tensor, Tensor]]
) -> None:
    cfg = configured(method, dp_clip=0.5)
    Attempt(cfg, tmp_path / "run").run()
    mechanism = Gaussian(2.0, 0.5)
    assert len({name for name, _, _ in uploads}) == 2  # a phase to train and one to evaluate
    for _, x, sent in uploads:
        steps = sent.double().numpy() / mechanism.step
        assert (steps == np.rint(steps)).all()
        noise = (steps - mechanism.clipped(x)) * mechanism.step
        assert noise.std() == pytest.approx(1.0, rel=6 / np.sqrt(noise.size))
        assert x.norm() > 0.5 * (1 - 1e-5)  # so that it was clipped


@each_method
def test_evaluations_in_the_clear_cost_everything(
    method: str, tmp_path: Path, uploads: list[tuple[str, Tensor, Tensor]]
) -> None:
    Attempt(configured(method, dp_eval="clear"), tmp_path / "run").run()
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


def test_the_result_says_what_it_cost_and_covers(tmp_path: Path) -> None:
    Attempt(configured("splitnn"), tmp_path / "run").run()
    result = result_of(tmp_path / "run")
    privacy = result["client_privacy"]
    assert result["epsilon"] == privacy["epsilon"] == epsilon_of(2.0, 17, 1e-5, "rdp")
    assert list(privacy["uploads"]) == ["party-1", "party-2", "party-3"]
    for uploads in (*privacy["uploads"].values(), privacy["planned"]):
        assert uploads == {"training": STEPS, "evaluation": EVALUATIONS}
    assert "whole data" in privacy["covers"]
    assert "labels" in privacy["does_not_cover"]
    assert any("discrete Gaussian noise" in text for text in result["protections"])


@pytest.mark.parametrize("method", [name for name in NOISING if spec_of(name).blinds])
def test_masks_hide_what_is_noised(
    method: str, tmp_path: Path, uploads: list[tuple[str, Tensor, Tensor]]
) -> None:
    """In the sum the masks cancel, and all parties' noise is left."""
    cfg = configured(method, blinding="pairwise")
    parties = passive_parties("local", lambda k: build_passive(cfg, k, tmp_path))
    taps = [Tap(client) for client in parties.clients]
    carry("local", build_active(cfg), taps)
    words = [
        [a for sent in tap.sent for a in of_columns(sent, method) if a.dtype == np.uint32]
        for tap in taps
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
    """Gradients go through the clip, and noise is added; nothing else changes."""

    def drawn(deviation: int, count: int, entropy: object) -> Array:
        return np.random.default_rng(count).normal(0, deviation, count).astype(np.int64)

    monkeypatch.setattr("vfl_flower.privacy.client_dp.gaussian.discrete_gaussian", drawn)
    cfg = FIFTY.changed(method=method, models="mixed", dp_sigma=0.1, dp_clip=10.0, baselines="off")
    plain, mechanism = step_of(cfg), Gaussian(0.1, 10.0)

    def noised(compute: Callable[[Tensor], Tensor], given: Tensor) -> Tensor:
        x = clip_whole(compute(given), 10.0)
        return x - x.detach() + mechanism.release(x.detach())

    def step(parties: Sequence[Party], rows: Tensor, y: Tensor, loss: Loss) -> None:
        with monkeypatch.context() as patch:
            for party in parties[1:]:
                patch.setattr(party, sends, partial(noised, getattr(party, sends)))
            plain(parties, rows, y, loss)

    run = Attempt(cfg, tmp_path / "run")
    run.run()
    loss = loss_of("cross-entropy")
    assert_equal([run.active, *run.passive], joint(cfg, loss, STEPS_OF_FIFTY, step))
    with pytest.raises(AssertionError):
        assert_equal([run.active, *run.passive], joint(cfg, loss, STEPS_OF_FIFTY, plain))
