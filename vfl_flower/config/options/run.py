"""Options of a whole run, and of the parties' own tables."""

from dataclasses import dataclass

from vfl_flower.common.errors import ConfigError
from vfl_flower.common.names import party_name
from vfl_flower.config.dataset_specs import DATASETS
from vfl_flower.config.registry import METHODS
from vfl_flower.config.schema import option, split_list


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Method, task, data set, parties and seed."""

    method: str = option("easter", ", ".join(METHODS), choices=METHODS)
    task: str = option(
        "train",
        "train; align: find the rows that own tables share; predict new ones; or serve predictions",
        choices=("train", "align", "predict", "serve"),
    )
    model: str = option(
        "",
        "run that predicts, or that new parties join",
        path="dir",
        circumstance=True,
    )
    new_parties: int = option(0, "the last parties, which join the model", least=0)
    service: str = option(
        "",
        "task = serve: toml file of the HTTP service, on the active party's machine",
        path="file",
        circumstance=True,
    )
    truth: bool = option(
        False, "task = predict: write the labels of the new rows, too", circumstance=True
    )
    keep_missing: bool = option(
        False,
        "task = predict: write rows that some party lacks, too, without a prediction",
        circumstance=True,
    )
    without: str = option(
        "",
        "passive parties that have left: party-2, or several with commas",
        circumstance=True,
    )
    dataset: str = option("digits", f"one of {', '.join(DATASETS)}", choices=DATASETS)
    parties: int = option(4, "all parties; 4 = 1 active + 3 passive", least=2)
    seed: int = option(0, "known to all: of batches, splits, public randomness", least=0)

    @property
    def left(self) -> frozenset[int]:
        """Ranks of passive parties that have left.

        Raises
        ------
        ConfigError
            If one is named that the run does not have.
        """
        if not self.without:  # uploads look here, and parties may be many
            return frozenset()
        known = {party_name(rank): rank for rank in range(1, self.parties)}
        named = split_list(self.without)
        if unknown := [name for name in named if name not in known]:
            raise ConfigError(
                f"without names {unknown[0]}, which is no passive party of the run; they are "
                f"party-1 to party-{self.parties - 1}"
            )
        return frozenset(known[name] for name in named)

    @property
    def present(self) -> list[int]:
        """Ranks of the passive parties that are there, in order."""
        return sorted({*range(1, self.parties)} - self.left)

    @property
    def joins(self) -> bool:
        """Whether parties that are new join a trained model."""
        return self.new_parties > 0 and self.task == "train"

    @property
    def newcomers(self) -> range:
        """Ranks of the parties that join, or joined, a trained model."""
        return range(self.parties - self.new_parties, self.parties)

    def frozen(self, rank: int) -> bool:
        """Tell whether a party's network stays as the model has it."""
        return self.joins and rank not in self.newcomers

    def sole_newcomer(self, rank: int) -> bool:
        """Tell whether a party alone has joined those whose sums are known."""
        return self.new_parties == 1 and rank in self.newcomers


@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """The parties' own tables (``dataset = own``)."""

    tables: str = option(
        "",
        "the parties' tables, or toml descriptions of them, the active party's first; between "
        "machines its own only, for each node has its table in its own configuration",
        path="file",
        circumstance=True,
    )
    id: str = option(
        "",
        "column or columns of ids in tables without description",
        circumstance=True,
    )
    label: str = option(
        "",
        "column of labels, if no description says which",
        circumstance=True,
    )
    alignment: str = option(
        "",
        "folder that task align filled, between machines its run-name; empty: on one machine a "
        "run begins with an alignment",
        path="dir",
        circumstance=True,
    )
