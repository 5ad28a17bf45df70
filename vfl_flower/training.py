"""Training by mini-batches, as a sub-protocol: epochs, evaluations, checkpoints."""

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from vfl_flower.checkpoint import read_checkpoint, write_checkpoint
from vfl_flower.codec import Array
from vfl_flower.config import RunConfig
from vfl_flower.data.target import REGRESSION
from vfl_flower.errors import Interrupted, TrainingError
from vfl_flower.exchange import Protocol, ask, tell
from vfl_flower.ledger import DOWN, UP
from vfl_flower.metrics import metrics_of, regression_metrics_of, score_of
from vfl_flower.model import Noise, nonce_to_array, write_model
from vfl_flower.names import member_name, party_name
from vfl_flower.observer import Evaluation, Stage
from vfl_flower.randomness import asked, batches
from vfl_flower.registry import METHODS

if TYPE_CHECKING:
    from vfl_flower.active import ActiveParty

Value = TypeVar("Value")
ROUNDING = 1e-9  # percentage points


def steps_per_epoch(cfg: RunConfig, train_rows: int) -> int:
    """Return how many batches an epoch has; the last may be smaller."""
    return math.ceil(train_rows / cfg.batch_size)


def chunks(cfg: RunConfig, rows: Array) -> int:
    """Return how many exchanges it takes to infer some rows."""
    return math.ceil(len(rows) / cfg.eval_batch_size)


def evaluates(cfg: RunConfig, step: int, per_epoch: int) -> bool:
    """Tell whether the validation rows are evaluated after a step, counted from 1."""
    return step % (cfg.eval_every or per_epoch) == 0 or step % per_epoch == 0


def planned_uploads(cfg: RunConfig, rows: Mapping[str, Array]) -> Counter[str]:
    """Return how often the busiest party sends something in a whole run, without repeats.

    Parameters
    ----------
    cfg : RunConfig
        Of a method with one upload for each batch, or feature maps of all rows.
    rows : mapping
        The parts of the rows by name; see `rows_of`.

    Returns
    -------
    Counter
        Uploads in ``training`` and in ``evaluation``.
    """
    if METHODS[cfg.method].maps:
        held_out = chunks(cfg, rows["validation"]) + chunks(cfg, rows["test"])
        return Counter(training=cfg.views * chunks(cfg, rows["train"]), evaluation=held_out)
    if not cfg.epochs:  # be it that nothing is trained, or that rows are only to be predicted
        return Counter(training=0, evaluation=chunks(cfg, rows["test"]))
    per_epoch = steps_per_epoch(cfg, len(rows["train"]))
    steps, every = cfg.epochs * per_epoch, cfg.eval_every or per_epoch
    evaluations = cfg.epochs + steps // every - steps // math.lcm(per_epoch, every)
    in_chunks = evaluations * chunks(cfg, rows["validation"]) + chunks(cfg, rows["test"])
    return Counter(training=_busiest(cfg, steps), evaluation=in_chunks)


@cache
def _busiest(cfg: RunConfig, steps: int) -> int:
    """Return how many of the first steps ask the party that most of them ask."""
    times = Counter(k for step in range(steps) for k in asked(cfg, step))
    return max(times.values(), default=0)


def due(cfg: RunConfig, rows: Mapping[str, Array], step: int) -> Counter[str]:
    """Return what a party sends that this step asks, and after which the run could end.

    Parameters
    ----------
    cfg : RunConfig
        As for `planned_uploads`.
    rows : mapping
        The parts of the rows by name; see `rows_of`.
    step : int
        From 0.

    Returns
    -------
    Counter
        Uploads in ``training``, of the step, and in ``evaluation``, of the validation rows, if they
        come next, and of the test rows.
    """
    if METHODS[cfg.method].maps:  # all of them before the first step
        return planned_uploads(cfg, rows)
    uploads = Counter(training=1, evaluation=chunks(cfg, rows["test"]))
    if evaluates(cfg, step + 1, steps_per_epoch(cfg, len(rows["train"]))):
        uploads["evaluation"] += chunks(cfg, rows["validation"])
    return uploads


