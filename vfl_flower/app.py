"""The Flower apps: the active party in a ServerApp, each passive party in a ClientApp."""

import logging
import sys
from pathlib import Path

from flwr.app import Context
from flwr.client import Client
from flwr.clientapp import ClientApp
from flwr.server import Grid, ServerConfig, SimpleClientManager
from flwr.server.compat import start_grid
from flwr.serverapp import ServerApp

from vfl_flower.active import ActiveParty
from vfl_flower.build import build_active, build_passive
from vfl_flower.conduct import conduct
from vfl_flower.config import RunConfig, split_list
from vfl_flower.console import LineLog, print_result
from vfl_flower.endpoint import RebuiltEndpoint
from vfl_flower.errors import ConfigError, VflError
from vfl_flower.identity import Identity, read_private, read_roster
from vfl_flower.passive import PassiveParty
from vfl_flower.protections import protections
from vfl_flower.runs import RunFolder
from vfl_flower.server import ProtocolServer

log = logging.getLogger("flwr")

server = ServerApp()


@server.main()
def main(grid: Grid, context: Context) -> None:
    """Run the active party over Flower's messages."""
    try:
        cfg = run_config(context)
        active = build_active(cfg, Path(cfg.out) if cfg.out else None)
        folder = RunFolder(Path(cfg.out), cfg) if cfg.out else None

        def carry(active: ActiveParty) -> None:
            protocol = ProtocolServer(client_manager=SimpleClientManager(), strategy=active)
            start_grid(grid=grid, server=protocol, config=ServerConfig(num_rounds=1))

        result = conduct(active, "messages", carry, folder, LineLog())
    except VflError as error:
        log.error("%s: %s", type(error).__name__, error.in_full())
        raise error.with_traceback(None) from None  # Flower marks the run as failed
    print_result(result, cfg)


def client_fn(context: Context) -> Client:
    """Make the passive party of this node; Flower calls this for every message."""
    index = int(context.node_config["partition-id"])

    def build() -> PassiveParty:
        cfg = run_config(context)
        return build_passive(cfg, index, party_folder(cfg), identity_of(cfg, context, index))

    return RebuiltEndpoint(build, index, context.state)


client = ClientApp(client_fn=client_fn)


def run_config(context: Context) -> RunConfig:
    """Read the run's configuration as Flower hands it out.

    Raises
    ------
    ConfigError
        If a value cannot work, or a path is relative: Flower's processes run in other folders
        than the one where ``flwr run`` was typed.
    """
    cfg = RunConfig.from_mapping(context.run_config)
    for key, value in (("data-dir", cfg.data_dir), ("out", cfg.out)):
        needed = key == "out" or cfg.dataset != "digits"
        if needed and value and not Path(value).is_absolute():
            raise ConfigError(f"{key} must be an absolute path under flwr run, not '{value}'")
    for file in split_list(cfg.weights):
        if file and not Path(file).is_absolute():
            raise ConfigError(f"weights must be absolute paths under flwr run, not '{file}'")
    return cfg


def identity_of(cfg: RunConfig, context: Context, index: int) -> Identity | None:
    """Read this node's identity and those that it pins, from its own node configuration.

    Raises
    ------
    ConfigError
        If only one of ``identity`` and ``peers`` is set, or the run would not protect this party.
    IdentityError
        If a file cannot be used.
    """
    own, peers = (str(context.node_config.get(key, "")) for key in ("identity", "peers"))
    if not own and not peers:
        return None
    if not own or not peers:
        raise ConfigError("the node configuration must have both identity and peers, or neither")
    if open_ends := protections(cfg)[1]:
        raise ConfigError(f"this party pins identities, and in this run {open_ends[0]}")
    roster = read_roster(Path(peers), cfg.parties - 1)
    return Identity(read_private(Path(own)), roster, index, str(context.run_id))


def simulated() -> bool:
    """Tell whether this process is one of Flower's simulation runtime."""
    ray = sys.modules.get("ray")
    return ray is not None and ray.is_initialized()


def party_folder(cfg: RunConfig) -> Path | None:
    """Return where this party may write: in a simulation, where all parties share the run folder.

    Elsewhere it is the active party that names `out`, and it names no path on another's machine.
    """
    return Path(cfg.out) if cfg.out and simulated() else None
