"""Rebuilt parties come to the same bits as live ones."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from flwr.app import RecordDict
from flwr.common import FitIns, FitRes
from safetensors.torch import load_file
from torch import Tensor

from tests.helpers.joint.reference import joint_easter
from tests.helpers.networks import register
from vfl_flower.common.codec import decode
from vfl_flower.common.layout import MODEL, WEIGHTS
from vfl_flower.config.run_config import RunConfig
from vfl_flower.learning.losses import loss_of
from vfl_flower.parties.party import Party
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.transport.endpoint import ARRAYS, Endpoint
from vfl_flower.transport.local import run_amnesiac, run_local, serve
from vfl_flower.workflows.build_parties import build_active, build_passive

pytestmark = pytest.mark.slow

TINY = RunConfig(models="mlp", epochs=2, batch_size=300, embedding_dim=12)  # 5 steps an epoch
STEPS = 10
NETS = ["own-dropout", "global-dropout", "mlp,own-dropout,global-dropout,own-dropout"]
Weights = list[dict[str, Tensor]]


@pytest.fixture(autouse=True)
def networks(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def configured(nets: str, **changes: str | int) -> RunConfig:
    """Return a tiny run with names that only tests know."""
    return replace(TINY, models=nets, **changes)  # type: ignore[arg-type]


def weights_of(parties: list[Party]) -> Weights:
    return [m.net.state_dict() for m in parties]


def live(cfg: RunConfig) -> Weights:
    active = build_active(cfg)
    passive = [build_passive(cfg, k) for k in range(1, cfg.parties)]
    run_local(active, passive)
    assert active.progress.step == STEPS
    return weights_of([active, *passive])


def rebuilt(cfg: RunConfig) -> Weights:
    active = build_active(cfg)
    states = run_amnesiac(active, lambda k: build_passive(cfg, k))
    prefix = "state.net."
    passive = [
        {
            name.removeprefix(prefix): torch.tensor(decode(array.data))
            for name, array in state.array_records[ARRAYS].items()
            if name.startswith(prefix)
        }
        for state in states
    ]
    return [active.net.state_dict(), *passive]


def differing(ours: Weights, theirs: Weights) -> list[str]:
    """Return location and name of every differing array.

    Both must have the same names.
    """
    assert [set(a) for a in ours] == [set(b) for b in theirs]
    assert all(ours)
    pairs = enumerate(zip(ours, theirs, strict=True))
    return [f"{rank}: {n}" for rank, (a, b) in pairs for n in a if not torch.equal(a[n], b[n])]


@pytest.mark.parametrize(
    ("nets", "optimizers"),
    [(NETS[0], "sgd,momentum,adagrad,adam"), (NETS[1], "adagrad,adam,sgd,momentum")],
)
def test_rebuilt_live_and_joint_are_equal(nets: str, optimizers: str) -> None:
    cfg = configured(nets, optimizers=optimizers)
    ours = live(cfg)
    assert differing(ours, rebuilt(cfg)) == []
    joint = joint_easter(cfg, loss_of("binary-cross-entropy"), STEPS)
    assert differing(ours, weights_of(joint)) == []


def test_mixed_networks_and_optimizers() -> None:
    """Each party has its own network and optimizer, with evaluations inside epochs."""
    optimizers = "adam,sgd,momentum,adagrad"
    cfg = configured(NETS[2], optimizers=optimizers, schedule="cosine", eval_every=4)
    ours = live(cfg)
    assert differing(ours, rebuilt(cfg)) == []
    joint = joint_easter(cfg, loss_of("binary-cross-entropy"), STEPS)
    assert differing(ours, weights_of(joint)) == []


def test_dropout_is_at_work() -> None:
    """The comparisons above would not notice a dropout that drops nothing."""
    party = build_passive(configured("own-dropout"), 1)
    party.net.train()
    first = party.embed_rows(torch.arange(50))
    party.net.train(False)
    still = party.embed_rows(torch.arange(50))
    party.net.train()
    assert not torch.equal(first, party.embed_rows(torch.arange(50)))
    party.net.train(False)
    assert not torch.equal(first, still)


class Watching(Endpoint):
    """Notes the networks' buffers before and after each phase."""

    def __init__(self, party: PassiveParty) -> None:
        super().__init__(party)
        self.watched = party
        self.moved: dict[str, bool] = {}

    def fit(self, ins: FitIns) -> FitRes:
        before = [b.clone() for b in self.watched.net.buffers()]
        res = super().fit(ins)
        phases = str(ins.config["phases"])
        after = list(self.watched.net.buffers())
        pairs = zip(before, after, strict=True)
        moved = any(not torch.equal(b, a) for b, a in pairs)
        self.moved[phases] = self.moved.get(phases, False) or moved
        return res


@pytest.mark.parametrize("nets", NETS[:2])
def test_evaluation_leaves_batchnorm_untouched(nets: str) -> None:
    """Training moves the statistics, evaluation never does, however often."""
    cfg = configured(nets, eval_every=3)
    active = build_active(cfg)
    watching = [Watching(build_passive(cfg, k)) for k in range(1, 4)]
    serve(active, watching)
    for client in watching:
        moved = client.moved
        assert moved["update,embed"]
        assert moved["predict"]
        assert not any(did for phases, did in moved.items() if phases.endswith("_only"))
        assert {"update,embed_only", "predict_only"} <= set(moved)
    often = weights_of([active, *(w.watched for w in watching)])
    assert differing(often, live(replace(cfg, eval_every=0))) == []


def test_parallel_runs_do_not_disturb_each_other() -> None:
    """Two seeds in threads give the results of separate runs."""
    cfgs = [configured(NETS[2], seed=seed) for seed in (0, 1, 0)]
    alone = [live(cfg) for cfg in cfgs[:2]]
    with ThreadPoolExecutor(3) as pool:
        together = list(pool.map(live, cfgs))
    assert differing(together[0], alone[0]) == []
    assert differing(together[1], alone[1]) == []
    assert differing(together[2], alone[0]) == []
    assert differing(alone[0], alone[1])


def test_global_generator_is_left_alone() -> None:
    """A run neither depends on torch's global generator nor moves it."""
    cfg = configured("global-dropout")
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first = live(cfg)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    assert differing(first, live(cfg)) == []


def test_checkpoint_and_weights_hold_the_buffers(tmp_path: Path) -> None:
    """The weights on disk include BatchNorm's statistics, also from rebuilt parties."""
    cfg = configured(NETS[2])
    active = build_active(cfg, tmp_path)
    run_amnesiac(active, lambda k: build_passive(cfg, k, tmp_path))
    names = ["active", "party-1", "party-2", "party-3"]
    saved = [load_file(tmp_path / name / MODEL / WEIGHTS) for name in names]
    assert any("running_mean" in name for name in saved[1])
    assert differing(saved, live(cfg)) == []


def test_state_survives_packing() -> None:
    """Flower keeps arrays and one text of a party, nothing else."""
    cfg = configured("own-dropout")
    active = build_active(cfg)
    state = run_amnesiac(active, lambda k: build_passive(cfg, k))[0]
    assert isinstance(state, RecordDict)
    assert set(state.array_records) == {ARRAYS}
    kinds = {a.stype for a in state.array_records[ARRAYS].values()}
    assert kinds == {"numpy.ndarray"}
