"""Policy of a node's owner, as a record."""

import json
import math
from dataclasses import dataclass, field, fields
from hashlib import sha256
from pathlib import Path
from typing import Any

from vfl_flower.config.options.privacy import USUAL_BOUND
from vfl_flower.config.schema import kebab
from vfl_flower.config.settings import Settings

_DIGEST = 16
"""Hexadecimal digits of a policy's digest that are told to others."""


@dataclass(frozen=True)
class Key:
    """Help text and limits of one key of a policy file.

    Attributes
    ----------
    text : str
        Help text, with the unit.
    kind : type
        Of its value: bool, int, float, str, or tuple for a list of texts.
    least, most : float
        Inclusive limits of a number.
    """

    text: str
    kind: type
    least: float = 0
    most: float = 10**15


def key(default: Any, text: str, kind: type, **limits: float) -> Any:  # noqa: ANN401
    """Declare a key of a policy file; None is no limit."""
    return field(default=default, metadata={"key": Key(text, kind, **limits)})


def keys_of(record: type) -> dict[str, Key]:
    """Return the keys of a record, by name."""
    return {kebab(f.name): f.metadata["key"] for f in fields(record) if "key" in f.metadata}


@dataclass(frozen=True, kw_only=True)
class DataPolicy:
    """One data set of a node, with its privacy limits.

    Attributes
    ----------
    name : str
        Name of the data set in the policy, under which its privacy account is kept.
    """

    name: str
    tables: tuple[str, ...] = key(
        (), "toml descriptions of the own tables that hold its rows, absolute paths", tuple
    )
    dataset: str = key("", "in place of tables: name of a built-in data set", str)
    adjacency: str = key(
        "party", "unit that the limits below protect: party, all its data, or row, one row", str
    )
    least_sigma: float = key(
        0.0, "least noise on uploads, in multiples of dp-clip; 0: none is asked for", float
    )
    largest_epsilon: float | None = key(
        None, "largest epsilon of client privacy over all runs and for all time", float
    )
    delta: float = key(1e-5, "delta of largest-epsilon", float, least=1e-12, most=0.1)

    @property
    def accounted(self) -> bool:
        """Whether it has a budget over all runs."""
        return self.largest_epsilon is not None

    @property
    def limits_noise(self) -> bool:
        """Whether it says how much noise protects its rows."""
        return self.least_sigma > 0 or self.accounted


