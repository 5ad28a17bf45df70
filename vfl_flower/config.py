"""Everything that a run depends on, in one frozen record.

The same names, in kebab-case, are flags of ``run_simulation.py``, keys of ``conf/*.toml`` and keys
of ``flwr run --run-config``.
"""

import difflib
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any

from vfl_flower.errors import ConfigError
from vfl_flower.registry import METHODS

Scalar = bool | int | float | str


def knob(default: Scalar, group: str, text: str) -> Any:  # noqa: ANN401
    """Declare one field: its default, its group in ``--help``, and what it means with its unit."""
    return field(default=default, metadata={"group": group, "help": text})


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """The configuration of one run; constructing it checks it.

    Raises
    ------
    ConfigError
        If a value cannot work; the text names the knob.
    """

    method: str = knob("easter", "run", f"one of {', '.join(METHODS)}")
    dataset: str = knob(
        "digits",
        "run",
        "digits, mnist, fashion-mnist, cifar10, cifar100 or cinic10; tables: breast-cancer, wine, "
        "adult, breast-cancer-original, pima, credit-default or credit-card-fraud",
    )
    parties: int = knob(4, "run", "all parties; 4 = 1 active + 3 passive")
    seed: int = knob(0, "run", "known to all: batches, splits, and party-randomness if public")

    data_dir: str = knob("data", "data", "folder with data sets, each as it is published")
    download: bool = knob(True, "data", "fetch missing images through torchvision")
    partition: str = knob(
        "auto",
        "data",
        "who holds what: strips[:rows], grid:RxC, columns, overlapping:N, listed:0-3,7;4-6;..., "
        "importance:ALPHA, correlation:BETA; auto: strips of images, columns of tables",
    )
    validation: float = knob(0.1, "data", "share of the training rows held out for validation")

    models: str = knob(
        "mixed",
        "networks",
        "mlp, cnn, lenet, resnet18 (34, 50, 101, 152), vgg16_bn or your own package.module:Class: "
        "one, or a list, active party first; mixed: cnn,lenet,mlp,mlp, in turn (of tables: mlp)",
    )
    weights: str = knob(
        "", "networks", "files of torchvision weights for resnets and vgg16_bn: one, or a list"
    )
    embedding_dim: int = knob(64, "networks", "common embedding width D, numbers a row")

    optimizers: str = knob("adam", "training", "sgd, momentum, adagrad or adam: one, or a list")
    learning_rates: str = knob("auto", "training", "one, or a list; auto is each optimiser's own")
    schedule: str = knob("constant", "training", "learning rate over the run: constant or cosine")
    epochs: int = knob(20, "training", "passes over the training rows")
    batch_size: int = knob(128, "training", "rows a step")
    loss: str = knob("", "training", "cross-entropy or binary-cross-entropy; empty: the method's")

    eval_every: int = knob(0, "evaluation", "steps between evaluations; 0 is once an epoch")
    eval_batch_size: int = knob(4096, "evaluation", "rows an exchange of an evaluation")
    bounds: str = knob("auto", "evaluation", "also train both bounds: on, off, auto (small sets)")

    blinding: str = knob("pairwise", "privacy", "pairwise, or none (for measuring: unprotected)")
    party_randomness: str = knob(
        "auto",
        "privacy",
        "initial weights, dropout: public (from seed) or each party's private; auto: public where "
        "one machine has all parties, else private",
    )

    out: str = knob("", "system", "run folder; empty: a new one under runs/")
    tensorboard: bool = knob(False, "system", "also write TensorBoard's event files")
    checkpoint_every: int = knob(1, "system", "epochs between checkpoints")
    device: str = knob("auto", "system", "where networks compute: cpu, cuda or auto")
    threads: int = knob(1, "system", "torch threads of each party")
    carrier: str = knob("auto", "carrier", "local, messages or stream; auto: local here, or stream")
    run_name: str = knob("", "carrier", "the run's name at every party; empty: Flower's run id")
    stream_listen: str = knob(
        "", "carrier", "where parties dial in, host:port; simulated: loopback"
    )
    stream_advertise: str = knob("", "carrier", "what parties are told to dial, host:port")
    stream_grace: float = knob(60.0, "carrier", "seconds that a connection may be lost")
    answer_timeout: float = knob(600.0, "carrier", "seconds that a party may take to answer")
    return_timeout: float = knob(300.0, "carrier", "seconds to wait for a party that was restarted")
    party_timeout: float = knob(60.0, "system", "seconds to wait for the parties at the start")

    def __post_init__(self) -> None:
        for each in fields(self):
            object.__setattr__(self, each.name, _typed(each, getattr(self, each.name)))
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

    def model_of(self, place: int) -> str:
        """Return the network's name of a party; 0 is the active one."""
        if self.models == "mixed":
            return MIXED[place % len(MIXED)] if self._images() else "mlp"
        return self._listed("models", place)

    def weights_of(self, place: int) -> str:
        """Return the file of a party's published weights, or nothing; 0 is the active party."""
        return self._listed("weights", place)

    def optimizer_of(self, place: int) -> str:
        """Return the optimiser's name of a party; 0 is the active one."""
        return self._listed("optimizers", place)

    def rate_of(self, place: int) -> float:
        """Return the initial learning rate of a party; 0 is the active one."""
        from vfl_flower.optim import DEFAULT_RATES  # torch is heavy, and --help is not

        text = self._listed("learning_rates", place)
        if text == "auto":
            return DEFAULT_RATES[self.optimizer_of(place)]
        return float(text)

    def deal(self) -> tuple[str, Any]:
        """Return the partition's name, a key of `PARTITIONS`, and its argument.

        Raises
        ------
        ConfigError
            If it is not written as it must be.
        """
        from vfl_flower.data import DATASETS, PARTITIONS

        text = self.partition
        if text == "auto":
            text = "strips" if DATASETS[self.dataset].images else "columns"
        name, _, argument = text.partition(":")
        _name("partition", name, PARTITIONS)
        entry = PARTITIONS[name]
        try:
            return name, entry.read(argument)
        except (ValueError, AttributeError, TypeError) as error:
            raise ConfigError(f"partition must be {entry.form}, not '{self.partition}'") from error

    def _images(self) -> bool:
        """Tell whether the parties hold images."""
        from vfl_flower.data import DATASETS, PARTITIONS

        return DATASETS[self.dataset].images and PARTITIONS[self.deal()[0]].images

    def _listed(self, name: str, place: int) -> str:
        entries = split_list(getattr(self, name))
        return entries[place] if len(entries) > 1 else entries[0]


