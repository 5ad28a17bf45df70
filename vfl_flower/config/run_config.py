"""Everything that a run depends on, in one frozen record.

The same names, in kebab-case, are flags of ``run_simulation.py``, keys of ``conf/*.toml`` and keys
of ``flwr run --run-config``.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import Field, dataclass, fields
from pathlib import Path
from typing import Any

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.catalog import OPTIMIZERS
from vfl_flower.config.dataset_specs import DATASETS
from vfl_flower.config.partition_spec import SCHEMES, PartitionSpec, grid_for
from vfl_flower.config.registry import ALIASES, METHODS
from vfl_flower.config.schema import FLOAT32_MAX, Scalar, kebab, near, option, split_list


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """The configuration of one run; constructing it checks it.

    Raises
    ------
    ConfigError
        If a value cannot work; the text names the knob.
    """

    method: str = option("easter", "run", f"one of {', '.join(METHODS)}")
    task: str = option(
        "train", "run", "train; align: find the rows that own tables share; or predict new ones"
    )
    model: str = option("", "run", "task = predict: the run-name of the run whose model predicts")
    dataset: str = option(
        "digits",
        "run",
        "digits, mnist, fashion-mnist, cifar10, cifar100, cinic10 or modelnet40; tables: "
        "breast-cancer, wine, adult, breast-cancer-original, pima, credit-default, "
        "credit-card-fraud, nus-wide or own",
    )
    parties: int = option(4, "run", "all parties; 4 = 1 active + 3 passive")
    seed: int = option(0, "run", "known to all: batches, splits, and party-randomness if public")

    tables: str = option(
        "",
        "tables",
        "with dataset own: toml descriptions of the parties' tables, the active party's first; "
        "between machines its own only, for each node has its table in its own configuration",
    )
    alignment: str = option(
        "",
        "tables",
        "which rows of own tables belong together: the folder that task align filled, between "
        "machines its run-name; empty: on one machine a run begins with it",
    )

    data_dir: str = option("data", "data", "folder with data sets, each as it is published")
    download: bool = option(True, "data", "fetch missing images through torchvision")
    partition: str = option(
        "auto",
        "data",
        "who holds what: strips[:rows], grid:RxC, columns, overlapping:N, listed:0-3,7;4-6;..., "
        "importance:ALPHA, correlation:BETA; auto: strips of images (adptvfedconv: grid), columns "
        "of tables. @0,3-5/14 behind it: of 14 shares only these",
    )
    active_columns: str = option(
        "own",
        "data",
        "own, or none: the active party has labels only, the columns go to the others, and the "
        "bound local is the share of the most frequent class",
    )
    column_noise: str = option(
        "",
        "data",
        "Gaussian noise on parties' scaled columns, place:deviation, as in 3:0.5,7:10; place 0 is "
        "the active party. The bound central has none",
    )
    long_tail: float = option(
        1.0,
        "data",
        "the classes' training rows thinned at the active party, in order, down to one in so many; "
        "1: all rows stay",
    )
    validation: float = option(0.1, "data", "share of the training rows held out for validation")
    train_rows: int = option(
        0, "data", "how many of the others are used, drawn by the seed, for a quick trial; 0: all"
    )

    models: str = option(
        "mixed",
        "networks",
        "mlp, cnn, lenet, linear, vim-mlp, vim-cnn, resnet18 (34, 50, 101, 152), vgg16_bn or your "
        "own package.module:Class: one, or a list, active party first; mixed: cnn,lenet,mlp,mlp, "
        "in turn (of tables: mlp); linear_admm's are linear, adptvfedconv's vgg16_bn or your own",
    )
    weights: str = option(
        "", "networks", "files of torchvision weights for resnets and vgg16_bn: one, or a list"
    )
    top_layers: int = option(
        0,
        "networks",
        "linear layers of the active party's decision net, but an own network's, or of vimadmm's "
        "heads; 0: the method's",
    )
    embedding_dim: int = option(64, "networks", "common embedding width D, numbers a row")

    optimizers: str = option("adam", "training", "sgd, momentum, adagrad or adam: one, or a list")
    learning_rates: str = option("auto", "training", "one, or a list; auto is each optimiser's own")
    schedule: str = option("constant", "training", "learning rate over the run: constant or cosine")
    epochs: int = option(20, "training", "passes over the training rows")
    batch_size: int = option(128, "training", "rows a step")
    stop_drop: float = option(
        0.0,
        "training",
        "percentage points: training ends when the validation accuracy, a mean over the models, is "
        "more than this below its best; 0: it does not",
    )
    keep: str = option(
        "last",
        "training",
        "whose weights count at the end: last, or best, those of the best validation accuracy",
    )
    loss: str = option(
        "",
        "training",
        "cross-entropy, binary-cross-entropy, or mean-squared-error of a regression; empty: the "
        "method's",
    )
    class_weights: str = option(
        "none",
        "training",
        "what rows count in the loss: none, all alike, or balanced, all classes alike",
    )

    eval_every: int = option(0, "evaluation", "steps between evaluations; 0 is once an epoch")
    eval_batch_size: int = option(4096, "evaluation", "rows an exchange of an evaluation")
    bounds: str = option("auto", "evaluation", "also train both bounds: on, off, auto (small sets)")

    blinding: str = option(
        "auto",
        "privacy",
        "pairwise, or none (for measuring: unprotected); auto: pairwise where the method can",
    )
    party_randomness: str = option(
        "auto",
        "privacy",
        "initial weights, dropout: public (from seed) or each party's private; auto: public where "
        "one machine has all parties, else private",
    )

    label_privacy: str = option(
        "auto",
        "privacy",
        "noise on the labels before anything leaves the active party: none, laplace, "
        "randomized-response or alibi; auto: pravfed's randomized-response, else none",
    )
    label_epsilon: float = option(1.0, "privacy", "the guarantee that label-privacy gives a label")
    label_sensitivity: float = option(
        2.0,
        "privacy",
        "L1 sensitivity of a one-hot label that Laplace noise is scaled to; 2 is true",
    )
    force_sensitivity: bool = option(
        False, "privacy", "accept a label-sensitivity below 2, and report the run as not private"
    )

    dp_sigma: float = option(
        0.0,
        "privacy",
        "noise on all that passive parties send, in multiples of dp-clip; 0: none, or as little as "
        "target-epsilon needs",
    )
    dp_clip: float = option(1.0, "privacy", "Frobenius norm that an upload is clipped to")
    dp_delta: float = option(1e-5, "privacy", "delta of each passive party's epsilon")
    target_epsilon: float = option(
        0.0, "privacy", "what a passive party's epsilon may reach before training ends; 0: anything"
    )
    dp_eval: str = option(
        "noised",
        "privacy",
        "uploads in evaluations: noised, or clear, which makes epsilon infinite",
    )
    dp_accountant: str = option("rdp", "privacy", "bound of epsilon: rdp, or pld (tighter, slower)")

    local_epochs: int = option(
        4,
        "local",
        "epochs that passive parties train by themselves: pravfed's on noisy labels, "
        "adptvfedconv's, at most, on their tiles",
    )
    local_output: str = option(
        "raw", "pravfed", "what the local squared error compares: raw outputs or their softmax"
    )
    aggregation: str = option(
        "weighted", "pravfed", "of embeddings: weighted by accuracy, or average"
    )

    cut: str = option(
        "auto",
        "adptvfedconv",
        "where networks are cut into extractor and classifier: vgg16_bn's behind so many blocks of "
        "convolution and so many poolings, 1C, 2C, 2C+1M and so on; your own's by its names; auto: "
        "2C+1M",
    )
    width: float = option(
        1.0, "adptvfedconv", "vgg16_bn's channels and hidden layers, multiplied by this"
    )
    padding: str = option(
        "replicate", "adptvfedconv", "what extractors' convolutions pad tiles with: or zeros"
    )
    model_transfer: bool = option(
        True, "adptvfedconv", "whether passive parties start from the active party's extractor"
    )
    pretrain_epochs: int = option(
        20, "adptvfedconv", "epochs of the active party alone on its tile, before all else"
    )
    extractor_rate: float = option(
        1e-5, "adptvfedconv", "learning rate at which passive parties fine-tune the extractor"
    )
    decoder_rate: float = option(
        1e-3,
        "adptvfedconv",
        "learning rate of their decoders, and of extractors without model-transfer",
    )
    local_patience: int = option(
        2,
        "adptvfedconv",
        "epochs without a smaller error of reconstruction on validation rows, after which a "
        "passive party ends its fine-tuning; 0: it does not",
    )
    views: int = option(
        1,
        "adptvfedconv",
        "how often each training row is sent: as it is, and augmented; with more than one, all "
        "other training is on augmented tiles too",
    )
    augment: str = option(
        "flip-crop",
        "adptvfedconv",
        "what is done to rows in further views: flip-crop, flip or crop",
    )

    top_gradient: str = option(
        "before",
        "baselines",
        "splitnn's gradients of the top model: before or after its own step",
    )
    compression: str = option(
        "auto",
        "baselines",
        "c_vfl's embeddings and adptvfedconv's feature maps: topk:SHARE of each row, quantize:BITS "
        "a number, float16, or none; auto: c_vfl's quantize:8, else none",
    )
    local_steps: int = option(
        4,
        "baselines",
        "steps of every party between exchanges: fedbcd's and c_vfl's Q, tau of the ADMM's",
    )
    share_labels: bool = option(
        False,
        "baselines",
        "c_vfl as published: passive parties are given the labels and others' embeddings",
    )
    vafl_mode: str = option(
        "synchronous",
        "baselines",
        "vafl: synchronous, all parties in every step, or asynchronous, one passive party in turn",
    )

    rho: float = option(1.0, "admm", "penalty factor")
    beta: float = option(0.005, "admm", "weight of the heads' squared norm")
    heads: str = option(
        "sgd", "admm", "vimadmm's heads: one sgd step a round, or the damped ridge solution"
    )
    head_rate: float = option(
        0.0, "admm", "sgd's rate for heads, or ridge's share of the way; 0: 0.001, or 1 / parties"
    )
    participation: float = option(1.0, "admm", "share of the passive parties that a round asks")

    out: str = option("", "system", "run folder; empty: a new one under runs/")
    tensorboard: bool = option(False, "system", "also write TensorBoard's event files")
    checkpoint_every: int = option(1, "system", "epochs between checkpoints")
    device: str = option("auto", "system", "where networks compute: cpu, cuda or auto")
    threads: int = option(1, "system", "torch threads of each party")
    carrier: str = option("auto", "carrier", "local, messages or stream; auto: local or stream")
    run_name: str = option("", "carrier", "the run's name at every party; empty: Flower's run id")
    stream_listen: str = option(
        "", "carrier", "where parties dial in, host:port; simulated: loopback"
    )
    stream_advertise: str = option("", "carrier", "what parties are told to dial, host:port")
    stream_grace: float = option(60.0, "carrier", "seconds that a connection may be lost")
    answer_timeout: float = option(600.0, "carrier", "seconds that a party may take to answer")
    return_timeout: float = option(300.0, "carrier", "seconds to wait for a restarted party")
    party_timeout: float = option(60.0, "system", "seconds to wait for the parties at the start")

    def __post_init__(self) -> None:
        for each in fields(self):
            object.__setattr__(self, each.name, _typed(each, getattr(self, each.name)))
        object.__setattr__(self, "method", ALIASES.get(self.method, self.method))
        from vfl_flower.config.validation.rules import check  # it builds on this module

        check(self)

    @classmethod
    def from_mapping(cls, values: Mapping[str, object]) -> "RunConfig":
        """Make a configuration from kebab-case keys.

        Raises
        ------
        ConfigError
            For an unknown key, a wrong type or a value that cannot work.
        """
        return cls(**_fields_of(values))  # type: ignore[arg-type]

    def to_mapping(self) -> dict[str, Scalar]:
        """Return all values under their kebab-case keys."""
        return {kebab(each.name): getattr(self, each.name) for each in fields(self)}

    def identity(self) -> dict[str, Scalar]:
        """Return the values that make a run what it is; the others may change at a resume."""
        return {k: v for k, v in self.to_mapping().items() if k not in CIRCUMSTANCES}

    @property
    def blinded(self) -> bool:
        """Whether embeddings travel under masks."""
        return METHODS[self.method].blinds and self.blinding != "none"

    @property
    def noised(self) -> bool:
        """Whether passive parties noise what they send."""
        return self.dp_sigma > 0 or self.target_epsilon > 0

    @property
    def labels_shared(self) -> bool:
        """Whether passive parties are given what teaches, and with it each other's embeddings."""
        return METHODS[self.method].shares and self.share_labels

    @property
    def labels_given(self) -> bool:
        """Whether passive parties are given what teaches, be it labels or noised ones."""
        return self.labels_shared or METHODS[self.method].gives

    @property
    def label_noise(self) -> str:
        """The mechanism that noises labels before they teach others, or nothing."""
        chosen = (
            METHODS[self.method].label_noise if self.label_privacy == "auto" else self.label_privacy
        )
        return "" if chosen == "none" else chosen

    @property
    def holders(self) -> int:
        """How many parties hold columns: all, or the passive ones alone."""
        return self.parties - (self.active_columns == "none")

    @property
    def in_turns(self) -> bool:
        """Whether a step of training asks one passive party, each in its turn."""
        return self.method == "vafl" and self.vafl_mode == "asynchronous"

    @property
    def own_tables(self) -> bool:
        """Whether every party's columns come from a table of its own."""
        return self.dataset == "own"

    def table_of(self, rank: int) -> str:
        """Return the description of a party's own table; 0 is the active party."""
        return self._listed("tables", rank)

    @property
    def asks_all(self) -> bool:
        """Whether every step of training asks every passive party."""
        return not self.in_turns and self.participation == 1

    @property
    def cut_at(self) -> str:
        """Where networks are cut into extractor and classifier; empty if they are not."""
        if self.cut != "auto":
            return self.cut
        return "2C+1M" if METHODS[self.method].maps else ""

    @property
    def teaches(self) -> bool:
        """Whether something that depends on labels leaves the active party."""
        method = METHODS[self.method]
        return method.teaches and not (method.maps and not self.model_transfer)

    @property
    def compressed(self) -> str:
        """How embeddings are compressed: what `compression` says, or the method's own way."""
        if self.compression != "auto":
            return self.compression
        return "quantize:8" if self.method == "c_vfl" else "none"

    def blank(self, rank: int) -> bool:
        """Tell whether a party has no columns, and a network that does nothing."""
        return rank == 0 and self.holders < self.parties and not METHODS[self.method].pools

    def model_of(self, rank: int) -> str:
        """Return the network's name of a party, none if it is blank; 0 is the active one."""
        return "none" if self.blank(rank) else self.listed_model(rank)

    def listed_model(self, rank: int) -> str:
        """Return the network's name that `models` has for a party, be it blank or not."""
        if prescribed := METHODS[self.method].network:
            return prescribed
        if self.cut_at and self.models == "mixed":
            return "vgg16_bn"
        if self.models == "mixed":
            return MIXED[rank % len(MIXED)] if self._images() else "mlp"
        return self._listed("models", rank)

    def noises(self) -> dict[int, float]:
        """Return the deviation of the noise on parties' columns, by place, where there is some.

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
                "column-noise must be place:deviation, more of them with commas, as in 3:0.5,7:10, "
                f"not '{self.column_noise}'"
            ) from error
        if len({rank for rank, _ in pairs}) < len(pairs):
            raise ConfigError(f"column-noise names a place twice: '{self.column_noise}'")
        return dict(pairs)

    def weights_of(self, rank: int) -> str:
        """Return the file of a party's published weights, or nothing; 0 is the active party."""
        return self._listed("weights", rank)

    def optimizer_of(self, rank: int) -> str:
        """Return the optimiser's name of a party; 0 is the active one."""
        return self._listed("optimizers", rank)

    def rate_of(self, rank: int) -> float:
        """Return the initial learning rate of a party; 0 is the active one."""
        if METHODS[self.method].maps and rank:
            return self.decoder_rate
        text = self._listed("learning_rates", rank)
        if text == "auto":
            return OPTIMIZERS[self.optimizer_of(rank)].rate
        return float(text)

    @property
    def dealt(self) -> str:
        """How columns are dealt out: what `partition` says, with the usual way in place of auto."""
        usual = "strips" if DATASETS[self.dataset].images else "columns"
        if METHODS[self.method].maps:
            usual = grid_for(self.parties)
        made, *kept = self.partition.partition("@")
        return "".join([usual if made == "auto" else made, *kept])

    def deal(self) -> PartitionSpec:
        """Return how columns are dealt out.

        Raises
        ------
        ConfigError
            If it is not written as it must be.
        """
        try:
            return PartitionSpec.read(self.dealt)
        except KeyError as error:
            raise ConfigError(
                f"partition: unknown {error}{near(error.args[0], SCHEMES)}"
            ) from error
        except ValueError as error:
            raise ConfigError(f"partition must be {error}, not '{self.partition}'") from error

    def _images(self) -> bool:
        """Tell whether the parties hold images."""
        return DATASETS[self.dataset].images and self.deal().images

    def _listed(self, name: str, rank: int) -> str:
        entries = split_list(getattr(self, name))
        return entries[rank] if len(entries) > 1 else entries[0]