@dataclass
class Progress:
    """Where a run is, and how well it does.

    Attributes
    ----------
    step : int
        Steps done.
    seconds : float
        Spent in earlier sittings.
    losses : list of list of float
        Of the steps since the last evaluation, a list per step with one loss per party.
    records : list of Evaluation
        The evaluations so far.
    best : Evaluation or None
        The best of them; the earlier of equals.
    kept_exchanges : int
        Exchanges of training when the passive parties last kept their weights.
    test : dict
        Loss and accuracy on the test rows by party, once they have been evaluated.
    stages : list of Stage
        What has been done of earlier stages than the training that counts in steps, latest last.
    parties_mark, parties_exchanges : int
        Mark of the passive parties' last checkpoint, and exchanges of training until then.
    metrics : dict
        What else the predictions of the test rows are worth, by party; see `metrics_of`.
    """

    step: int = 0
    seconds: float = 0.0
    losses: list[list[float]] = field(default_factory=list)
    records: list[Evaluation] = field(default_factory=list)
    best: Evaluation | None = None
    kept_exchanges: int = 0
    test: dict[str, dict[str, float]] = field(default_factory=dict)
    metrics: dict[str, Any] = field(default_factory=dict)
    stages: list[Stage] = field(default_factory=list)
    parties_mark: int = -1
    parties_exchanges: int = -1
    started: float = field(default_factory=time.monotonic)

    @property
    def mark(self) -> int:
        """What checkpoints are named by: the steps done, and whatever earlier stages counted."""
        return self.step + len(self.stages)

    def judged(self) -> dict[str, dict[str, Any]]:
        """Return what the predictions of the test rows are worth, by party."""
        accuracies = self.test["accuracy"]
        return {name: {"accuracy": accuracies[name], **self.metrics[name]} for name in accuracies}

    def elapsed(self) -> float:
        """Return the seconds spent so far, earlier sittings included."""
        return self.seconds + time.monotonic() - self.started

    def add(self, evaluation: Evaluation) -> bool:
        """Add an evaluation, and tell whether it is the best so far."""
        self.records.append(evaluation)
        if self.best is None or evaluation.accuracy > self.best.accuracy:
            self.best = evaluation
        return self.best is evaluation

    def fallen(self, points: float) -> bool:
        """Tell whether the last accuracy is more than so many percentage points below the best."""
        if not points or self.best is None:
            return False
        return 100 * (self.best.accuracy - self.records[-1].accuracy) > points + ROUNDING

    def counting(self, keep: str) -> Evaluation | None:
        """Return the evaluation of the weights that count, the last or the best one."""
        return self.best if keep == "best" or not self.records else self.records[-1]


def train(party: "ActiveParty") -> Protocol:
    """Train for the configured epochs, less those that an earlier sitting has done.

    Training ends before that where the validation accuracy falls too far (``stop-drop``).
    """
    cfg, progress = party.cfg, party.progress
    per_epoch = steps_per_epoch(cfg, len(party.rows["train"]))
    party.observer.on_start(progress.step, cfg.epochs * per_epoch, progress.records)
    while progress.step < cfg.epochs * per_epoch and not ended(party):
        yield from _epoch(party, per_epoch)
        stopping = party.stop
        if stopping or ended(party) or progress.step // per_epoch % cfg.checkpoint_every == 0:
            yield from checkpoint(party)
        if stopping:
            raise interrupted(party, f"step {progress.step}")
    yield from finish(party)


def interrupted(party: "ActiveParty", what: str) -> Interrupted:
    """Return the error that says what was done before a run was stopped, and how it goes on."""
    kept = f"resume {party.folder.parent}" if party.folder else "nothing was kept"
    return Interrupted(f"stopped after {what}; {kept}")


def stage(party: "ActiveParty", name: str, total: int, unit: Callable[[int], Protocol]) -> Protocol:
    """Go through a stage before the training in steps, less what an earlier sitting has done.

    Parameters
    ----------
    party : ActiveParty
        Whose stage.
    name : str
        What a person reads.
    total : int
        How many units it has: epochs, or messages.
    unit : callable
        From the number of a unit, from 0, to a protocol that does it. That returns figures by
        name, and whether the stage ends with it.
    """
    progress = party.progress
    earlier = [each for each in progress.stages if each.name == name]
    done, ended = (earlier[-1].done, earlier[-1].ended) if earlier else (0, False)
    party.observer.on_stage(Stage(name, done, total, seconds=progress.elapsed()))
    while done < total and not ended:
        figures, ended = yield from unit(done)
        done += 1
        progress.stages.append(Stage(name, done, total, figures, progress.elapsed(), ended))
        party.observer.on_stage(progress.stages[-1])
        stopping = party.stop
        if stopping or ended or done == total or done % party.cfg.checkpoint_every == 0:
            yield from checkpoint(party)
        if stopping:
            raise interrupted(party, f"{done} of {total} of {name}")


