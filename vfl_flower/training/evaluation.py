"""Evaluation and inference as sub-protocols."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import torch
from torch import Tensor

from vfl_flower.common.codec import Array
from vfl_flower.common.names import party_name
from vfl_flower.common.nonce import nonce_to_array
from vfl_flower.config.evaluation.metrics import deciding, key_of, primary
from vfl_flower.config.evaluation.threshold import read_threshold
from vfl_flower.data.preprocessing.target import Target
from vfl_flower.learning.losses import Labels
from vfl_flower.learning.metrics.curves import curves_of
from vfl_flower.learning.metrics.judge import judged_by, metrics_of
from vfl_flower.learning.metrics.predictions import Predictions
from vfl_flower.learning.metrics.threshold import chosen_threshold
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.persistence.model_folder import write_model
from vfl_flower.protocol.exchange import Protocol, ask, tell
from vfl_flower.protocol.ledger import DOWN, UP
from vfl_flower.protocol.observer import Evaluation
from vfl_flower.training.checkpointing import checkpoint
from vfl_flower.training.leave_one_out import LeaveOneOut

Value = TypeVar("Value")
Inference = Callable[[Array], Protocol]


def finish(party: ActiveParty) -> Protocol:
    """Evaluate the test rows once, then write every party's model folder.

    A privacy budget may last for the test rows only once. So what they say is in a checkpoint
    before anything else is done, and a run that goes on from there does not ask them again.
    """
    if party.cfg.keep == "best":
        party.take_best()
        if party.ledger.exchanges["training"]:
            yield tell("take_best", purpose="control")
    if not party.progress.test:
        yield from _test(party)
        yield from checkpoint(party)
    party.target = _target_of(party, 0)
    if party.folder is not None:
        yield ask("save", nonce_to_array(party.nonce), purpose="control")
        metrics = party.progress.metrics
        write_model(party.folder, party, party.nonce, party.upload_noise(), metrics, party.target)


def _test(party: ActiveParty) -> Protocol:
    """Evaluate the test rows, if there are some."""
    if not len(party.rows["test"]):
        party.progress.test = {"loss": {}, "score": {}}
        return
    outputs, y = yield from predict(party, party.rows["test"])
    said = [Predictions.of(each, y, _target_of(party, rank)) for rank, each in enumerate(outputs)]
    score = _by_party([judged_by(primary(party.target.task), each) for each in said])
    party.progress.test = {"loss": _losses(party, outputs, y), "score": score}
    party.progress.metrics = _by_party([metrics_of(each) for each in said])
    party.progress.curves = curves_of(said[0])


def _target_of(party: ActiveParty, rank: int) -> Target:
    """Return the target with the threshold of a party's model.

    It is chosen with the weights that count, in the evaluation that they had while training.
    """
    counting = party.progress.counting(party.cfg.keep)
    chosen = counting.thresholds.get(party_name(rank)) if counting else None
    return party.target if chosen is None else replace(party.target, threshold=chosen)


def validate(party: ActiveParty, epoch: int) -> Protocol:
    """Evaluate the validation rows, if there are some, and tell the observers."""
    loss, said, left_out = dict[str, float](), list[Predictions](), LeaveOneOut(party)
    if len(rows := party.rows["validation"]):
        outputs, y = (yield from infer(party, rows, left_out.infer)), party.truth(rows)
        loss = _losses(party, outputs, y)
        said = [Predictions.of(each, y, party.target) for each in outputs]
    task, progress, ledger = party.target.task, party.progress, party.ledger
    metric, thresholds = deciding(party.cfg.metric, task), _thresholds(party, said)
    said = [_decided(each, thresholds.get(party_name(rank))) for rank, each in enumerate(said)]
    names = dict.fromkeys((primary(task), metric))
    losses, hits = progress.since_evaluation()
    evaluation = Evaluation(
        step=progress.step,
        epoch=epoch,
        train_loss=_by_party(losses),
        train_accuracy=_by_party(hits),
        validation_loss=loss,
        scores={key_of(n): _by_party([judged_by(n, each) for each in said]) for n in names},
        seconds=progress.elapsed(),
        exchanges=ledger.exchanges["training"],
        bytes_up=ledger.total(UP),
        bytes_down=ledger.total(DOWN),
        metric=key_of(metric),
        thresholds=thresholds,
        leave_one_out=_scores_without(left_out, thresholds),
        without=[party_name(rank) for rank in sorted(party.cfg.left)],
    )
    best = progress.add(evaluation, judged=party.judged)
    party.observer.on_evaluation(evaluation)
    if best and party.cfg.keep == "best":
        yield from keep(party)


def _scores_without(left_out: LeaveOneOut, thresholds: dict[str, float]) -> dict[str, float]:
    """Return the active party's primary metric without each passive party."""
    party = left_out.party
    y, name = party.truth(party.rows["validation"]), primary(party.target.task)
    scores = dict[str, float]()
    for rank, outputs in left_out.outputs.items():
        said = _decided(Predictions.of(outputs, y, party.target), thresholds.get(party_name(0)))
        scores[party_name(rank)] = judged_by(name, said)
    return scores


