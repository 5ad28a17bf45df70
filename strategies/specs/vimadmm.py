"""Declaration of VIMADMM; see `strategies.vimadmm`."""

from dataclasses import dataclass

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.method_spec import MethodSpec
from vfl_flower.config.schema import option
from vfl_flower.config.settings import Settings

from .admm import DESCENTS, ADMMOptions, check_admm


@dataclass(frozen=True, kw_only=True)
class VIMADMMOptions(ADMMOptions):
    """Options of VIMADMM's own."""

    heads: str = option(
        "sgd",
        "heads: one sgd step a round, or the damped ridge solution",
        choices=("sgd", "ridge"),
    )
    residual: str = option(
        "old-heads",
        "s_k of Eq. 8 by the old-heads (the authors' program) or new-heads (as printed)",
        choices=("old-heads", "new-heads"),
        earlier="new-heads",
    )

    @property
    def as_program(self) -> bool:
        """Whether s_k is of one forward pass."""
        return self.residual == "old-heads"

    def usual_rate(self, optimizer: str, rate: float) -> float:
        """Return the rate for ``learning-rates = auto``, given an optimizer's.

        tau adaptive steps go as far as one: at the rate of one each, embeddings grow without end.
        """
        adaptive = self.as_program and optimizer not in DESCENTS
        return rate / self.local_steps if adaptive else rate


def check_heads(cfg: Settings, options: VIMADMMOptions) -> None:
    """Refuse ridge solutions of heads without linearity or penalty."""
    if options.heads == "ridge" and (cfg.top_layers > 1 or options.beta == 0):
        raise ConfigError(
            "heads = ridge solves for linear heads with a positive beta; use heads = sgd"
        )


SPEC = MethodSpec(
    strategy="strategies.vimadmm:VIMADMM",
    client="clients.vimadmm:VIMADMMClient",
    options=VIMADMMOptions,
    checks=(check_admm, check_heads),
    soft_targets=True,
    noises=True,
    additive=True,
    regression=False,
    label_only=True,
    embedding_gradients=True,
    leaves_out=True,
)