MIXED = ("cnn", "lenet", "mlp", "mlp")
OWN_NETWORK = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
"""A user's network: ``package.module:Class``."""

CARRIERS = ("auto", "local", "messages", "stream")
NAME = re.compile(r"([A-Za-z0-9_][\w.-]{0,99})?", re.ASCII)
"""A run's name becomes a folder's at every party."""

ADDRESS = re.compile(r"([\w.-]+|\[[0-9A-Fa-f:]+\]):\d{1,5}", re.ASCII)

FLOAT32_MAX = 3.4028234e38
LONGEST = 1e9  # seconds; Python cannot wait much longer
CIRCUMSTANCES = (
    *("data-dir", "download", "out", "device", "tensorboard", "party-timeout"),
    *("carrier", "run-name", "stream-listen", "stream-advertise", "stream-grace"),
    *("answer-timeout", "return-timeout"),
)
"""Knobs that say where a run happens, not what it is."""


def differences(kept: RunConfig, asked: RunConfig) -> str:
    """Name the knobs that make two runs different, or nothing."""
    other = asked.identity()
    changed = [(key, value) for key, value in kept.identity().items() if value != other[key]]
    return "; ".join(f"{key} is {value!r}, not {other[key]!r}" for key, value in changed)


def kebab(name: str) -> str:
    """Return a field's public name."""
    return name.replace("_", "-")


def split_list(text: str) -> list[str]:
    """Split a comma list."""
    return [entry.strip() for entry in text.split(",")]


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
            raise ConfigError(f"unknown key '{key}'{_near(key, known)}")
    return {known[key].name: _typed(known[key], value) for key, value in values.items()}


def _near(word: str, known: Mapping[str, object] | tuple[str, ...]) -> str:
    close = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean '{close[0]}'?" if close else f"; known are {', '.join(known)}"


def _typed(each: "Field[Any]", value: object) -> object:
    """Return a field's value in its declared type; an int will do for a float."""
    kind = type(each.default)
    if kind is float and type(value) is int and abs(value) <= FLOAT32_MAX:
        return float(value)
    if type(value) is not kind:
        raise ConfigError(f"{kebab(each.name)} must be of type {kind.__name__}, not {value!r}")
    return value


