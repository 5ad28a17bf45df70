"""Label inference: passive parties infer training labels from received messages.

A run keeps no record of its messages, so it is repeated here, from its configuration, with every
message to the passive parties kept: once without label privacy and once with, both times with the
run's defence of gradients and its encoding of labels, if it has them. Four attacks of
`vfl_flower.analysis.audit.attacks.labels` are listed source by source, each at its best party; the
leakage card (`vfl_flower.analysis.audit.card`) has the best source of each, and further attacks.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from vfl_flower.analysis.audit.attacks.labels.denoised import Denoised
from vfl_flower.analysis.audit.attacks.labels.inference import OWN_COLUMNS, LabelInference
from vfl_flower.analysis.audit.attacks.labels.learnt import Learnt
from vfl_flower.analysis.audit.attacks.labels.own_model import OwnModel
from vfl_flower.analysis.audit.attacks.labels.read_off import ReadOff
from vfl_flower.analysis.audit.transcripts.attacked import AttackedRows
from vfl_flower.analysis.audit.transcripts.repetition import configured, repeat
from vfl_flower.analysis.audit.transcripts.stage import Stage
from vfl_flower.common.errors import ConfigError
from vfl_flower.common.names import party_name
from vfl_flower.config.catalog import AUDITED_MECHANISM
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.loading import split_of
from vfl_flower.privacy.label_dp.training_labels import epsilon_of
from vfl_flower.runs.seeds import first_run

LISTED: dict[str, LabelInference] = {
    "read off": ReadOff(),
    "denoised": Denoised(),
    "learnt": Learnt(),
}
"""Attacks on messages, by the names that they have in the list."""


@dataclass(frozen=True)
class Finding:
    """One attack's success at the passive party where it is highest.

    Attributes
    ----------
    protection : str
        The mechanism and its epsilon, or nothing.
    source, attack : str
        What was used, and how.
    party : str
        The best party's name.
    accuracy : float
        Share of rows whose label it tells.
    auc : float
        Of its scores; for more than two classes, the mean over classes against the rest.
    """

    protection: str
    source: str
    attack: str
    party: str
    accuracy: float
    auc: float


@dataclass(frozen=True)
class Findings:
    """Results of an audit.

    Attributes
    ----------
    method, dataset : str
        Of the run.
    rows, epochs, known : int
        Attacked rows; epochs repeated; labels a class that an attacker who learns has.
    majority : float
        What the best constant guess reaches.
    found : list of Finding
    """

    method: str
    dataset: str
    rows: int
    epochs: int
    known: int
    majority: float
    found: list[Finding]


def audit(path: Path, epochs: int, known: int, trust_code: bool = False) -> Findings:
    """Repeat a run for at most so many epochs, and attack it.

    `trust_code` is as for `RunFolder.reopen`.

    Raises
    ------
    RunError
        If there is no run.
    ConfigError
        If its method sends passive parties nothing that depends on labels, or labels are numbers.
    """
    folder = first_run(path, trust_code)
    cfg = configured(folder.cfg, epochs)
    if not cfg.teaches:
        raise ConfigError(f"with {cfg.method}, passive parties receive nothing about labels")
    bare, protected = replace(cfg, label_privacy="none"), _protected(cfg)
    attacked = AttackedRows(bare, known, split=split_of(cfg, folder.path / party_name(0)))
    if attacked.other_labels:
        raise ConfigError(
            f"the labels of this run {attacked.other_labels}; the audit tells classes apart"
        )
    found = [finding for each in (bare, *protected) for finding in _attack(each, attacked)]
    rows, majority = len(attacked.rows), attacked.majority()
    return Findings(cfg.method, cfg.dataset, rows, cfg.epochs, known, majority, found)


def _protected(cfg: RunConfig) -> Sequence[RunConfig]:
    """Return a run with label privacy, if the method allows it."""
    if cfg.label_noise:
        return [cfg]
    try:
        return [replace(cfg, label_privacy=AUDITED_MECHANISM)]
    except ConfigError:
        return []


def _attack(cfg: RunConfig, attacked: AttackedRows) -> Iterator[Finding]:
    """Run once and yield each attacker's best score."""
    stage = Stage(attacked, repeat(cfg, attacked))
    noise = cfg.label_noise
    protection = f"{noise}, epsilon {epsilon_of(cfg):g}" if noise else "none"
    protection += f"; {cfg.gradient_defence}" if cfg.defended else ""
    protection += f"; {cfg.label_encoding}" if cfg.encoded else ""
    for source, name, attack in _attackers(stage):
        accuracy, auc, rank = attack.best(stage, source)
        yield Finding(protection, source, name, party_name(rank), accuracy, auc)


def _attackers(stage: Stage) -> Iterator[tuple[str, str, LabelInference]]:
    """Yield source, name and attack, source by source."""
    for source in stage.recorders[0].received:
        for name, attack in LISTED.items():
            if source in attack.sources(stage):
                yield source, name, attack
    yield OWN_COLUMNS, "learnt", LISTED["learnt"]
    own = OwnModel()
    for source in own.sources(stage):
        yield source, "read off", own
