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

from vfl_flower.alignment.kept import is_aligned
from vfl_flower.build import build_passive
from vfl_flower.checks import NAME
from vfl_flower.config import RunConfig, Scalar, split_list
from vfl_flower.endpoint import OK, Endpoint, RebuiltEndpoint, failed
from vfl_flower.errors import ConfigError
from vfl_flower.identity import Identity, read_private, read_roster
from vfl_flower.names import member_name
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

NEW_TABLE = "new-table"
OTHER = ("partition-id", "num-partitions", "state-dir", "identity", "peers", NEW_TABLE)


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
        place, folder = self.index + 1, state_folder(cfg, self.context)
        cfg = at_home(cfg, state_root(self.context), folder)
        if cfg.task == "predict":
            from vfl_flower.predict.parties import prediction_of  # slow to import, as below

            cfg = prediction_of(cfg, place, Path(cfg.model))
        if cfg.task == "align" or _aligns(cfg, folder, place):
            from vfl_flower.alignment.sitting import build_alignment_passive

            return build_alignment_passive(cfg, self.index, folder)
        identity = identity_of(cfg, self.context, self.index)
        if cfg.task == "predict":
            from vfl_flower.predict.parties import predicting_passive

            return predicting_passive(cfg, self.index, identity)
        return build_passive(cfg, self.index, folder, identity)


def _aligns(cfg: RunConfig, folder: Path | None, place: int) -> bool:
    """Tell whether a party has yet to align its table, in the run's own folder, before the rest."""
    here = cfg.own_tables and folder is not None and cfg.alignment == str(folder)
    return here and not is_aligned(Path(cfg.alignment) / member_name(place))


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
    if cfg.model and not (Path(cfg.model).is_absolute() if simulation else _is_name(cfg.model)):
        kind = "an absolute path here" if simulation else "the run-name of the run that trained"
        raise ConfigError(f"model must be {kind}, not '{cfg.model}'")
    if not cfg.alignment or cfg.task != "train":
        if simulation and not cfg.out:
            raise ConfigError("out is empty; say in which folder the alignment is to be kept")
        if cfg.alignment or (cfg.out and not simulation):
            raise ConfigError(
                f"task is {cfg.task}, and each party keeps what aligning its table comes to in its "
                "own state folder, under run-name; leave alignment and, between machines, out empty"
            )
    elif simulation and not Path(cfg.alignment).is_absolute():
        raise ConfigError(f"alignment must be an absolute path here, not '{cfg.alignment}'")
    elif not simulation and not _is_name(cfg.alignment):
        raise ConfigError(
            f"alignment must be the run-name of an alignment, not '{cfg.alignment}': each party "
            "has it in its own state folder"
        )


def _is_name(text: str) -> bool:
    """Tell whether something can be the name of a run, and no path out of the state folder."""
    return NAME.fullmatch(text) is not None


def at_home(cfg: RunConfig, root: Path, folder: Path | None) -> RunConfig:
    """Let the names of an alignment, and of a model's run, stand for folders of this party.

    Parameters
    ----------
    cfg : RunConfig
        As the run says it; in a simulation it names paths already.
    root : Path
        Where this party keeps its runs.
    folder : Path or None
        The run's own, where an alignment that is not named is to be.
    """
    if not cfg.own_tables or cfg.task == "align":
        return cfg
    alignment = root / cfg.alignment if cfg.alignment else folder
    model = str(root / cfg.model) if cfg.model else ""
    return replace(cfg, alignment=str(alignment or ""), model=model)


def told_of(cfg: RunConfig, simulation: bool, own: Path | None) -> dict[str, Scalar]:
    """Return what passive parties are told of a run, whose own folder is given: no other's path."""
    knobs = cfg.to_mapping()
    if not cfg.own_tables:
        return knobs
    if cfg.task != "train" or Path(cfg.alignment) == own:
        knobs["alignment"] = ""
    if not simulation:
        knobs["alignment"] = Path(str(knobs["alignment"])).name
        knobs |= {"tables": "", "model": Path(cfg.model).name}
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
    if knobs.get("dataset") == "own" and not simulated():
        key = NEW_TABLE if knobs.get("task") == "predict" else "table"
        if key not in node:
            raise ConfigError(
                f"the node configuration lacks {key}, the toml description of its own table"
            )
        own["tables"] = node[key]
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
