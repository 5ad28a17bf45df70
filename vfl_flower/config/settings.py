"""Settings: values of all options of a run, and derived facts."""

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, TypeVar

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.catalog import FLOAT32
from vfl_flower.config.dataset_specs import DATASETS
from vfl_flower.config.method_spec import MethodOptions, MethodSpec
from vfl_flower.config.optimization.optimizers import read_optimizer
from vfl_flower.config.options.data import DataOptions
from vfl_flower.config.options.networks import MIXED, NetworkOptions
from vfl_flower.config.options.privacy import (
    USUAL_BOUND,
    ClientPrivacyOptions,
    LabelPrivacyOptions,
    PrivacyOptions,
)
from vfl_flower.config.options.run import RunOptions, TableOptions
from vfl_flower.config.options.split_specs import SPLITS, SplitSpec, read_fold
from vfl_flower.config.options.system import SystemOptions, TransportOptions
from vfl_flower.config.options.training import EvaluationOptions, TrainingOptions
from vfl_flower.config.partition_spec import SCHEMES, PartitionSpec, form_hint
from vfl_flower.config.registry import spec_of
from vfl_flower.config.schema import choices, declared_in, split_list

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

GROUPS: dict[str, "type[DataclassInstance]"] = {
    "Run": RunOptions,
    "Own tables": TableOptions,
    "Data": DataOptions,
    "Networks": NetworkOptions,
    "Training": TrainingOptions,
    "Evaluation": EvaluationOptions,
    "Privacy": PrivacyOptions,
    "Label privacy": LabelPrivacyOptions,
    "Client-level privacy": ClientPrivacyOptions,
    "System": SystemOptions,
    "Transport": TransportOptions,
}
"""Options that all methods have, by their titles in ``--help``."""

UNNOISED = {each.name: each.default for each in declared_in(ClientPrivacyOptions)}
"""The fields of client-level differential privacy, as they are without."""

Own = TypeVar("Own")


