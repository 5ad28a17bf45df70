"""Label inference: passive parties infer training labels from received messages.

A run keeps no record of what travelled, so it is repeated here, from its configuration, with every
message to the passive parties kept: once without label privacy and once with, both times with the
run's defence of gradients, if it has one. Attackers try to tell the labels, each with what a
passive party has:

    read off   the row's own numbers, where there is one for each class: the largest or the smallest
               mean over the epochs, whichever does better
    learnt     some labels of each class are known; a logistic regression tells the others from all
               numbers of a row
    denoised   what is read off teaches a logistic regression on the party's own columns: noise on
               labels is averaged out over rows that are alike
    own        what the party's columns tell without any message: the regression on columns that
               learns from known labels; and what the party predicts after training, if it does
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from vfl_flower.analysis.audit.recorder import Recorder, Table
from vfl_flower.common.errors import ConfigError
from vfl_flower.common.names import party_name
from vfl_flower.config.catalog import AUDITED_MECHANISM, MULTI_LABEL, REGRESSION
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.loading import run_data, split_of
from vfl_flower.data.splitting.record import Split
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.privacy.label_dp.training_labels import epsilon_of
from vfl_flower.runs.seeds import first_run
from vfl_flower.transport.local import serve
from vfl_flower.workflows.build_parties import build_active, build_passive

if TYPE_CHECKING:
    from vfl_flower.common.codec import Array

Labels = NDArray[np.int64]
MOST_ROWS = 10_000  # that are attacked


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
    repeated = min(folder.cfg.epochs, epochs)
    whole = replace(folder.cfg, stop_drop=0.0, long_tail=1.0)
    cfg = replace(whole, epochs=repeated, baselines="off", out="")
    if not cfg.teaches:
        raise ConfigError(f"with {cfg.method}, passive parties receive nothing about labels")
    protected = cfg if cfg.label_noise else replace(cfg, label_privacy=AUDITED_MECHANISM)
    bare = replace(cfg, label_privacy="none")
    split = split_of(cfg, folder.path / party_name(0))
    stage = Stage(bare, known, split)
    found = [finding for each in (bare, protected) for finding in stage.attack(each)]
    return Findings(
        cfg.method, cfg.dataset, len(stage.rows), cfg.epochs, known, stage.majority(), found
    )


class Stage:
    """The rows under attack, and their known labels.

    Parameters
    ----------
    cfg : RunConfig
        The run.
    known : int
        Labels of each class that an attacker who learns has.
    split : Split, optional
        See `split_of`.
    """

    def __init__(self, cfg: RunConfig, known: int, split: Split | None = None) -> None:
        self.split = split
        active = build_active(cfg, source=run_data(cfg, split=split))
        if active.target.task in (REGRESSION, MULTI_LABEL):
            found = "are numbers" if active.target.task == REGRESSION else "are several of a row"
            raise ConfigError(f"the labels of this run {found}; the audit tells classes apart")
        random = np.random.default_rng(cfg.seed)
        self.classes = active.data.classes
        self.rows: Array = random.permutation(active.rows["train"])[:MOST_ROWS]
        self.y: Labels = active.y.numpy()[self.rows]
        order = np.argsort(self.y, kind="stable")
        starts = np.searchsorted(self.y[order], np.arange(self.classes))
        ranks = np.arange(len(order)) - starts[self.y[order]]
        self.known = np.zeros(len(self.rows), bool)
        self.known[order[ranks < known]] = True
        if self.known.all():
            raise ConfigError(f"no labels are left to attack with --known {known}; take fewer")

    def majority(self) -> float:
        """Return the share of the most frequent class."""
        return float(np.bincount(self.y).max() / len(self.y))

    def attack(self, cfg: RunConfig) -> Iterator[Finding]:
        """Run once and yield how each attacker does at best."""
        data = run_data(cfg, split=self.split)
        active = build_active(cfg, source=data)
        with TemporaryDirectory() as folder:  # parties that noise their uploads count them there
            recorders = [
                Recorder(
                    build_passive(cfg, rank, Path(folder), data=data.party(rank)), self.classes
                )
                for rank in range(1, cfg.parties)
            ]
            serve(active, recorders)
        noise = cfg.label_noise
        protection = f"{noise}, epsilon {epsilon_of(cfg):g}" if noise else "none"
        protection += f"; {cfg.gradient_defence}" if cfg.defended else ""
        for source, attack, scores in self.attackers(recorders[0]):
            results = [(*self.judge(scores(each)), each.party.rank) for each in recorders]
            accuracy, auc, rank = max(results)
            yield Finding(protection, source, attack, party_name(rank), accuracy, auc)

    def attackers(
        self, recorder: Recorder
    ) -> Iterator[tuple[str, str, Callable[[Recorder], Table]]]:
        """Yield every attack: source, kind, and function of a recorder.

        The function returns scores, (B, C).
        """
        for name, sums in recorder.received.items():
            if sums.total.shape[1] == self.classes:
                yield name, "read off", lambda each, name=name: self.read_off(each, name)  # type: ignore[misc]
                yield name, "denoised", lambda each, name=name: self.denoised(each, name)  # type: ignore[misc]
            yield name, "learnt", lambda each, name=name: self.learnt(self.table(each, name))  # type: ignore[misc]
        yield "own columns", "learnt", lambda each: self.learnt(self.columns(each.party))
        if recorder.predicts():
            yield "own logits", "read off", lambda each: each.sent(self.rows)
        elif recorder.decides():
            yield "own network", "read off", lambda each: self.predicted(each.party)

    def table(self, recorder: Recorder, name: str) -> Table:
        """Return one party's received numbers for the attacked rows."""
        return recorder.received[name].mean(self.rows)

    def read_off(self, recorder: Recorder, name: str) -> Table:
        """Predict the class of a row's largest, or smallest, number."""
        table = self.table(recorder, name)
        return max((table, -table), key=lambda scores: self.judge(scores))

    def denoised(self, recorder: Recorder, name: str) -> Table:
        """Learn from all labels that are read off, by own columns."""
        told = self.read_off(recorder, name).argmax(1)
        return self.regressed(self.columns(recorder.party), np.ones(len(told), bool), told)

    def learnt(self, table: Table) -> Table:
        """Learn from the known labels; return class scores of all rows."""
        return self.regressed(table, self.known, self.y)

    def regressed(self, table: Table, known: NDArray[np.bool_], labels: Labels) -> Table:
        """Learn from some rows' labels; return class scores of all rows."""
        # scikit-learn is slow to import
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
        model.fit(table[known], labels[known])
        scores = np.zeros((len(table), self.classes))
        scores[:, model.classes_] = model.predict_proba(table)
        return scores

    def columns(self, party: PassiveParty) -> Table:
        """Return a party's own columns of the rows under attack."""
        table: Table = party.x[self.rows].cpu().flatten(1).double().numpy()
        return table

    def predicted(self, party: PassiveParty) -> Table:
        """Return the predictions of a party's own network on its columns."""
        party.net.eval()
        with torch.no_grad():
            logits = party.decide(party.embed_rows(self.rows))
        scores: Table = logits.double().numpy()
        return scores

    def judge(self, scores: Table) -> tuple[float, float]:
        """Return accuracy and AUC on the rows whose labels are not known."""
        # scikit-learn is slow to import
        from sklearn.metrics import roc_auc_score

        y, scores = self.y[~self.known], scores[~self.known]
        accuracy = float((scores.argmax(1) == y).mean())
        present = [c for c in range(self.classes) if 0 < (y == c).mean() < 1]
        areas = [roc_auc_score(y == c, scores[:, c]) for c in present]
        if self.classes == 2:
            areas = [roc_auc_score(y, scores[:, 1] - scores[:, 0])] if present else []
        return accuracy, float(np.mean(areas)) if areas else 0.5
