"""Repetitions of a run with recorders around its passive parties."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from torch import Tensor

from vfl_flower.analysis.audit.transcripts.attacked import AttackedRows
from vfl_flower.analysis.audit.transcripts.recorder import Recorder
from vfl_flower.common.codec import Array
from vfl_flower.common.state import State
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.loading import run_data
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.party import Party
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.protocol.automaton.plan import Plan
from vfl_flower.protocol.exchange import Protocol
from vfl_flower.training.evaluation import infer_codes
from vfl_flower.transport.local import serve
from vfl_flower.workflows.build_parties import build_active, build_passive

MOST_ANSWERED = 2_000
"""Training rows, and as many test rows, that the trained parties predict."""


@dataclass(eq=False)
class Repetition:
    """One repeated run: its parties as trained, and their transcripts.

    Attributes
    ----------
    cfg : RunConfig
        The run's, of this repetition.
    active : ActiveParty
        As it has trained.
    recorders : list of Recorder
        Of the passive parties, by rank.
    answers : dict of str to Tensor
        The active party's predictions after training, (B, C), by the part of rows that were
        predicted: ``train``, ``test``, and what a deviation has asked besides.
    outputs : dict of str to Tensor
        What they were decoded from, where labels are encoded; the same elsewhere.
    answered : dict of str to ndarray of int32
        Those rows, (B,).
    begun : dict
        What the active party remembered before training beside its model: nothing of any row.
    """

    cfg: RunConfig
    active: ActiveParty
    recorders: list[Recorder]
    answers: dict[str, Tensor] = field(default_factory=dict)
    outputs: dict[str, Tensor] = field(default_factory=dict)
    answered: dict[str, Array] = field(default_factory=dict)
    begun: State = field(default_factory=dict)

    @property
    def passive(self) -> list[PassiveParty]:
        """The passive parties, by rank."""
        return [each.party for each in self.recorders]

    def ask(self, part: str, rows: Array) -> Protocol:
        """Predict rows with the trained parties, and keep the outputs.

        The active party forgets uploads that it has kept of these rows, as of other columns.
        """
        self.active.recall(deepcopy(self.begun))
        outputs = yield from infer_codes(self.active, rows)
        self.outputs[part], self.answered[part] = outputs[0], rows
        self.answers[part] = self.active.decoded(outputs[0])

    def hits(self, part: str) -> float:
        """Return the share of a part's rows whose class was predicted."""
        truth = self.active.y[torch.from_numpy(self.answered[part])]
        return float((self.active.target.decided(self.answers[part]).cpu() == truth).float().mean())


Deviation = Callable[[ActiveParty, Sequence[PassiveParty]], None]
"""Changes parties before a run begins: those of the attacker."""

Probe = Callable[[Repetition], Protocol]
"""Asks the trained parties for further predictions."""


def configured(cfg: RunConfig, epochs: int) -> RunConfig:
    """Return a run's configuration for repetitions of at most so many epochs."""
    whole = replace(cfg, stop_drop=0.0, long_tail=1.0, tensorboard=False, track="")
    whole = replace(whole, new_parties=0, model="")  # all train, as the frozen ones have
    return replace(whole, epochs=min(cfg.epochs, epochs), baselines="off", out="")


def repeat(
    cfg: RunConfig,
    attacked: AttackedRows,
    deviation: Deviation | None = None,
    probe: Probe | None = None,
) -> Repetition:
    """Run once more, and record the attacked rows.

    Parameters
    ----------
    cfg : RunConfig
        See `configured`.
    attacked : AttackedRows
        The rows that are recorded.
    deviation : callable, optional
        Makes parties deviate.
    probe : callable, optional
        Asks for predictions after training. Uploads are then counted beyond the run's plan, so
        there must be no budget for them.

    Raises
    ------
    VflError
        If a party fails, as one may that deviates.
    """
    data = run_data(cfg, split=attacked.split)
    active = build_active(cfg, source=data)
    ranks = range(1, cfg.parties)
    with TemporaryDirectory() as folder:  # parties that noise their uploads count them there
        passive = [build_passive(cfg, k, Path(folder), data=data.party(k)) for k in ranks]
        if deviation:
            deviation(active, passive)
        recorders = [Recorder(each, attacked.classes, attacked.rows) for each in passive]
        made = Repetition(cfg, active, recorders)
        if probe:
            active.task = partial(_then, active.task, made, probe)
        try:
            serve(active, recorders)
        finally:
            active.close()
    return made


def _then(training: Callable[[], Protocol], made: Repetition, probe: Probe) -> Protocol:
    """Train, then predict any rows."""
    active = made.active
    model = {*Party.remembers, *active.predicts_with}
    made.begun = deepcopy({k: v for k, v in active.durable().items() if k not in model})
    yield from training()
    for party in made.passive:
        party.plan = Plan(party.cfg, party.rank, party.data.rows, len(party.x))
        party.only_predict()  # of any row, by a plan that knows of no held-out ones
    yield from probe(made)


def usual_probe(made: Repetition) -> Protocol:
    """Predict training and test rows, `MOST_ANSWERED` of each."""
    random = np.random.default_rng(made.cfg.seed)
    for part in ("train", "test"):
        rows = random.permutation(made.active.rows[part])[:MOST_ANSWERED]
        if len(rows):
            yield from made.ask(part, rows)
