"""A method's declaration: its two classes, its traits and its own options."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from vfl_flower.common.sources import load_ours


@dataclass(frozen=True, kw_only=True)
class MethodOptions:
    """Options of a method, and facts that follow from their values.

    A method that has options declares them as fields of a subclass, by `option`, and overrides the
    properties below that are not as they are here. This module imports no torch, and neither does
    one that declares a method: `--help`, completion and checks read both.
    """

    @property
    def label_dependent(self) -> bool:
        """Whether the active party sends something that depends on labels."""
        return True

    @property
    def shares_labels(self) -> bool:
        """Whether passive parties get the labels, and with them each other's embeddings."""
        return False

    @property
    def in_turns(self) -> bool:
        """Whether a training step asks one passive party, each in its turn."""
        return False

    @property
    def one_step(self) -> bool:
        """Whether a passive party takes one step on each gradient, at once."""
        return True

    @property
    def share_asked(self) -> float:
        """Share of the passive parties that each training step asks.

        The seed draws them.
        """
        return 1.0

    @property
    def uploads_before_training(self) -> int:
        """Uploads of each training sample before the first step.

        0 if uploads come with steps.
        """
        return 0

    @property
    def uploads_once(self) -> bool:
        """Whether one upload before the first step has all training rows."""
        return False

    @property
    def uploads_in_steps(self) -> bool:
        """Whether steps have uploads, and not all of them come before."""
        return not (self.uploads_once or self.uploads_before_training)

    @property
    def epochs_before_training(self) -> int:
        """Epochs of all stages before the first step."""
        return 0

    @property
    def cut_at(self) -> str:
        """Cut layer between extractor and classifier; empty without one."""
        return ""

    @property
    def adds_up(self) -> bool:
        """Whether the prediction is the sum of all embeddings."""
        return False

    @property
    def default_network(self) -> str:
        """Network of every party for ``models = mixed``; empty: the usual mix."""
        return ""

    @property
    def upload_compression(self) -> str:
        """Compression of the passive parties' uploads, as `COMPRESSIONS` writes it."""
        return "none"

    def default_partition(self, parties: int) -> str:
        """Return the partition for ``partition = auto``; empty: the data set's."""
        return ""

    @property
    def stops_early(self) -> str:
        """Name of the own option of early stopping, if set."""
        return ""

    @property
    def labels_noised(self) -> str:
        """Guarantee of the method's own noise on labels; empty without."""
        return ""

    @property
    def labels_encrypted(self) -> str:
        """Protection of labels by encryption; empty without."""
        return ""

    @property
    def label_exposure(self) -> str:
        """Sentence on labels without label privacy; empty: the general one."""
        return ""

    @property
    def cross_products(self) -> str:
        """Sentence on columns, if the active party learns products of different parties'.

        Each party's policy must allow it then. Empty: it does not.
        """
        return ""

    @property
    def own_protections(self) -> Mapping[str, Mapping[str, Any]]:
        """Acting protections of its own, and options without each."""
        return {}

    @property
    def needs(self) -> Mapping[str, str]:
        """Optional packages of training, each with the option that needs it."""
        return {}

    def learning_rate(self, rank: int) -> float | None:
        """Return a party's learning rate; None: that of ``learning-rates``."""
        return None

    def usual_rate(self, optimizer: str, rate: float) -> float:
        """Return the rate for ``learning-rates = auto``, given an optimizer's."""
        return rate

    def further_rates(self, rank: int) -> tuple[float, ...]:
        """Return the learning rates of a party beside `learning_rate`."""
        return ()


@dataclass(frozen=True, kw_only=True)
class MethodSpec:
    """Where a method's two classes are, and how it behaves.

    Attributes
    ----------
    strategy, client : str
        ``module:Class`` of the active and of the passive party.
    options : type
        Record of its own options.
    checks : tuple of callable
        Each takes (settings, options) and raises `ConfigError` for values that cannot work.
    blinds : bool
        Whether pairwise masks hide the passive parties' uploads; then at least two are needed.
    teaches : bool
        Whether something that depends on labels leaves the active party.
    gradients_only : bool
        Whether all that depends on labels and leaves the active party in a step is gradients, which
        the client's phases declare as such; then ``gradient-defence`` can change them.
    embedding_gradients : bool
        Whether passive parties' embedding nets learn by gradients of their embeddings, to which
        ``embedding-defence`` can then add.
    soft_targets : bool
        Whether all that depends on labels and leaves the active party follows from the targets of
        its loss, which may be distributions; then ``label-encoding`` can change them.
    gives_labels : bool
        Whether passive parties are always given the labels, noised under label privacy.
    label_noise : str
        Mechanism for ``label-privacy = auto``; empty for none.
    alone : bool
        Whether the active party trains without the passive ones, which send nothing.
    pools : bool
        Whether the active party gets everybody's columns, which exists in simulation only.
    standardizes : {"", "embed", "decide"}
        Half of a passive party's network whose output is summed and may be standardised.
    noises : bool
        Whether every upload passes through `ClientPrivacy`, once an exchange.
    noises_gradients : bool
        Whether a passive party's rows change its network through `Tape.backward` alone, once for
        each upload of a batch; then ``dp-adjacency = row`` can noise what they change.
    full_batch : bool
        Whether every step takes all training rows, whatever ``batch-size`` says.
    usual_bound : str
        The ``embedding-bound`` between machines, where uploads are masked; empty: the usual one.
    label_only : bool
        Whether the active party may be without columns (``active-columns = none``).
    network : str
        Network of every party, where the method has no choice of it.
    keeps_gaps : bool
        Whether missing numbers and dates of tables stay NaN; else they are imputed.
    unused : tuple of str
        Options of all methods, by field name, that would change nothing: they keep their defaults.
    own_decisions : bool
        Whether every party decides by a net of its own: one without columns has none.
    additive : bool
        Whether the prediction is a sum of what each party's head says.
    regression : bool
        Whether labels may be numbers.
    weights_secret : bool
        Whether private initial weights keep embedding networks secret.
    allows_missing : bool
        Whether a party which lacks a row adds nothing to a sum, or a placeholder stands for its
        upload; then ``missing-parties`` can be use.
    leaves_out : bool
        Whether `infer` makes predictions of an upload of each party anew, in which zeros can stand
        for one; then the score without it is measured.
    joins : bool
        Whether predictions are a sum to which a new party can add while the others' networks stay
        as they are; then ``new-parties`` can be set.
    column_exposure : str
        Sentence on what uploads without noise show of columns; empty for none.
    """

    strategy: str
    client: str
    options: type[MethodOptions] = MethodOptions
    checks: tuple[Callable[..., None], ...] = ()
    blinds: bool = False
    teaches: bool = True
    gradients_only: bool = False
    embedding_gradients: bool = False
    soft_targets: bool = False
    gives_labels: bool = False
    label_noise: str = ""
    alone: bool = False
    pools: bool = False
    standardizes: Literal["", "embed", "decide"] = ""
    noises: bool = False
    noises_gradients: bool = False
    full_batch: bool = False
    usual_bound: str = ""
    label_only: bool = False
    network: str = ""
    keeps_gaps: bool = False
    unused: tuple[str, ...] = ()
    own_decisions: bool = False
    additive: bool = False
    regression: bool = True
    weights_secret: bool = True
    allows_missing: bool = False
    leaves_out: bool = False
    joins: bool = False
    column_exposure: str = ""

    def load(self) -> tuple[Any, Any]:
        """Import and return the strategy's and the client's class."""
        return load_ours(self.strategy), load_ours(self.client)
