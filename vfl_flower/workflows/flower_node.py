"""Passive party of a Flower node: its own configuration, and its answers.

Node configuration is the party's own and always beats the run's: its columns' folder, network,
optimizer, learning rate, device, state folder and identity are nobody else's business.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from flwr.app import Context
from flwr.client import Client
from flwr.common import FitIns, FitRes, GetPropertiesIns, GetPropertiesRes

from vfl_flower.common.errors import ConfigError, ProtocolError
from vfl_flower.common.layout import is_aligned, is_split
from vfl_flower.common.names import party_name
from vfl_flower.config.node_config import (
    at_home,
    home,
    own_config,
    policy_of_node,
    simulated,
)
from vfl_flower.config.policy.record import Policy
from vfl_flower.config.policy.rules import check
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.transports import Runtime, transports_of
from vfl_flower.crypto.identity import Identity, read_private, read_roster
from vfl_flower.data.loading import PartyCache
from vfl_flower.privacy.guarantees import masks_undone
from vfl_flower.protocol.client import ProtocolClient
from vfl_flower.splitting.build import build_split_passive
from vfl_flower.transport.endpoint import Endpoint, RebuiltEndpoint, failed
from vfl_flower.workflows.build_parties import build_passive
from vfl_flower.workflows.frozen_parties import freeze
from vfl_flower.workflows.trained_parties import predicting_passive, prediction_of

_CACHE = PartyCache()
"""Of this process, in which Flower builds a party anew for every message."""


class Node(Client):
    """The passive party of one node, for one message.

    Parameters
    ----------
    context : Context
        Flower's: the node's configuration, the run's, and what is kept between messages.
    """

    def __init__(self, context: Context) -> None:
        self.context = context
        self.rank = int(context.node_config.get("partition-id", -1)) + 1

    def get_properties(self, ins: GetPropertiesIns) -> GetPropertiesRes:
        """Answer the roll call."""
        return self.rebuilt().get_properties(ins)

    def fit(self, ins: FitIns) -> FitRes:
        """Answer a message by the transport that sent it."""
        try:
            for entry in transports_of(Runtime.FLOWER).values():
                res: FitRes | None = entry.load().answer(ins, self)
                if res is not None:
                    return res
            raise ProtocolError("a message arrived that no transport sends")
        except Exception as error:
            return failed(error, self.rank)

    def rebuilt(self, options: Mapping[str, Any] | None = None) -> RebuiltEndpoint:
        """Return a node's party for one message.

        Without options, it is the party of the run that Flower names.
        """
        told = self.context.run_config if options is None else options
        return RebuiltEndpoint(lambda: self._build(told), self.rank, self.context.state)

    def live(self, options: Mapping[str, Any]) -> Client:
        """Return a live party; one that fails reports at the roll call."""
        try:
            return Endpoint(self._build(options))
        except Exception:  # it comes again, where it is reported
            return self.rebuilt(options)

    def _build(self, options: Mapping[str, Any]) -> ProtocolClient:
        if self.rank < 1:
            raise ConfigError("the node configuration lacks partition-id, from 0")
        policy = policy_of_node(self.context.node_config)
        cfg = _named(own_config(options, self.context.node_config), self.context)
        rank, folder = self.rank, _state_folder(cfg, self.context)
        cfg = at_home(cfg, _state_root(self.context), folder)
        if cfg.predicts:
            own = not simulated()  # the folder is this party's, in its own state folder
            cfg = prediction_of(cfg, rank, Path(cfg.model), trust_code=own)
        identity = identity_of(cfg, self.context, rank)
        # before data are read, or any module of others imported
        check(policy, cfg, rank, identity.fingerprints() if identity else ())
        return _built(cfg, rank, folder, identity, policy)


def _built(
    cfg: RunConfig, rank: int, folder: Path | None, identity: Identity | None, policy: Policy
) -> ProtocolClient:
    """Build the party that a run's task needs."""
    if cfg.task == "align" or _aligns(cfg, folder, rank):
        # pyarrow is slow to import
        from vfl_flower.alignment.build import build_alignment_passive

        root = None if simulated() or folder is None else folder.parent
        return build_alignment_passive(cfg, rank, folder, identity, policy, root)
    own = folder and folder / party_name(rank)
    if cfg.split_told and not (own and is_split(own)):
        return build_split_passive(cfg, rank, folder, identity=identity, policy=policy)
    data = _CACHE.load(cfg, rank, own)
    if cfg.predicts:
        return predicting_passive(cfg, rank, identity, data, policy)
    return freeze(build_passive(cfg, rank, folder, identity, data, policy))


def _named(cfg: RunConfig, context: Context) -> RunConfig:
    """Return the configuration with the run's name, which a policy looks at."""
    if simulated():
        return cfg
    return replace(cfg, run_name=cfg.run_name or f"run-{context.run_id}")


def _aligns(cfg: RunConfig, folder: Path | None, rank: int) -> bool:
    """Tell whether a party has to align its table first."""
    here = cfg.own_tables and folder is not None and cfg.alignment == str(folder)
    return here and not is_aligned(Path(cfg.alignment) / party_name(rank))


def identity_of(cfg: RunConfig, context: Context, rank: int) -> Identity | None:
    """Read this node's identity and pinned peers from its node configuration.

    Raises
    ------
    ConfigError
        If only one of ``identity`` and ``peers`` is set, or the run's masks would hide nothing.
    IdentityError
        If a file cannot be used.
    """
    own, peers = (str(context.node_config.get(key, "")) for key in ("identity", "peers"))
    if not own and not peers:
        return None
    if not own or not peers:
        raise ConfigError("the node configuration must have both identity and peers, or neither")
    undone = [] if cfg.task == "align" else masks_undone(cfg)
    if undone:
        raise ConfigError(f"this party pins identities, and in this run {undone[0]}")
    roster = read_roster(Path(peers), cfg.parties - 1)
    return Identity(read_private(Path(own)), roster, rank, str(context.run_id))


def _state_folder(cfg: RunConfig, context: Context) -> Path | None:
    """Return the run's folder at this party; None writes nothing.

    In a simulation all parties share the run folder that `out` names, if it names one. Elsewhere
    the active party names no path on another's machine: the folder bears the run's name and lies in
    ``state-dir`` of the node's configuration, or in `home`.
    """
    if simulated():
        return Path(cfg.out) if cfg.out else None
    return _state_root(context) / cfg.run_name


def _state_root(context: Context) -> Path:
    """Return where this party keeps its runs; see `_state_folder`.

    Raises
    ------
    ConfigError
        If it is a relative path.
    """
    root = Path(str(context.node_config.get("state-dir", home())))
    if not root.is_absolute():
        raise ConfigError(f"state-dir must be an absolute path, not '{root}'")
    return root
