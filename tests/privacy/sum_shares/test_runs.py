"""Runs whose parties check their shares of sums."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.helpers.joint.reference import easter_step, joint
from tests.helpers.joint.reference_split import logits_step
from tests.helpers.outcomes.attempts import Attempt
from tests.methods.test_joint_reference import FIFTY, assert_equal, distributed, taken_by
from vfl_flower.common.errors import ConfigError, Interrupted, PartyError
from vfl_flower.config.policy.record import OPEN, Policy
from vfl_flower.config.registry import specs
from vfl_flower.config.run_config import RunConfig
from vfl_flower.learning.losses import Loss, loss_of
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.party import Party
from vfl_flower.privacy.guarantees import CHECKED, VARIANCES, column_protections
from vfl_flower.privacy.sum_shares.variance import code_of, shares_of
from vfl_flower.runs.run_folder import RunFolder
from vfl_flower.transport.local import run_local
from vfl_flower.workflows.build_parties import build_active, build_passive

CHECK = FIFTY.changed(share_check="on")
STEEP: dict[str, Any] = {
    "optimizers": "adam,adam,sgd,sgd",
    "learning_rates": "0.03,0.03,0.01,0.01",
}
"""Steps of very different sizes, by which party-1 comes to dominate the sum."""

HALF = Policy(**vars(OPEN) | {"name": "bank", "largest_share": 0.5})


def logits(party: Party, rows: Tensor) -> Tensor:
    return party.decide(party.embed_rows(rows))


def active_of(parties: Sequence[Party]) -> ActiveParty:
    active = parties[0]
    assert isinstance(active, ActiveParty)
    return active


def shares_in_joint_program(cfg: RunConfig) -> list[float]:
    """Return the largest share of each epoch, from all parties' uploads."""
    summed = logits if cfg.method == "agg_vfl" else Party.embed_rows
    loss = loss_of("cross-entropy" if cfg.method == "agg_vfl" else "binary-cross-entropy")
    uploads: list[list[Tensor]] = []

    def step(parties: Sequence[Party], rows: Tensor, y: Tensor, loss: Loss) -> None:
        with torch.no_grad():
            uploads.append([summed(each, rows) for each in parties[1:]])
        if cfg.method == "agg_vfl":
            logits_step(parties, rows, y, loss, rounded=True, divisor=1)
        else:
            easter_step(parties, rows, y, loss, rounded=True)

    joint(cfg, loss, 16, step)
    largest = []
    for epoch in (uploads[:8], uploads[8:]):
        each = [[E.double().var(0, correction=0).sum() for E in made] for made in epoch]
        variances = torch.tensor(each).log().mean(0).exp()
        largest.append(float(variances.max() / variances.sum()))
    return largest


@pytest.mark.parametrize("method", ["easter", "agg_vfl"])
def test_shares_are_those_of_the_joint_program(method: str) -> None:
    """But for rounding: of variances to 0.6 percent, of shares to 1."""
    cfg = CHECK.changed(method=method)
    told = active_of(distributed(cfg)).progress.shares
    theirs = shares_in_joint_program(cfg)
    assert len(told) == len(theirs) == 2
    assert told == pytest.approx([100 * each for each in theirs], abs=0.8)


@pytest.mark.parametrize("method", [name for name, each in specs().items() if each.blinds])
def test_checks_change_no_weights(method: str) -> None:
    """Of any method that sums; one upload is checked once."""
    own: dict[str, Any] = {"local_epochs": 1} if method == "pravfed" else {}
    checked, free = (
        distributed(taken_by(method, cfg, label_privacy="none", **own)) for cfg in (CHECK, FIFTY)
    )
    assert_equal(checked, free)
    ours, theirs = map(active_of, (checked, free))
    checks = 1 if method == "pravfed" else 2
    assert (len(ours.progress.shares), len(theirs.progress.shares)) == (checks, 0)
    assert ours.ledger.by_phase("training") == theirs.ledger.by_phase("training")
    assert "seal_variances" not in theirs.ledger.by_phase("control")
    payload = {
        (phase, way): count / checks
        for (party, _, phase, way), count in ours.ledger.payload.items()
        if party == "party-1" and phase in ("seal_variances", "check_share") and count
    }
    assert payload == {  # 18 K + 1 up, 18 K down
        ("seal_variances", "up"): 54,
        ("check_share", "down"): 54,
        ("check_share", "up"): 1,
    }