@dataclass(frozen=True, kw_only=True)
class Policy:
    """Limits on the runs that a passive party takes part in.

    Without arguments it is the default of a node without a policy file: uploads travel under masks
    only and are bounded, learning rates are limited, initial weights are private, and no module of
    others is imported.

    Attributes
    ----------
    data : tuple of DataPolicy
        Data sets that runs may use; none listed: whatever the node's configuration names.
    own_modules : tuple of str
        Modules that the node's own configuration names; they may be imported too.
    """

    name: str = key("default", "name of the policy, told to the active party", str)
    run_names: tuple[str, ...] = key(
        ("*",), "patterns of the names of runs, with * and ? as in file names", tuple
    )
    methods: tuple[str, ...] = key(
        (), "methods that a run may use; none listed: all that the other rules allow", tuple
    )
    require_secure_aggregation: bool = key(
        True, "refuse runs whose uploads are not summed under pairwise masks", bool
    )
    allow_single_embeddings: bool = key(
        False,
        "accept runs that show single embeddings without masks, or noise that the entry of their "
        "data asks for",
        bool,
    )
    least_colluding_share: float = key(
        1.0, "least colluding-share of runs with masked uploads", float, most=1
    )
    allow_distributed_noise: bool = key(
        False, "accept runs in which other passive parties add a part of the noise", bool
    )
    allow_gradient_defence: bool = key(
        False,
        "accept runs with changed gradients or encoded labels, whose residuals cannot be checked",
        bool,
    )
    allow_cross_products: bool = key(
        False,
        "accept runs that tell the active party products of different parties' columns, as "
        "standard errors need",
        bool,
    )
    allow_missing_parties: bool = key(
        False, "accept runs with rows that some passive parties lack; they learn which", bool
    )
    require_private_weights: bool = key(
        True, "refuse runs whose initial weights the active party can know", bool
    )
    require_embedding_bound: bool = key(
        True, "refuse runs with masked uploads whose rows have no embedding-bound", bool
    )
    largest_embedding_bound: float = key(
        float(USUAL_BOUND),
        "largest embedding-bound of runs with masked uploads; inf: no limit",
        float,
        most=math.inf,
    )
    embedding_defences: tuple[str, ...] = key(
        (),
        "embedding-defence of runs: one of these, as in mid:0.01, or stronger; none listed: any",
        tuple,
    )
    largest_share: float | None = key(
        None,
        "largest share of this party in a masked sum's variance; 1: no limit, but it may be told "
        "to other passive parties",
        float,
        least=0.01,
        most=1,
    )
    largest_learning_rate: float = key(
        10.0, "largest learning rate of this party; inf: no limit", float, most=math.inf
    )
    largest_weight: float = key(
        100.0, "largest largest-weight of runs whose rows have weights", float, least=1
    )
    accept_labels: bool = key(True, "accept runs that give this party training labels", bool)
    label_privacy: tuple[str, ...] = key(
        (), "accepted mechanisms on labels, none among them; none listed: all", tuple
    )
    largest_label_epsilon: float | None = key(None, "largest epsilon of a label", float)
    least_batch_size: int = key(1, "fewest rows a step", int, least=1)
    most_batch_size: int | None = key(None, "most rows a step", int, least=1)
    largest_embedding_dim: int = key(
        4096, "largest embedding-dim, which a network's memory grows with", int, least=1
    )
    most_threads: int = key(64, "most threads of a party", int, least=1)
    most_rows: int | None = key(None, "rows that one run may ask for, over all requests", int)
    most_requests: int | None = key(None, "requests that one run may make", int)
    most_predictions_a_day: int | None = key(
        None, "rows that runs with task predict may ask for in 24 hours", int
    )
    modules: tuple[str, ...] = key(
        (), "patterns of modules with own networks that may be imported", tuple
    )
    peers: tuple[str, ...] = key(
        (), "fingerprints of the identities that may be pinned; none listed: all", tuple
    )
    data: tuple[DataPolicy, ...] = ()
    own_modules: tuple[str, ...] = ()

    def data_of(self, cfg: Settings, rank: int) -> DataPolicy | None:
        """Return the entry for a run's data, or None.

        Parameters
        ----------
        cfg : Settings
            The run's configuration, as the party of that rank has it.
        rank : int
            Whose table it is: 1 to K.
        """
        for entry in self.data:
            if cfg.own_tables and Path(cfg.table_of(rank)) in map(Path, entry.tables):
                return entry
            if not cfg.own_tables and entry.dataset == cfg.dataset:
                return entry
        return None

    def as_file(self) -> dict[str, Any]:
        """Return the content of a policy file, without absent limits."""
        content = _values(self)
        if self.data:
            content["data"] = {entry.name: _values(entry) for entry in self.data}
        return content

    @property
    def digest(self) -> str:
        """First hexadecimal digits of the SHA-256 of all keys."""
        text = json.dumps(self.as_file(), sort_keys=True)
        return sha256(text.encode()).hexdigest()[:_DIGEST]


def _values(record: Policy | DataPolicy) -> dict[str, Any]:
    """Return the values of a record's keys, by name."""
    values = {kebab(f.name): getattr(record, f.name) for f in fields(record) if "key" in f.metadata}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in values.items()
        if value not in (None, "")
    }


OPEN = Policy(
    name="open",
    require_secure_aggregation=False,
    allow_single_embeddings=True,
    least_colluding_share=0.0,
    allow_distributed_noise=True,
    allow_gradient_defence=True,
    allow_cross_products=True,
    allow_missing_parties=True,
    require_private_weights=False,
    require_embedding_bound=False,
    largest_embedding_bound=math.inf,
    largest_share=1.0,
    largest_learning_rate=math.inf,
    largest_weight=10_000.0,
    largest_embedding_dim=10**6,
    most_threads=1024,
    modules=("*",),
)
"""Policy of parties that share one process, and of simulations: every run is allowed."""

SAFE = Policy()
"""Policy of a node between machines whose owner has written none."""