def keep(party: ActiveParty) -> Protocol:
    """Keep every party's weights as the best so far.

    Passive parties are told only if their weights can have changed.
    """
    party.keep_weights()
    exchanges = party.ledger.exchanges["training"]
    if party.progress.kept_exchanges != exchanges:
        yield tell("keep", purpose="control")
        party.progress.kept_exchanges = exchanges


def predict(party: ActiveParty, rows: Array) -> Protocol:
    """Infer held-out rows, (N,), and look up their labels.

    Returns
    -------
    outputs : list of Tensor
        See `infer`.
    y : Tensor or Weighted
        Labels, (N,), with the rows' weights where they have some.
    """
    outputs = yield from infer(party, rows)
    return outputs, party.truth(rows)


def infer(party: ActiveParty, rows: Array, by: Inference | None = None) -> Protocol:
    """Infer rows, (N,), by the method's protocol, in chunks.

    Returns the logits of each model, the active party's first, decoded where labels are encoded.
    `by` stands for the method's `infer`.
    """
    outputs = yield from infer_codes(party, rows, by)
    return [party.decoded(each) for each in outputs]


def infer_codes(party: ActiveParty, rows: Array, by: Inference | None = None) -> Protocol:
    """Infer rows likewise, and decode nothing."""
    size, by = party.cfg.eval_batch_size, by or party.infer
    chunks: list[list[Tensor]] = []
    for start in range(0, len(rows), size):
        logits = yield from by(rows[start : start + size])
        chunks.append([each.detach() for each in logits])
    return [torch.cat(parts) for parts in zip(*chunks, strict=True)]


def _losses(party: ActiveParty, outputs: list[Tensor], y: Labels) -> dict[str, float]:
    """Return the loss by party: (N, C) each, and (N,) -> numbers."""
    loss = party.training_labels.loss_of_classes
    return _by_party([loss(output, y).item() for output in outputs])


def _thresholds(party: ActiveParty, said: list[Predictions]) -> dict[str, float]:
    """Return the thresholds that validation rows choose, by party."""
    rule = read_threshold(party.cfg.threshold)
    chosen = _by_party([chosen_threshold(rule, each) for each in said] if rule.chosen else [])
    return {name: each for name, each in chosen.items() if each is not None}


def _decided(said: Predictions, threshold: float | None) -> Predictions:
    """Return predictions decided by the threshold that they chose, if any."""
    if threshold is None:
        return said
    return replace(said, target=replace(said.target, threshold=threshold))


def _by_party(values: list[Value]) -> dict[str, Value]:
    return {party_name(rank): value for rank, value in enumerate(values)}