def run_under(policy: Policy, rank: int = 1, **changes: Any) -> list[int]:
    """Train with one party under a policy; return the shares told."""
    cfg = CHECK.changed(**changes)
    active = build_active(cfg)
    policies = {rank: policy}
    passive = [build_passive(cfg, k, policy=policies.get(k, OPEN)) for k in range(1, cfg.parties)]
    run_local(active, passive)
    return active.progress.shares


def test_a_party_that_dominates_refuses_by_its_policy() -> None:
    """And a run of the same parties goes on without the policy."""
    said = (
        r"party-1 failed in 'check_share' .*: PolicyError: policy 'bank' refuses this run by its "
        r"rule largest-share: it is 0\.5, and its uploads have a larger share"
    )
    with pytest.raises(PartyError, match=said) as caught:
        run_under(HALF, **STEEP)
    assert "%" not in str(caught.value)  # the share itself stays with the party
    assert min(run_under(OPEN, **STEEP)) > 80


def test_others_do_not_refuse_and_standardised_sums_pass() -> None:
    assert min(run_under(HALF, rank=2, **STEEP)) > 80
    assert max(run_under(HALF, **STEEP, embedding_scale="standardized")) == pytest.approx(34, abs=2)


def test_variances_are_of_noised_uploads(tmp_path: Path) -> None:
    """Of which they are post-processing: noise evens shares out."""
    attempt = Attempt(CHECK.changed(dp_sigma=4.0, baselines="off", **STEEP), tmp_path / "run")
    attempt.run()
    assert max(attempt.active.progress.shares) == pytest.approx(34, abs=2)
    counted = {each.privacy.counts()["training"] for each in attempt.passive}
    assert counted == {16}


@pytest.mark.slow
def test_a_resumed_run_tells_the_same_shares(tmp_path: Path) -> None:
    """Also of the epoch that was cut in two."""
    cfg = CHECK.changed(baselines="off")
    whole = Attempt(cfg, tmp_path / "whole")
    whole.run()
    with pytest.raises(Interrupted):
        Attempt(cfg, tmp_path / "cut").run(stop_at=10)
    rest = Attempt(cfg, tmp_path / "cut")
    rest.run()
    told, expected = rest.active.progress.shares, whole.active.progress.shares
    assert told == expected
    assert rest.active.progress.test == whole.active.progress.test
    result = RunFolder.reopen(tmp_path / "cut", {}).result()
    assert result
    assert result["figures"]["largest_share"] == max(told) / 100
    assert result["figures"]["largest_share_at_the_end"] == told[-1] / 100


def test_a_run_names_checks_and_all_that_is_told() -> None:
    protected, gaps = column_protections(CHECK)
    assert CHECKED in protected
    assert VARIANCES in gaps
    protected, gaps = column_protections(FIFTY)
    assert {CHECKED, VARIANCES}.isdisjoint([*protected, *gaps])


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"method": "splitnn"}, "nothing is summed under masks .*or one of easter"),
        ({"blinding": "none"}, "nothing is summed under masks .*blinding none"),
        ({"colluding_share": 0.5}, "not all parties have pair keys.*colluding-share = 1"),
        ({"dp_sigma": 1.0, "dp_noise": "distributed"}, "a share of the noise.*dp-noise = own"),
    ],
)
def test_checks_that_cannot_act_are_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=f"share-check is on, and .*{says}"):
        RunConfig(share_check="on", **changes)


def test_the_code_is_what_the_rounding_costs() -> None:
    """Shares of codes are within 0.3 percentage points of true ones."""
    for variances in ([1.0, 2.003, 3.01], [1e-9, 4.2e-9, 1e-8], [5.0, 5.054, 5.1]):
        true = [each / sum(variances) for each in variances]
        assert shares_of([*map(code_of, variances)]) == pytest.approx(true, abs=0.003)
