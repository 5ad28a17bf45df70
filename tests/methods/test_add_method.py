"""A new method is one file each side and one registry line."""

import json
from pathlib import Path

import pytest
import torch
from flwr.app import RecordDict

from tests.helpers.data import labels_of
from tests.helpers.joint.reference import parties_of
from tests.helpers.outcomes.commands import train as run
from vfl_flower.common.codec import decode
from vfl_flower.config.registry import METHODS
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.splitting.rows import rows_of
from vfl_flower.learning.batching import batches
from vfl_flower.parties.party import Party
from vfl_flower.transport.endpoint import ARRAYS
from vfl_flower.transport.local import run_amnesiac, run_local
from vfl_flower.workflows.build_parties import build_active, build_passive

STRATEGY = '''
"""Logit sum, active party: R = sum_k R_k, and everybody learns from dL/dR."""

import torch

from vfl_flower.parties.active import ActiveParty
from vfl_flower.protocol.exchange import ask, tell
from vfl_flower.training.loop import train


class LogitSum(ActiveParty):
    default_loss = "cross-entropy"

    def protocol(self):
        yield from train(self)

    def step(self, rows, y):
        replies = yield ask("logits", rows, own=lambda: self.decide(self.embed_rows(rows)))
        R = (replies.own.detach() + replies.sum()).requires_grad_()
        loss = self.loss(R, y)
        (g,) = torch.autograd.grad(loss, R)
        self.optimizer.zero()
        replies.own.backward(g)
        self.optimizer.step()
        yield tell("learn", g)
        return [loss.item()] * self.parties

    def infer(self, rows):
        own = lambda: self.decide(self.embed_rows(rows))
        replies = yield ask("logits_only", rows, own=own, purpose="evaluation")
        return [replies.own + replies.sum()] * self.parties
'''

CLIENT = '''
"""Logit sum, passive party."""

from vfl_flower.api import PassiveParty, Tape, floats, phase, residual, rows


class LogitSumClient(PassiveParty):
    components = (Tape,)

    def __init__(self, party):
        super().__init__(party)
        self.tape.passes = {"logits": self.answer}

    def answer(self, rows):
        return self.decide(self.embed_rows(rows))

    @phase(takes=rows("batch"), gives=floats("B", "C"), sends="logits")
    def logits(self, rows):
        return self.tape.start("logits", rows)

    @phase(after="logits", takes=residual("B", "C"))
    def learn(self, g):
        self.optimizer.zero()
        self.tape.backward("logits", g)
        self.optimizer.step()

    @phase(training=False, takes=rows("held-out"), gives=floats("B", "C"), sends="logits")
    def logits_only(self, rows):
        return self.answer(rows)
'''

SPEC = '''
"""Declaration of logit sum."""

from vfl_flower.config.method_spec import MethodSpec

SPEC = MethodSpec(
    strategy="added_method.strategy:LogitSum", client="added_method.client:LogitSumClient"
)
'''

FILES = {"__init__": "", "strategy": STRATEGY, "client": CLIENT, "spec": SPEC}
NAME = "logit-sum"
FLAGS = ["--method", NAME, "--epochs", "2", "--batch-size", "200", "--models", "mlp"]


@pytest.fixture(autouse=True)
def method(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Add the method as a user would: two files, one line."""
    package = tmp_path / "plugins" / "added_method"
    package.mkdir(parents=True)
    for name, text in FILES.items():
        (package / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(package.parent))
    monkeypatch.setitem(METHODS, NAME, "added_method.spec:SPEC")


def configured(parties: int = 3) -> RunConfig:
    return RunConfig(method=NAME, parties=parties, models="mlp", epochs=2, batch_size=200)


def joint(cfg: RunConfig) -> list[Party]:
    """Train the same method as one autograd program."""
    torch.set_num_threads(cfg.threads)
    parties, y = parties_of(cfg), labels_of(cfg)
    train = rows_of(cfg, len(y))["train"]
    for epoch in range(cfg.epochs):
        for batch in batches(cfg.seed, epoch, train, cfg.batch_size):
            rows = torch.from_numpy(batch)
            own, *others = [m.decide(m.embed_rows(rows)) for m in parties]
            R = own + torch.stack(others).sum(0)
            for m in parties:
                m.optimizer.zero()
            torch.nn.functional.cross_entropy(R, y[rows]).backward()
            for m in parties:
                m.optimizer.step()
    return parties


def final_arrays(state: RecordDict) -> dict[str, torch.Tensor]:
    arrays = state.array_records[ARRAYS].items()
    return {n: torch.tensor(decode(a.data)) for n, a in arrays}


def test_new_method_learns_alike_live_rebuilt_and_joint() -> None:
    cfg = configured()
    active, passive = build_active(cfg), [build_passive(cfg, k) for k in range(1, 3)]
    run_local(active, passive)
    first, last = active.progress.records[0], active.progress.records[-1]
    assert last.train_loss["active"] < first.train_loss["active"]
    again = build_active(cfg)
    states = run_amnesiac(again, lambda k: build_passive(cfg, k))
    program = joint(cfg)
    for name, value in active.net.state_dict().items():
        assert torch.equal(value, again.net.state_dict()[name]), name
        assert torch.equal(value, program[0].net.state_dict()[name]), name
    for live, state, party in zip(passive, states, program[1:], strict=True):
        remembered = final_arrays(state)
        for name, value in live.net.state_dict().items():
            assert torch.equal(value, remembered[f"state.net.{name}"]), name
            assert torch.equal(value, party.net.state_dict()[name]), name


def test_new_method_costs_one_exchange_a_step() -> None:
    cfg = configured()
    active = build_active(cfg)
    run_local(active, [build_passive(cfg, k) for k in range(1, 3)])
    assert active.ledger.exchanges["training"] == active.progress.step == 14
    assert set(active.ledger.by_phase()) == {"logits", "learn"}


def test_new_method_from_the_command_line(tmp_path: Path) -> None:
    """Also with one passive party, which only blinding methods refuse."""
    out = tmp_path / "run"
    assert run([*FLAGS, "--parties", "2", "--out", str(out)]) == 0
    result = json.loads((out / "result.json").read_text())
    assert result["method"] == NAME
    assert result["test_accuracy"]["party-1"] > 0.5
    assert (out / "party-1" / "model/weights.safetensors").is_file()


def test_method_that_does_not_blind_claims_no_protection(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`blinding` has its default, but this method sends logits in the clear."""
    out = tmp_path / "run"
    assert run([*FLAGS, "--baselines", "off", "--out", str(out)]) == 0
    assert json.loads((out / "result.json").read_text())["protections"] == []
    assert "protected by" not in capsys.readouterr().out