@dataclass(frozen=True, kw_only=True)
class Settings(  # fields come in the order of bases from the last to the first
    TransportOptions,
    SystemOptions,
    ClientPrivacyOptions,
    LabelPrivacyOptions,
    PrivacyOptions,
    EvaluationOptions,
    TrainingOptions,
    NetworkOptions,
    DataOptions,
    TableOptions,
    RunOptions,
):
    """Values of all options of a run, unchecked.

    Attributes
    ----------
    options : MethodOptions
        Options of the method's own.
    """

    options: MethodOptions = field(default=MethodOptions())

    @property
    def spec(self) -> MethodSpec:
        """Declaration of the method."""
        return spec_of(self.method)

    def own(self, kind: type[Own]) -> Own:
        """Return the method's own options, checked to be of a type."""
        if not isinstance(self.options, kind):
            raise ConfigError(f"{self.method} has no {kind.__name__}")
        return self.options

    @property
    def predicts(self) -> bool:
        """Whether a trained model predicts, once or as a service."""
        return self.task in ("predict", "serve")

    @property
    def trackers(self) -> list[str]:
        """Names of the trackers that the run is sent to, each once."""
        named = split_list(self.track) if self.track else []
        return [*dict.fromkeys([*["tensorboard"] * self.tensorboard, *named])]

    # Privacy -----------------------------------------------------------------------------------

    @property
    def blinded(self) -> bool:
        """Whether embeddings travel under masks."""
        return self.spec.blinds and self.blinding != "none"

    @property
    def row_bound(self) -> float | None:
        """Largest Euclidean norm of a summed upload's rows; None for unbounded."""
        if self.embedding_bound == "auto" and self.narrow and self.blinded:
            return float(USUAL_BOUND)
        if self.embedding_bound in ("auto", "none"):
            return None
        return float(self.embedding_bound)

    @property
    def narrow(self) -> bool:
        """Whether numbers travel in 16 bits or fewer."""
        return self.wire_precision != FLOAT32

    def threads_in(self, training: bool) -> int:
        """Return the torch threads of each party, in training or in evaluations."""
        return self.threads if training else self.eval_threads or self.threads

    @property
    def labels_shared(self) -> bool:
        """Whether passive parties are given training labels and each other's embeddings."""
        return self.options.shares_labels

    @property
    def labels_given(self) -> bool:
        """Whether passive parties are given training labels, true or noised."""
        return self.labels_shared or self.spec.gives_labels

    @property
    def label_noise(self) -> str:
        """Mechanism that noises labels before they teach others, or nothing."""
        chosen = self.spec.label_noise if self.label_privacy == "auto" else self.label_privacy
        return "" if chosen == "none" else chosen

    @property
    def teaches(self) -> bool:
        """Whether something that depends on labels leaves the active party."""
        return self.spec.teaches and self.options.label_dependent

    # Rows ---------------------------------------------------------------------------------------

    @property
    def split_spec(self) -> SplitSpec:
        """Declaration of the way to split rows."""
        return SPLITS[self.split]

    @property
    def split_told(self) -> bool:
        """Whether only the active party can split the rows."""
        kept = self.joins and self.own_tables  # as it was for the model
        return (kept or bool(self.split_spec.source)) and self.task == "train"

    @property
    def fold_of(self) -> tuple[int, int] | None:
        """Number of the tested fold, and of all folds, if any."""
        return read_fold(self.fold)

    @property
    def least_present(self) -> int:
        """Number of passive parties that must have a row."""
        hidden = 2 if self.blinded else 0
        return max(self.least_parties, hidden + (self.holders < self.parties))

    def rows_of_step(self, train_rows: int) -> int:
        """Return the rows of a training step."""
        return train_rows if self.spec.full_batch else self.batch_size

    # Parties -----------------------------------------------------------------------------------

    @property
    def holders(self) -> int:
        """Number of parties that hold columns: all, or the passive ones alone."""
        return self.parties - (self.active_columns == "none")

    @property
    def asks_all(self) -> bool:
        """Whether every step of training asks every passive party."""
        return not self.options.in_turns and self.options.share_asked == 1

    @property
    def own_tables(self) -> bool:
        """Whether every party's columns come from a table of its own."""
        return self.dataset == "own"

    def table_of(self, rank: int) -> str:
        """Return a party's own table or its description, by rank."""
        return self._listed("tables", rank)

    def noises(self) -> dict[int, float]:
        """Return the deviations of column noise, by rank.

        Raises
        ------
        ConfigError
            If it is not written as it must be.
        """
        entries = split_list(self.column_noise) if self.column_noise else []
        try:
            pairs = [(int(rank), float(noise)) for rank, noise in (e.split(":") for e in entries)]
        except ValueError as error:
            raise ConfigError(
                "column-noise must be rank:deviation, more of them with commas, as in 3:0.5,7:10, "
                f"not '{self.column_noise}'"
            ) from error
        if len({rank for rank, _ in pairs}) < len(pairs):
            raise ConfigError(f"column-noise names a rank twice: '{self.column_noise}'")
        return dict(pairs)

    # Networks and optimizers -------------------------------------------------------------------

    @property
    def trains_networks(self) -> bool:
        """Whether the parties learn networks of `models`."""
        return "models" not in self.spec.unused

    def blank(self, rank: int) -> bool:
        """Tell whether a party has no columns and a blank network."""
        return rank == 0 and self.holders < self.parties and not self.spec.pools

    def model_of(self, rank: int) -> str:
        """Return a party's network name by rank; none if it is blank."""
        return "none" if self.blank(rank) else self.listed_model(rank)

    def listed_model(self, rank: int) -> str:
        """Return the entry of `models` for a party, blank or not."""
        if self.spec.network:
            return self.spec.network
        if self.models != "mixed":
            return self._listed("models", rank)
        if self.options.default_network:
            return self.options.default_network
        return MIXED[rank % len(MIXED)] if self._images() else "mlp"

    def weights_of(self, rank: int) -> str:
        """Return the file of a party's published weights, or nothing."""
        return self._listed("weights", rank)

    def optimizer_of(self, rank: int) -> str:
        """Return a party's optimizer with its arguments, by rank."""
        return self._listed("optimizers", rank)

    def rate_of(self, rank: int) -> float:
        """Return the initial learning rate of a party, by rank."""
        prescribed = self.options.learning_rate(rank)
        if prescribed is not None:
            return prescribed
        text, optimizer = self._listed("learning_rates", rank), self.optimizer_of(rank)
        if text == "auto":
            name = optimizer.partition(":")[0]
            return self.options.usual_rate(name, read_optimizer(optimizer)[0].rate)
        return float(text)

    def steps_of(self, rank: int) -> str:
        """Return a party's optimizer and rate, where the method uses them."""
        used = {"optimizers": self.optimizer_of(rank), "learning_rates": f"{self.rate_of(rank):g}"}
        return " ".join(text for name, text in used.items() if name not in self.spec.unused)

    # Partition ---------------------------------------------------------------------------------

    @property
    def partition_text(self) -> str:
        """The option `partition`, with the usual scheme in place of auto."""
        usual = "strips" if DATASETS[self.dataset].images else "columns"
        usual = self.options.default_partition(self.parties) or usual
        made, *kept = self.partition.partition("@")
        return "".join([usual if made == "auto" else made, *kept])

    def partition_spec(self) -> PartitionSpec:
        """Return how columns are split over the parties.

        Raises
        ------
        ConfigError
            If it is not written as it must be.
        """
        try:
            return PartitionSpec.read(self.partition_text)
        except KeyError as error:
            name = error.args[0]
            raise ConfigError(
                f"unknown partition '{name}'{form_hint(name)}{choices(name, SCHEMES)}"
            ) from error
        except ValueError as error:
            raise ConfigError(f"partition must be {error}, not '{self.partition}'") from error

    def _images(self) -> bool:
        """Tell whether the parties hold images."""
        return DATASETS[self.dataset].images and self.partition_spec().images

    def _listed(self, name: str, rank: int) -> str:
        entries = split_list(getattr(self, name))
        return entries[rank] if len(entries) > 1 else entries[0]


COMMON = {each.name: each for each in fields(Settings) if "option" in each.metadata}
"""Fields of options that all methods have, by name."""
