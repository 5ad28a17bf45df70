"""Declaration of VIMADMM-J; see `strategies.vimadmm_j`."""

from vfl_flower.config.method_spec import MethodSpec

from .admm import ADMMOptions, check_admm

SPEC = MethodSpec(
    strategy="strategies.vimadmm_j:VIMADMMJ",
    client="clients.vimadmm_j:VIMADMMJClient",
    options=ADMMOptions,
    checks=(check_admm,),
    blinds=True,
    noises=True,
    additive=True,
    regression=False,
    label_only=True,
)