def _epoch(party: "ActiveParty", per_epoch: int) -> Protocol:
    """Train to the end of the epoch, or until somebody or the accuracy says stop."""
    cfg, progress = party.cfg, party.progress
    for rows in _rest_of_epoch(party, per_epoch):
        labels = party.supervision.of(torch.from_numpy(rows))
        losses = yield from party.step(rows, labels)
        progress.step += 1
        check_finite(losses, progress.step)
        progress.losses.append(losses)
        party.observer.on_step(progress.step, losses)
        if evaluates(cfg, progress.step, per_epoch):
            yield from validate(party, progress.step // per_epoch)
        if party.stop or ended(party):
            return


def ended(party: "ActiveParty") -> bool:
    """Tell whether training is over before its last epoch is."""
    return party.progress.fallen(party.cfg.stop_drop) or not affordable(party)


def end_of(party: "ActiveParty") -> str:
    """Say what ended a training that is over: ``stop-drop``, ``target-epsilon`` or ``epochs``."""
    cfg, progress = party.cfg, party.progress
    if progress.fallen(cfg.stop_drop):
        return "stop-drop"
    steps = cfg.epochs * steps_per_epoch(cfg, len(party.rows["train"]))
    return "target-epsilon" if party.budget and progress.step < steps else "epochs"


def affordable(party: "ActiveParty") -> bool:
    """Tell whether every party's privacy budget lasts for one more step, and for the test rows."""
    if party.budget is None or METHODS[party.cfg.method].maps:
        return True
    step = party.progress.step
    uploads, to = due(party.cfg, party.rows, step), {*map(party_name, asked(party.cfg, step))}
    others = Counter(evaluation=uploads["evaluation"])
    return all(
        party.budget.allows(sent + (uploads if name in to else others))
        for name, sent in party.uploaded.items()
    )


def finish(party: "ActiveParty") -> Protocol:
    """Evaluate the test rows, once, and let every party write its model folder.

    A privacy budget may last for the test rows only once. So what they say is in a checkpoint
    before anything else is done, and a run that goes on from there does not ask them again.
    """
    if party.cfg.keep == "best":
        party.take_best()
        if party.ledger.exchanges["training"]:
            yield tell("take_best", purpose="upkeep")
    if not party.progress.test:
        yield from _test(party)
        yield from checkpoint(party)
    if party.folder is not None:
        yield ask("save", nonce_to_array(party.nonce), purpose="upkeep")
        budget, judged = party.budget, party.progress.judged()
        noise = Noise(budget.sigma, budget.worst(party.uploaded)) if budget else None
        write_model(party.folder, party, party.nonce, noise, judged, party.target)


def _test(party: "ActiveParty") -> Protocol:
    """Evaluate the test rows."""
    outputs, y = yield from predict(party, party.rows["test"])
    loss, accuracy = judged(party, outputs, y)
    party.progress.test = {"loss": loss, "accuracy": accuracy}
    party.progress.metrics = _by_party([_judged_in_full(party, each, y) for each in outputs])


def _judged_in_full(party: "ActiveParty", output: Tensor, y: Tensor) -> dict[str, Any]:
    """Return what else a party's predictions are worth."""
    if party.target.task == REGRESSION:
        return regression_metrics_of(output, y, party.target.deviation)
    return metrics_of(output, y)


def check_finite(losses: list[float], number: int, unit: str = "step") -> None:
    """Refuse losses, one of each model, that are not finite.

    Raises
    ------
    TrainingError
        Names the party, and the step or another unit.
    """
    for place, loss in enumerate(losses):
        if not math.isfinite(loss):
            raise TrainingError(
                f"the loss of {member_name(place)} is not finite at {unit} {number}; lower the "
                "learning rates"
            )


def _rest_of_epoch(party: "ActiveParty", per_epoch: int) -> Iterator[Array]:
    epoch, done = divmod(party.progress.step, per_epoch)
    cfg = party.cfg
    yield from batches(cfg.seed, epoch, party.rows["train"], cfg.batch_size)[done:]


def validate(party: "ActiveParty", epoch: int) -> Protocol:
    """Evaluate the validation rows and tell the observers."""
    outputs, y = yield from predict(party, party.rows["validation"])
    loss, accuracy = judged(party, outputs, y)
    progress, ledger = party.progress, party.ledger
    means = np.mean(progress.losses, axis=0).tolist()
    progress.losses.clear()
    evaluation = Evaluation(
        step=progress.step,
        epoch=epoch,
        train_loss=_by_party(means),
        validation_loss=loss,
        validation_accuracy=accuracy,
        seconds=progress.elapsed(),
        exchanges=ledger.exchanges["training"],
        bytes_up=ledger.total(UP),
        bytes_down=ledger.total(DOWN),
    )
    best = progress.add(evaluation)
    party.observer.on_evaluation(evaluation)
    if best and party.cfg.keep == "best":
        yield from keep(party)


def keep(party: "ActiveParty") -> Protocol:
    """Let every party keep its weights, the passive ones unless theirs cannot have changed."""
    party.keep_weights()
    exchanges = party.ledger.exchanges["training"]
    if party.progress.kept_exchanges != exchanges:
        yield tell("keep", purpose="upkeep")
        party.progress.kept_exchanges = exchanges


def predict(party: "ActiveParty", rows: Array) -> Protocol:
    """Infer held-out rows, (N,), and look up their labels.

    Returns
    -------
    outputs : list of Tensor
        See `infer`.
    y : Tensor
        Labels, (N,).
    """
    outputs = yield from infer(party, rows)
    return outputs, party.y[torch.from_numpy(rows)]


def infer(party: "ActiveParty", rows: Array) -> Protocol:
    """Infer rows, (N,), through the method's own protocol: logits of each model, the own first."""
    size = party.cfg.eval_batch_size
    chunks: list[list[Tensor]] = []
    for start in range(0, len(rows), size):
        logits = yield from party.infer(rows[start : start + size])
        chunks.append([each.detach() for each in logits])
    return [torch.cat(parts) for parts in zip(*chunks, strict=True)]


def judged(
    party: "ActiveParty", outputs: list[Tensor], y: Tensor
) -> tuple[dict[str, float], dict[str, float]]:
    """Return loss and accuracy, or R^2, by party, of outputs (N, C) each and labels (N,)."""
    losses = [party.loss(output, y).item() for output in outputs]
    return _by_party(losses), _by_party([score_of(output, y) for output in outputs])


def _by_party(values: list[Value]) -> dict[str, Value]:
    return {member_name(place): value for place, value in enumerate(values)}


def checkpoint(party: "ActiveParty") -> Protocol:
    """Let every party write its checkpoint; the active party's makes the set valid.

    Passive parties that were asked nothing since their last one in training are as they were, and
    that one belongs to this set too.
    """
    if party.folder is None:
        return
    progress, exchanges = party.progress, party.ledger.exchanges["training"]
    if progress.parties_exchanges != exchanges:
        yield ask("checkpoint", np.array(progress.mark), purpose="upkeep")
        progress.parties_mark, progress.parties_exchanges = progress.mark, exchanges
    state = party.durable() | {
        "exchange": party.exchange,
        "nonce": party.nonce,
        "ledger": party.ledger.state_dict(),
        "step": progress.step,
        "stages": [stage.as_dict() for stage in progress.stages],
        "parties_mark": progress.parties_mark,
        "seconds": progress.elapsed(),
        "losses": progress.losses,
        "records": [record.as_dict() for record in progress.records],
        "test": progress.test,
        "metrics": progress.metrics,
    }
    write_checkpoint(party, progress.mark, state)


def restore(party: "ActiveParty", mark: int) -> Protocol:
    """Take all parties back to one checkpoint."""
    state = read_checkpoint(party, mark)
    party.nonce = state.pop("nonce")
    party.progress.step, party.progress.seconds = state.pop("step"), state.pop("seconds")
    party.progress.losses = state.pop("losses")
    party.progress.stages = [Stage(**each) for each in state.pop("stages")]
    for record in state.pop("records"):
        party.progress.add(Evaluation(**record))
    party.progress.test, party.progress.metrics = state.pop("test"), state.pop("metrics")
    books = state.pop("ledger")
    if not party.ledger.exchanges:  # of another process; a run that went back has all it sent
        party.ledger.carry_over(books)
    party.exchange = max(party.exchange, state.pop("exchange"))  # it never goes back
    party.progress.parties_mark = state.pop("parties_mark")
    party.progress.parties_exchanges = party.ledger.exchanges["training"]
    party.recall(state)
    yield ask("restore", np.array(party.progress.parties_mark), purpose="upkeep")
