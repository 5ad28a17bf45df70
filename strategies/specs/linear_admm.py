"""Declaration of Linear-ADMM; see `strategies.linear_admm`."""

from dataclasses import dataclass, replace

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.schema import option
from vfl_flower.config.settings import Settings

from .vimadmm_j import SPEC as VIMADMM_J
from .vimadmm_j import VIMADMMJOptions


@dataclass(frozen=True, kw_only=True)
class LinearADMMOptions(VIMADMMJOptions):
    """Options of Linear-ADMM's own."""

    solver: str = option(
        "exact",
        "a party's sub-problem: exact ridge solution, head-rate of the way, or local steps",
        choices=("exact", "steps"),
        earlier="steps",
    )


def check_solver(cfg: Settings, options: LinearADMMOptions) -> None:
    """Refuse ridge solutions without a penalty."""
    if options.solver == "exact" and options.beta == 0:
        raise ConfigError("solver = exact solves with a positive beta; use solver = steps")


SPEC = replace(
    VIMADMM_J,
    strategy="strategies.linear_admm:LinearADMM",
    client="clients.linear_admm:LinearADMMClient",
    options=LinearADMMOptions,
    checks=(*VIMADMM_J.checks, check_solver),
    network="linear",
    embedding_gradients=False,
)