MIXED = ("cnn", "lenet", "mlp", "mlp")
UNNOISED = {
    key: getattr(RunConfig, key)
    for key in ("dp_sigma", "dp_clip", "dp_delta", "target_epsilon", "dp_eval", "dp_accountant")
}
"""The fields of client-level differential privacy, as they are without."""


CIRCUMSTANCES = (
    *(
        "model",
        "tables",
        "alignment",
        "data-dir",
        "download",
        "out",
        "device",
        "tensorboard",
        "party-timeout",
    ),
    *("carrier", "run-name", "stream-listen", "stream-advertise", "stream-grace"),
    *("answer-timeout", "return-timeout"),
)
"""Knobs that say where a run happens, not what it is."""


def differences(kept: RunConfig, asked: RunConfig) -> str:
    """Name the knobs that make two runs different, or nothing."""
    other = asked.identity()
    changed = [(key, value) for key, value in kept.identity().items() if value != other[key]]
    return "; ".join(f"{key} is {value!r}, not {other[key]!r}" for key, value in changed)


def read_toml(path: Path) -> dict[str, object]:
    """Read a flat toml file of knobs.

    Raises
    ------
    ConfigError
        If it cannot be read, or has an unknown key or a wrong type; the text names the file.
    """
    try:
        values = tomllib.loads(path.read_text())
        _fields_of(values)
    except (OSError, ValueError) as error:  # of which bad toml and bad text are kinds
        raise ConfigError(f"{path} cannot be read as toml: {error}") from error
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error
    return values


def _fields_of(values: Mapping[str, object]) -> dict[str, object]:
    """Return values under their fields' names, checked for names and types."""
    known = {kebab(each.name): each for each in fields(RunConfig)}
    for key, value in values.items():
        if isinstance(value, dict):
            raise ConfigError(f"'{key}' is a table; all keys stand at the top level")
        if key not in known:
            raise ConfigError(f"unknown key '{key}'{near(key, known)}")
    return {known[key].name: _typed(known[key], value) for key, value in values.items()}


def _typed(each: "Field[Any]", value: object) -> object:
    """Return a field's value in its declared type; an int will do for a float."""
    kind = type(each.default)
    if kind is float and type(value) is int and abs(value) <= FLOAT32_MAX:
        return float(value)
    if type(value) is not kind:
        raise ConfigError(f"{kebab(each.name)} must be of type {kind.__name__}, not {value!r}")
    return value