def check(cfg: RunConfig) -> None:
    """Refuse values that cannot work, before anything is started."""
    from vfl_flower.blinding import BLINDINGS
    from vfl_flower.data import DATASETS
    from vfl_flower.device import DEVICES
    from vfl_flower.losses import LOSSES
    from vfl_flower.optim import OPTIMIZERS, SCHEDULES
    from vfl_flower.randomness import PARTY_RANDOMNESS

    _one_of(cfg, "method", METHODS)
    _one_of(cfg, "dataset", DATASETS)
    cfg.deal()
    _one_of(cfg, "schedule", SCHEDULES)
    _one_of(cfg, "blinding", BLINDINGS)
    _one_of(cfg, "party_randomness", PARTY_RANDOMNESS)
    _one_of(cfg, "bounds", ("auto", "on", "off"))
    _one_of(cfg, "device", DEVICES)
    _one_of(cfg, "carrier", CARRIERS)
    if not NAME.fullmatch(cfg.run_name):
        raise ConfigError(f"run-name must be letters, digits, . - and _, not '{cfg.run_name}'")
    for key, address in (("listen", cfg.stream_listen), ("advertise", cfg.stream_advertise)):
        if address and not ADDRESS.fullmatch(address):
            raise ConfigError(f"stream-{key} must be host:port, not '{address}'")
    if cfg.loss:
        _one_of(cfg, "loss", LOSSES)
    _at_least(cfg, 1, "embedding_dim", "batch_size", "eval_batch_size", "checkpoint_every")
    _at_least(cfg, 1, "threads")
    _at_most(cfg, 10**6, "embedding_dim")
    _at_most(cfg, 1024, "threads")
    _at_most(cfg, 10**9, "epochs")
    _at_least(cfg, 0, "epochs", "seed", "eval_every")
    _at_least(cfg, 2, "parties")
    if not 0 < cfg.validation < 1:
        raise ConfigError(f"validation must lie between 0 and 1, not {cfg.validation}")
    _seconds(cfg, "party_timeout", "stream_grace", "answer_timeout", "return_timeout")
    if cfg.models != "mixed":
        _list_of(cfg, "models", _model)
    _list_of(cfg, "weights", lambda entry: None)
    _list_of(cfg, "optimizers", lambda entry: _name("optimizers", entry, OPTIMIZERS))
    _list_of(cfg, "learning_rates", _rate)
    if METHODS[cfg.method].blinds and cfg.blinding != "none" and cfg.parties < 3:
        raise ConfigError(
            f"{cfg.method} blinds the passive parties' embeddings in their sum, and {cfg.parties} "
            "parties leave one passive party with nothing to hide behind; use parties = 3 or more, "
            "or blinding = none, which protects nothing"
        )


def _name(key: str, entry: str, known: Mapping[str, object] | tuple[str, ...]) -> None:
    if entry not in known:
        raise ConfigError(f"{kebab(key)}: unknown '{entry}'{_near(entry, known)}")


def _one_of(cfg: RunConfig, key: str, known: Mapping[str, object] | tuple[str, ...]) -> None:
    _name(key, getattr(cfg, key), known)


def _at_least(cfg: RunConfig, least: int, *keys: str) -> None:
    for key in keys:
        if getattr(cfg, key) < least:
            raise ConfigError(f"{kebab(key)} must be at least {least}, not {getattr(cfg, key)}")


def _at_most(cfg: RunConfig, most: int, *keys: str) -> None:
    for key in keys:
        if getattr(cfg, key) > most:
            raise ConfigError(f"{kebab(key)} must be at most {most}, not {getattr(cfg, key)}")


def _seconds(cfg: RunConfig, *keys: str) -> None:
    for key in keys:
        if not 0 < getattr(cfg, key) <= LONGEST:
            raise ConfigError(
                f"{kebab(key)} must be positive seconds up to {LONGEST:g}, not {getattr(cfg, key)}"
            )


def _list_of(cfg: RunConfig, key: str, check_entry: Callable[[str], None]) -> None:
    entries = split_list(getattr(cfg, key))
    if len(entries) not in (1, cfg.parties):
        raise ConfigError(
            f"{kebab(key)} lists {len(entries)} values for {cfg.parties} parties; give one for "
            "all, or one for each, the active party's first"
        )
    for entry in entries:
        check_entry(entry)


def _model(entry: str) -> None:
    from vfl_flower.nets import NETWORKS

    if not OWN_NETWORK.fullmatch(entry):
        _name("models", entry, NETWORKS)


def _rate(entry: str) -> None:
    try:
        good = entry == "auto" or 0 < float(entry) <= FLOAT32_MAX
    except ValueError:
        good = False
    if not good:
        raise ConfigError(f"learning-rates must be finite and positive, or auto, not '{entry}'")
