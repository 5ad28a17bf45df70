"""Declaration of FDML; see `strategies.fdml`."""

from dataclasses import dataclass
from typing import TypeVar

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.method_spec import MethodOptions, MethodSpec
from vfl_flower.config.schema import option
from vfl_flower.config.settings import Settings

Number = TypeVar("Number")


@dataclass(frozen=True, kw_only=True)
class FDMLOptions(MethodOptions):
    """Options of FDML's own."""

    prediction: str = option(
        "sum",
        "the one prediction of all parties: the sum of their logits, or the mean",
        choices=("sum", "mean"),
        earlier="mean",
    )
    staleness: int = option(
        0,
        "by how many steps at most a passive party's own steps lag behind the exchanges; each "
        "time by a number drawn from the seed; 0: by none",
        least=0,
        most=100,
    )

    @property
    def one_step(self) -> bool:
        """Whether a passive party takes its step at once."""
        return not self.staleness

    def divisor(self, summands: Number) -> Number | int:
        """Return the number that the sum of all logits is divided by.

        `summands` is the number of parties in it, or that of each row.
        """
        return summands if self.prediction == "mean" else 1


def check_staleness(cfg: Settings, options: FDMLOptions) -> None:
    """Refuse late steps on rows that some party lacks."""
    if options.staleness and cfg.uses_missing:
        raise ConfigError(
            f"missing-parties is use, and staleness is {options.staleness}, whose late steps are "
            "of whole batches; use staleness = 0"
        )


SPEC = MethodSpec(
    strategy="strategies.fdml:FDML",
    client="clients.fdml:FDMLClient",
    options=FDMLOptions,
    checks=(check_staleness,),
    blinds=True,
    standardizes="decide",
    noises=True,
    noises_gradients=True,
    gives_labels=True,
    label_only=True,
    own_decisions=True,
    embedding_gradients=True,
    allows_missing=True,
    leaves_out=True,
    joins=True,
)
