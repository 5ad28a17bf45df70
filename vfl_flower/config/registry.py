"""The methods by name. One line here makes a method known everywhere."""

from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Method:
    """Where a method's two halves are.

    Attributes
    ----------
    strategy, client : str
        ``module:Class`` of the active and of the passive party.
    blinds : bool
        Whether passive parties hide their embeddings; then at least two are needed.
    teaches : bool
        Whether something that depends on labels leaves the active party.
    label_noise : str
        The mechanism of label privacy that it uses unless told otherwise; empty for none.
    alone : bool
        Whether the active party trains without the passive ones, which send nothing.
    shares : bool
        Whether passive parties can be given the labels (``share-labels``).
    noises : bool
        Whether all that passive parties send of their columns goes through `ClientPrivacy.upload`,
        once an exchange.
    gives : bool
        Whether passive parties are always given them, noised if there is label privacy.
    pools : bool
        Whether the active party gets everybody's columns, which a simulation alone has.
    admm : bool
        Whether labels enter through VIM's z update, which is the cross-entropy's.
    heads : bool
        Whether the active party keeps a head for each party.
    network : str
        The network of every party, where the method has no choice of it.
    label_only : bool
        Whether the active party may be without columns (``active-columns = none``).
    maps : bool
        Whether parties hold tiles of images, and send feature maps of each row once in every view:
        the extractors' of networks that are cut in two (``cut``).
    """

    strategy: str
    client: str
    blinds: bool
    teaches: bool = True
    label_noise: str = ""
    alone: bool = False
    shares: bool = False
    noises: bool = False
    gives: bool = False
    pools: bool = False
    admm: bool = False
    heads: bool = False
    network: str = ""
    label_only: bool = False
    maps: bool = False

    def load(self) -> tuple[Any, Any]:
        """Import and return the strategy's and the client's class."""
        halves = (reference.split(":") for reference in (self.strategy, self.client))
        strategy, client = (getattr(import_module(m), name) for m, name in halves)
        return strategy, client


METHODS = {
    "easter": Method("strategies.easter:Easter", "clients.easter:EasterClient", blinds=True),
    "pravfed": Method(
        "strategies.pravfed:PraVFed",
        "clients.pravfed:PraVFedClient",
        blinds=True,
        label_noise="randomized-response",
        gives=True,
    ),
    "vfedmh": Method("strategies.vfedmh:VFedMH", "clients.vfedmh:VFedMHClient", blinds=True),
    "splitnn": Method(
        "strategies.splitnn:SplitNN",
        "clients.splitnn:SplitNNClient",
        blinds=False,
        noises=True,
        label_only=True,
    ),
    "fedbcd": Method(
        "strategies.fedbcd:FedBCD",
        "clients.fedbcd:FedBCDClient",
        blinds=False,
        noises=True,
        label_only=True,
    ),
    "c_vfl": Method(
        "strategies.c_vfl:CVFL",
        "clients.c_vfl:CVFLClient",
        blinds=False,
        shares=True,
        label_only=True,
    ),
    "vafl": Method(
        "strategies.vafl:VAFL",
        "clients.vafl:VAFLClient",
        blinds=False,
        noises=True,
        label_only=True,
    ),
    "agg_vfl": Method(
        "strategies.agg_vfl:AggVFL",
        "clients.agg_vfl:AggVFLClient",
        blinds=True,
        noises=True,
        label_only=True,
    ),
    "vimadmm": Method(
        "strategies.vimadmm:VIMADMM",
        "clients.vimadmm:VIMADMMClient",
        blinds=False,
        noises=True,
        admm=True,
        heads=True,
        label_only=True,
    ),
    "vimadmm_j": Method(
        "strategies.vimadmm_j:VIMADMMJ",
        "clients.vimadmm_j:VIMADMMJClient",
        blinds=True,
        noises=True,
        admm=True,
        label_only=True,
    ),
    "linear_admm": Method(
        "strategies.linear_admm:LinearADMM",
        "clients.linear_admm:LinearADMMClient",
        blinds=True,
        noises=True,
        admm=True,
        network="linear",
        label_only=True,
    ),
    "fdml": Method(
        "strategies.fdml:FDML",
        "clients.fdml:FDMLClient",
        blinds=True,
        noises=True,
        gives=True,
        label_only=True,
    ),
    "adptvfedconv": Method(
        "strategies.adptvfedconv:AdptVFedConv",
        "clients.adptvfedconv:AdptVFedConvClient",
        blinds=False,
        noises=True,
        maps=True,
    ),
    "local": Method(
        "strategies.local:Local",
        "clients.local:LocalClient",
        blinds=False,
        teaches=False,
        alone=True,
    ),
    "central": Method(
        "strategies.central:Central",
        "clients.central:CentralClient",
        blinds=False,
        teaches=False,
        alone=True,
        pools=True,
        label_only=True,
    ),
}

ALIASES = {"pyvertical": "splitnn"}
"""Further names of methods."""
