"""A sitting of its own before training: the parties find their common rows, and keep them.

Nothing is learnt in it, so that parties need no networks, and tables may differ in their rows.

    begin_alignment  ->  a nonce, a digest of the label's name with it
    ...              <>  the private set intersection; see `intersection`
    keep_alignment   ->  the nonce, K + 1, C, the task

Learns
    As in `intersection`, and passive parties C and the task. A passive party that has a column of
    the label's name learns that; it refuses to go on.
"""

from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import torch
from flwr.common import Scalar
from torch import Tensor

from vfl_flower.active import ActiveParty
from vfl_flower.alignment.aligner import Aligner
from vfl_flower.alignment.ids import Ids, normalised
from vfl_flower.alignment.intersection import Common, align
from vfl_flower.alignment.kept import ALIGNMENT, Alignment, drawn_nonce
from vfl_flower.codec import Array
from vfl_flower.config import RunConfig
from vfl_flower.data.own import described, table_of, target_of
from vfl_flower.data.target import REGRESSION, TASKS, Target, task_of
from vfl_flower.errors import ProtocolError, RunError
from vfl_flower.exchange import Protocol, ask
from vfl_flower.member import Member
from vfl_flower.names import member_log, member_name, party_log
from vfl_flower.nets import blank
from vfl_flower.observer import Stage
from vfl_flower.optim import Descent
from vfl_flower.passive import PassiveParty, phase
from vfl_flower.randomness import Randomness
from vfl_flower.tables import OwnTable, lines_of, refuse_label
from vfl_flower.tables.profile import MOST_CATEGORIES


class AlignmentActive(ActiveParty):
    """The active party of an alignment.

    Parameters
    ----------
    member : Member
        With the table's ids.
    kept : Alignment
        What it is to keep, but for the rows.
    label : str
        What its labels are called.
    out : Path
        Its own folder.
    enough : callable
        Is told how many rows are common, before anybody keeps them; may raise.

    Attributes
    ----------
    common : Common
        The outcome, once there is one.
    """

    common: Common

    def __init__(
        self, member: Member, kept: Alignment, label: str, out: Path, enough: Callable[[int], None]
    ) -> None:
        super().__init__(member, torch.empty(0, dtype=torch.int64), {})
        self.kept, self.label, self.out, self.enough = kept, label, out, enough

    def facts(self) -> dict[str, Scalar]:
        """Return what all parties must hold equal: not the rows."""
        return _facts(super().facts())

    def protocol(self) -> Protocol:
        """Align, and let everybody keep the outcome; the active party's makes it valid."""
        assert self.ids is not None  # noqa: S101  it was built for them
        nonce = _bytes(self.kept.nonce)
        yield ask("begin_alignment", nonce, _digest(self.kept.nonce, self.label), purpose="upkeep")
        self._show(0, len(self.ids))
        self.common = yield from align(self.ids, len(self.roster), self._show)
        self.enough(len(self.common.rows))
        facts = np.array([self.kept.parties, self.kept.classes, TASKS.index(self.kept.task)])
        yield ask("keep_alignment", nonce, facts, purpose="upkeep")
        self.kept = replace(self.kept, index=self.common.rows)
        self.kept.save(self.out)

    def _show(self, done: int, total: int) -> None:
        self.observer.on_stage(Stage("alignment", done, total, seconds=self.progress.elapsed()))


class AlignmentPassive(PassiveParty):
    """A passive party of an alignment.

    Parameters
    ----------
    member : Member
        With the table's ids, and the party's own folder.
    cfg : RunConfig
        Names the table.
    table : OwnTable
        As it was read.
    """

    parts = (Aligner,)
    aligner: Aligner

    def __init__(self, member: Member, cfg: RunConfig, table: OwnTable) -> None:
        super().__init__(member)
        self.of_run, self.table = cfg, table

    def facts(self) -> dict[str, Scalar]:
        """Return what all parties must hold equal: not the rows."""
        return _facts(super().facts())

    @phase(training=False)
    def begin_alignment(self, nonce: Tensor, label: Tensor) -> None:
        """See that the labels are not among the columns: (16,) uint8, (32,) uint8 ->."""
        name = member_name(self.place)
        refuse_label(self.table, "label", name)
        for column in self.table.columns:
            if torch.equal(_tensor(_digest(_hex(nonce), column.name)), label):
                refuse_label(self.table, column.name, name)
        if (_folder(self) / ALIGNMENT).exists():
            raise RunError(f"{name} has an alignment of this name already; choose another run-name")
        _log(self.place, self.table, self.ids)

    @phase(training=False)
    def keep_alignment(self, nonce: Tensor, facts: Tensor) -> None:
        """Write the outcome: (16,) uint8, (3,) int64: K + 1, C, the task's place ->."""
        rows, told = self.aligner.rows, facts.flatten().tolist()
        sized = facts.shape == (3,) and facts.dtype == torch.int64
        known = sized and 0 < told[1] <= MOST_CATEGORIES and 0 <= told[2] < len(TASKS)
        if not known or not len(rows) or told[0] != self.cfg.parties:
            raise ProtocolError("an alignment is to be kept that was not come to")
        parties, classes, task = told
        table = self.table.digest
        Alignment(rows, parties, classes, TASKS[task], _hex(nonce), table).save(_folder(self))
        party_log(self.index).info("alignment: %d rows in common", len(rows))


