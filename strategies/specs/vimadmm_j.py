"""Declaration of VIMADMM-J; see `strategies.vimadmm_j`."""

from dataclasses import dataclass

from vfl_flower.config.method_spec import MethodSpec
from vfl_flower.config.schema import option

from .admm import ADMMOptions, check_admm


@dataclass(frozen=True, kw_only=True)
class VIMADMMJOptions(ADMMOptions):
    """Options of VIMADMM-J's own."""

    head_steps: str = option(
        "as-program",
        "head and network step together, by one gradient: as-program, at one rate of sgd, or "
        "together, the head at 0.001; or in-turns (as printed), the head at 0.001",
        choices=("as-program", "together", "in-turns"),
        earlier="in-turns",
    )

    @property
    def as_program(self) -> bool:
        """Whether a head and its network step together."""
        return self.head_steps != "in-turns"

    @property
    def at_one_rate(self) -> bool:
        """Whether a head has the rate of its network's SGD."""
        return self.head_steps == "as-program"


SPEC = MethodSpec(
    strategy="strategies.vimadmm_j:VIMADMMJ",
    client="clients.vimadmm_j:VIMADMMJClient",
    options=VIMADMMJOptions,
    checks=(check_admm,),
    soft_targets=True,
    blinds=True,
    noises=True,
    additive=True,
    regression=False,
    label_only=True,
    own_decisions=True,
    embedding_gradients=True,
    allows_missing=True,
    leaves_out=True,
)
