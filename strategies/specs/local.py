"""Declaration of the baseline local; see `strategies.local`."""

from dataclasses import dataclass

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.method_spec import MethodSpec
from vfl_flower.config.options.shared import CutOptions, ViewOptions
from vfl_flower.config.settings import Settings

from .cut_networks import check_cut, check_views


@dataclass(frozen=True, kw_only=True)
class BaselineOptions(ViewOptions, CutOptions):
    """Options of the baselines, for networks of methods that cut them."""


def check_uncut(cfg: Settings, options: BaselineOptions) -> None:
    """Refuse options of networks that are cut where none is."""
    changed = [
        key for key, given in (("width", options.width), ("views", options.views)) if given != 1
    ]
    if changed and not options.cut_at:
        raise ConfigError(
            f"{' and '.join(changed)} would change nothing: {cfg.method}'s networks are not cut in "
            "two unless cut says where"
        )


SPEC = MethodSpec(
    strategy="strategies.local:Local",
    client="clients.local:LocalClient",
    options=BaselineOptions,
    checks=(check_uncut, check_cut, check_views),
    teaches=False,
    alone=True,
)