def build_alignment_active(
    cfg: RunConfig, folder: Path, enough: Callable[[int], None] = lambda rows: None
) -> AlignmentActive:
    """Build the active party of an alignment.

    Parameters
    ----------
    cfg : RunConfig
        Names the tables.
    folder : Path
        Of the run; the party gets a folder in it.
    enough : callable
        See `AlignmentActive`.

    Raises
    ------
    ConfigError
        If the description of the table cannot be used, or the run cannot learn such labels.
    DataError
        If the table cannot be read.
    RunError
        If the folder holds an alignment already.
    """
    table, description, out = table_of(cfg, 0), described(cfg, 0), folder / member_name(0)
    if (out / ALIGNMENT).exists():
        raise RunError(f"{out} holds an alignment already; choose another")
    target = _target(cfg, table)
    kept = Alignment(
        index=np.empty(0, np.int64),
        parties=cfg.parties,
        classes=1 if target.task == REGRESSION else len(target.classes),
        task=target.task,
        nonce=drawn_nonce(),
        table=table.digest,
    )
    ids, label = normalised(table.ids, description.duplicates), table.label
    name = label.name if label else ""
    _log(0, table, ids)
    return AlignmentActive(_bare(cfg, 0, ids, None), kept, name, out, enough)


def _log(place: int, table: OwnTable, ids: Ids | None) -> None:
    """Tell a party's own log what its table was taken for."""
    for line in lines_of(table):
        member_log(place).info("%s", line)
    if ids is not None and len(ids) < len(table.ids):
        twice = len(table.ids) - len(ids)
        member_log(place).info("%d rows are left out: they have the id of an earlier one", twice)


def _target(cfg: RunConfig, table: OwnTable) -> Target:
    """Return the task, and the classes, of labels: the table's, or those that the model learnt."""
    if cfg.task == "predict":
        return target_of(cfg)
    assert table.label is not None  # noqa: S101  the description names it
    return Target(task_of(table.label), table.label.values or ())


def build_alignment_passive(cfg: RunConfig, index: int, folder: Path | None) -> AlignmentPassive:
    """Build the passive party with one roster index; see `build_alignment_active`."""
    place = index + 1
    table, out = table_of(cfg, place), folder and folder / member_name(place)
    ids = normalised(table.ids, described(cfg, place).duplicates)
    return AlignmentPassive(_bare(cfg, place, ids, out), cfg, table)


def _bare(cfg: RunConfig, place: int, ids: Ids, folder: Path | None) -> Member:
    """Return a party that has ids, and a network that does nothing."""
    bare = RunConfig(
        method="local",
        parties=cfg.parties,
        threads=cfg.threads,
        party_timeout=cfg.party_timeout,
        answer_timeout=cfg.answer_timeout,
        return_timeout=cfg.return_timeout,
        stream_advertise=cfg.stream_advertise,
        stream_grace=cfg.stream_grace,
    )
    net, randomness = blank(1), Randomness(None)
    randomness.attach(net)
    descent = Descent({net: 1.0}, "sgd", "constant", 1)
    return Member(bare, place, torch.empty(0, 0), net, descent, randomness, folder, ids=ids)


def _facts(facts: dict[str, Scalar]) -> dict[str, Scalar]:
    kept = {key: facts[key] for key in ("protocol_version", "code", "folder")}
    return kept | {"task": "align"}


def _folder(party: PassiveParty) -> Path:
    if party.folder is None:
        raise RunError(f"{member_name(party.place)} has no folder to keep an alignment in; set out")
    return party.folder


def _digest(nonce: str, name: str) -> Array:
    """Return what a name can be recognised by, and not read from: (32,) uint8."""
    return np.frombuffer(sha256(f"{nonce}\0{name.casefold()}".encode()).digest(), np.uint8).copy()


def _bytes(nonce: str) -> Array:
    return np.frombuffer(bytes.fromhex(nonce), np.uint8).copy()


def _hex(nonce: Tensor) -> str:
    return bytes(nonce.tolist()).hex()


def _tensor(array: Array) -> Tensor:
    return torch.from_numpy(array)
