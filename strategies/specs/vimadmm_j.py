"""Declaration of VIMADMM-J; see `strategies.vimadmm_j`."""

from dataclasses import dataclass

from vfl_flower.config.method_spec import MethodSpec
from vfl_flower.config.schema import option

from .admm import ADMMOptions, check_admm


@dataclass(frozen=True, kw_only=True)
class VIMADMMJOptions(ADMMOptions):
    """Options of VIMADMM-J's own."""

    head_steps: str = option(
        "together",
        "head and network step together, by one gradient (the authors' program), or in-turns "
        "(as printed)",
        choices=("together", "in-turns"),
        earlier="in-turns",
    )

    @property
    def as_program(self) -> bool:
        """Whether a head and its network step together."""
        return self.head_steps == "together"


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
    embedding_gradients=True,
    allows_missing=True,
    leaves_out=True,
)
