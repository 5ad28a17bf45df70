"""Training by mini-batches, as a sub-protocol: epochs, evaluations, checkpoints."""

from collections.abc import Callable, Iterator

import torch

from vfl_flower.common.codec import Array
from vfl_flower.config.catalog import BINARY, MULTI_CLASS
from vfl_flower.learning.batching import batches_of
from vfl_flower.learning.schedule import evaluates, steps_per_epoch
from vfl_flower.parties.active import ActiveParty
from vfl_flower.protocol.exchange import Protocol
from vfl_flower.protocol.observer import Stage
from vfl_flower.training.checkpointing import checkpoint
from vfl_flower.training.evaluation import finish, validate
from vfl_flower.training.share_check import check_shares
from vfl_flower.training.stopping import check_finite, ended, interrupted


def train(party: ActiveParty) -> Protocol:
    """Train for the configured epochs, minus those of earlier attempts.

    Training ends before that where the validation accuracy falls too far (``stop-drop``). Shares of
    sums are checked after each epoch, and before the first where uploads come before it.
    """
    cfg, progress = party.cfg, party.progress
    per_epoch = steps_per_epoch(cfg, len(party.rows["train"]))
    party.observer.on_start(progress.step, cfg.epochs * per_epoch, progress.records)
    yield from check_shares(party)
    while progress.step < cfg.epochs * per_epoch and not ended(party):
        yield from _epoch(party, per_epoch)
        if progress.step % per_epoch == 0 or ended(party):
            yield from check_shares(party)
        stopping = party.stop
        if stopping or ended(party) or progress.step // per_epoch % cfg.checkpoint_every == 0:
            yield from checkpoint(party)
        if stopping:
            raise interrupted(party, f"step {progress.step}")
    yield from finish(party)
    if party.stop:  # before the baselines, which can take as long as the run
        raise interrupted(party, f"step {progress.step}")


def stage(party: ActiveParty, name: str, total: int, unit: Callable[[int], Protocol]) -> Protocol:
    """Run a stage before the steps, minus units of earlier attempts.

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


def _epoch(party: ActiveParty, per_epoch: int) -> Protocol:
    """Train to the end of the epoch, or until a stop.

    A signal or the accuracy may stop it.
    """
    cfg, progress = party.cfg, party.progress
    for rows in _rest_of_epoch(party, per_epoch):
        losses = yield from party.step(rows, party.take_up(rows))
        progress.step += 1
        check_finite(losses, progress.step)
        progress.losses.append(losses)
        progress.note_hits(_hits(party, rows, len(losses)), len(rows))
        party.observer.on_step(progress.step, losses)
        if evaluates(cfg, progress.step, per_epoch) or ended(party):
            yield from validate(party, progress.step // per_epoch)
        if party.stop or ended(party):
            return


def _hits(party: ActiveParty, rows: Array, models: int) -> list[int]:
    """Count the rows whose true class a model predicted, by model.

    Of a step's rows, (B,), by the outputs that its losses were taken of. Rows count alike,
    whatever they weigh. Nothing where labels are not classes.
    """
    outputs = party.outputs[:models]
    if party.target.task not in (BINARY, MULTI_CLASS) or len(outputs) < models:
        return []
    y = party.y[torch.from_numpy(rows)]
    said = [party.target.decided(party.decoded(each)) for each in outputs]
    return [int((each.cpu() == y).sum()) for each in said]


def _rest_of_epoch(party: ActiveParty, per_epoch: int) -> Iterator[Array]:
    epoch, done = divmod(party.progress.step, per_epoch)
    yield from batches_of(party.cfg, epoch, party.rows["train"])[done:]
