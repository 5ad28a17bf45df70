"""Check that the optional packages of a party's run are installed."""

from vfl_flower.common.names import party_name
from vfl_flower.common.optional.extras import require
from vfl_flower.config.catalog import NETWORKS, TRACKERS
from vfl_flower.config.dataset_specs import DATASETS
from vfl_flower.config.settings import Settings


def check_extras(cfg: Settings, rank: int) -> None:
    """Refuse a run whose optional packages are missing at a party.

    Parameters
    ----------
    cfg : Settings
        The run's configuration.
    rank : int
        Of the party: each needs those of its own network only.

    Raises
    ------
    ExtraError
        Names the option, and the extra that installs the package.
    """
    if package := DATASETS[cfg.dataset].needs:
        require(package, f"dataset = {cfg.dataset}")
    network = cfg.listed_model(rank) if cfg.options.cut_at else cfg.model_of(rank)
    if network in NETWORKS and (package := NETWORKS[network].needs):
        require(package, f"{party_name(rank)}: network {network}")
    if cfg.noised:
        require("dp_accounting", "dp-sigma or target-epsilon")
    for package, wanted in () if cfg.predicts else cfg.options.needs.items():
        require(package, wanted)
    for tracker in () if rank else cfg.trackers:
        require(TRACKERS[tracker].needs, f"track = {tracker}")
