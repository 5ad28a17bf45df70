"""A passive party on a Flower node: what its own node configuration says, and how it answers.

Node configuration is the party's own and always beats the run's: its columns' folder, network,
optimiser, learning rate, device, state folder and identity are nobody else's business.
"""

import difflib
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from flwr.app import Context
from flwr.client import Client
from flwr.common import FitIns, FitRes, GetPropertiesIns, GetPropertiesRes, Parameters

from vfl_flower.build import build_passive
from vfl_flower.checks import NAME
from vfl_flower.config import RunConfig, Scalar, split_list
from vfl_flower.endpoint import OK, Endpoint, RebuiltEndpoint, failed
from vfl_flower.errors import ConfigError
from vfl_flower.identity import Identity, read_private, read_roster
from vfl_flower.passive import PassiveParty
from vfl_flower.protections import column_protections
from vfl_flower.registry import METHODS
from vfl_flower.stream.guest import Guest
from vfl_flower.stream.opening import invitation_in

OWN = {
    "table": "tables",
    "data-dir": "data-dir",
    "download": "download",
    "model": "models",
    "weights": "weights",
    "optimizer": "optimizers",
    "learning-rate": "learning-rates",
    "device": "device",
    "threads": "threads",
}
"""Keys of a node's configuration, and the run's knobs that they beat."""

OTHER = ("partition-id", "num-partitions", "state-dir", "identity", "peers")


class Node(Client):
    """The passive party of one node, for one message.

    Parameters
    ----------
    context : Context
        Flower's: the node's configuration, the run's, and what is kept between messages.
    """

    def __init__(self, context: Context) -> None:
        self.context = context
        self.index = int(context.node_config.get("partition-id", -1))

    def get_properties(self, ins: GetPropertiesIns) -> GetPropertiesRes:
        """Answer the roll call."""
        return self._rebuilt(self.context.run_config).get_properties(ins)

    def fit(self, ins: FitIns) -> FitRes:
        """Answer one exchange, or all of a session."""
        try:
            opened = invitation_in(ins.config)
            if opened is None:
                return self._rebuilt(self.context.run_config).fit(ins)
            invitation, knobs = opened
            Guest(invitation, self._live(knobs)).serve()
        except Exception as error:
            return failed(error, self.index)
        return FitRes(OK, Parameters([], "numpy.ndarray"), 0, {})

    def _rebuilt(self, knobs: Mapping[str, Any]) -> RebuiltEndpoint:
        return RebuiltEndpoint(lambda: self._build(knobs), self.index, self.context.state)

    def _live(self, knobs: Mapping[str, Any]) -> Client:
        """Return a party that stays; one that cannot be built says so at the roll call."""
        try:
            return Endpoint(self._build(knobs))
        except Exception:  # it comes again, where it is reported
            return self._rebuilt(knobs)

    def _build(self, knobs: Mapping[str, Any]) -> PassiveParty:
        if self.index < 0:
            raise ConfigError("the node configuration lacks partition-id, from 0")
        cfg = own_config(knobs, self.context.node_config)
        if cfg.task == "align":
            from vfl_flower.alignment.sitting import build_alignment_passive  # slow to import

            return build_alignment_passive(cfg, self.index, state_folder(cfg, self.context))
        cfg = at_home(cfg, state_root(self.context))
        identity = identity_of(cfg, self.context, self.index)
        return build_passive(cfg, self.index, state_folder(cfg, self.context), identity)


def run_config(knobs: Mapping[str, Any], simulation: bool) -> RunConfig:
    """Read a run's configuration as Flower hands it out, and settle what is left to it.

    Between machines, a party's randomness is its own unless the run says otherwise, and there
    are no bounds: nobody has everybody's columns.

    Raises
    ------
    ConfigError
        If a value cannot work, or a path is relative: Flower's processes run in other folders
        than the one where ``flwr run`` was typed.
    """
    cfg = RunConfig.from_mapping({k: v for k, v in knobs.items() if k != "resume"})
    for key, value in (("data-dir", cfg.data_dir), ("out", cfg.out)):
        needed = key == "out" or cfg.dataset not in ("digits", "own")
        if needed and value and not Path(value).is_absolute():
            raise ConfigError(f"{key} must be an absolute path under flwr run, not '{value}'")
    for file in split_list(cfg.weights):
        if file and not Path(file).is_absolute():
            raise ConfigError(f"weights must be absolute paths under flwr run, not '{file}'")
    if cfg.own_tables:
        _check_own_tables(cfg, simulation)
    if simulation:
        return cfg
    if METHODS[cfg.method].pools:
        raise ConfigError(f"{cfg.method} needs all columns in one place: simulations alone have it")
    if cfg.bounds == "on":
        raise ConfigError("bounds are on, and central needs all columns in one place; use off")
    private = cfg.party_randomness.replace("auto", "private")
    return replace(cfg, party_randomness=private, bounds="off")


