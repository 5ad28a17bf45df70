"""Explanations of whole runs: each party, or the columns of one."""

from dataclasses import asdict, dataclass
from typing import Any

from vfl_flower.analysis.explain.choices import How
from vfl_flower.analysis.explain.groups import named, of_columns, of_parties
from vfl_flower.analysis.explain.permutation import LEVEL, Drops, drops_of, panel_of
from vfl_flower.common.files import json_bytes, write_atomically
from vfl_flower.common.names import party_name
from vfl_flower.data.held_columns import holds
from vfl_flower.data.loading import run_data
from vfl_flower.runs.run_folder import RunFolder

FILE = "explanation.json"
"""In a party's own folder: the importance of its columns."""


@dataclass(frozen=True)
class Counted:
    """Importance of each party, or of each column of one party.

    Attributes
    ----------
    how : How
        What was asked for.
    rows : int
        How many.
    holds : list of str
        What each party holds; empty for columns.
    found : Drops
        What the score loses for each of them.
    """

    how: How
    rows: int
    holds: list[str]
    found: Drops

    def told(self, what: str) -> dict[str, Any]:
        """Return all of it as JSON values.

        Parameters
        ----------
        what : {"party", "column"}
            What was permuted.
        """
        entries = []
        for number, each in enumerate(self.found.drops):
            entry = {what: each.name, **asdict(each)}
            del entry["name"]
            if self.holds:
                entry["holds"] = self.holds[number]
            entries.append(entry)
        return {
            "rows": self.how.rows,
            "count": self.rows,
            "repeats": self.how.repeats,
            "level": LEVEL,
            "metric": self.found.metric,
            "score": self.found.score,
            {"party": "parties", "column": "columns"}[what]: entries,
        }


def explain_parties(folder: RunFolder, how: How) -> Counted:
    """Measure the importance of each party of a complete run.

    Parameters
    ----------
    folder : RunFolder
        The run's, with the models of all parties.
    how : How
        On which rows, how often, by which metric.

    Raises
    ------
    VflError
        See `panel_of` and `drops_of`.
    """
    panel = panel_of(folder, how)
    cfg, groups = panel.active.cfg, of_parties(panel.parties)
    active = panel.active.data
    if cfg.spec.pools:
        active = run_data(cfg, split=active.split).party(0, labelled=False)
    data = [active, *(party.data for party in panel.passive)][-cfg.holders :]
    texts = [holds(cfg, each) for each in data]
    return Counted(how, len(panel.rows), texts, drops_of(panel, groups))


def explain_columns(folder: RunFolder, party: str, how: How) -> Counted:
    """Measure the importance of one party's columns, for its own folder.

    It is written there, and nobody else is told; see `explain_parties` for the parameters.

    Raises
    ------
    ConfigError
        If no party with columns has that name.
    RunError
        If it cannot be written.
    """
    panel = panel_of(folder, how)
    holder = named(panel.parties, party)
    found = Counted(how, len(panel.rows), [], drops_of(panel, of_columns(holder)))
    content = {"party": party_name(holder.rank), **found.told("column")}
    write_atomically(folder.path / party_name(holder.rank) / FILE, json_bytes(content))
    return found