def _check_own_tables(cfg: RunConfig, simulation: bool) -> None:
    """Refuse tables and alignments that parties elsewhere would not find."""
    for file in split_list(cfg.tables):
        if not Path(file).is_absolute():
            raise ConfigError(f"tables must be absolute paths under flwr run, not '{file}'")
    if cfg.task == "align":
        if simulation and not cfg.out:
            raise ConfigError("out is empty; say in which folder the alignment is to be kept")
        if cfg.alignment or (cfg.out and not simulation):
            raise ConfigError(
                "task is align, and each party keeps its outcome in its own state folder, under "
                "run-name; leave alignment and, between machines, out empty"
            )
    elif not cfg.alignment:
        raise ConfigError(
            "alignment is empty; align the tables first, with task = align, and name that run"
        )
    elif simulation and not Path(cfg.alignment).is_absolute():
        raise ConfigError(f"alignment must be an absolute path here, not '{cfg.alignment}'")
    elif not simulation and not NAME.fullmatch(cfg.alignment):
        raise ConfigError(
            f"alignment must be the run-name of an alignment, not '{cfg.alignment}': each party "
            "has it in its own state folder"
        )


def at_home(cfg: RunConfig, root: Path) -> RunConfig:
    """Let an alignment's name stand for its folder in this party's own state folder.

    In a simulation it is a path already.
    """
    if not cfg.own_tables or cfg.task == "align":
        return cfg
    return replace(cfg, alignment=str(root / cfg.alignment))


def told_of(cfg: RunConfig, simulation: bool) -> dict[str, Scalar]:
    """Return what passive parties are told of a run: no path of the active party's tables."""
    knobs = cfg.to_mapping()
    if cfg.own_tables and not simulation:
        name = "" if cfg.task == "align" else Path(cfg.alignment).name
        knobs |= {"tables": "", "alignment": name}
    return knobs


def own_config(knobs: Mapping[str, Any], node: Mapping[str, Any]) -> RunConfig:
    """Let a node's own configuration beat the run's.

    Raises
    ------
    ConfigError
        For an unknown key, or a value that cannot work.
    """
    for key in node:
        if key not in OWN and key not in OTHER:
            close = difflib.get_close_matches(key, [*OWN, *OTHER], n=1)
            hint = f"; did you mean '{close[0]}'?" if close else ""
            raise ConfigError(f"the node configuration has an unknown key '{key}'{hint}")
    own = {knob: node[key] for key, knob in OWN.items() if key in node}
    if "learning-rates" in own:
        own["learning-rates"] = str(own["learning-rates"])
    if knobs.get("dataset") == "own" and "table" not in node and not simulated():
        raise ConfigError(
            "the node configuration lacks table, the toml description of this party's own table"
        )
    return run_config({**knobs, **own}, simulated())


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
    if open_ends := column_protections(cfg)[1]:
        raise ConfigError(f"this party pins identities, and in this run {open_ends[0]}")
    roster = read_roster(Path(peers), cfg.parties - 1)
    return Identity(read_private(Path(own)), roster, index, str(context.run_id))


def state_folder(cfg: RunConfig, context: Context) -> Path | None:
    """Return the run's folder at this party, of which it makes its own part.

    In a simulation all parties share the run folder that `out` names, if it names one. Elsewhere
    the active party names no path on another's machine: the folder bears the run's name and lies in
    ``state-dir`` of the node's configuration, or in `home`.
    """
    if simulated():
        return Path(cfg.out) if cfg.out else None
    return state_root(context) / (cfg.run_name or f"run-{context.run_id}")


def state_root(context: Context) -> Path:
    """Return where this party keeps its runs; see `state_folder`.

    Raises
    ------
    ConfigError
        If it is a relative path.
    """
    root = Path(str(context.node_config.get("state-dir", home())))
    if not root.is_absolute():
        raise ConfigError(f"state-dir must be an absolute path, not '{root}'")
    return root


def home() -> Path:
    """Return where runs lie unless somebody says otherwise: VFL_FLOWER_HOME, or ~/.vfl-flower."""
    return Path(os.environ.get("VFL_FLOWER_HOME") or Path.home() / ".vfl-flower")


def simulated() -> bool:
    """Tell whether this process is one of Flower's simulation runtime."""
    ray = sys.modules.get("ray")
    return ray is not None and ray.is_initialized()
