"""The parties as prediction needs them: built for their rows, with the model of an earlier run.

What they are, methods, networks, protections, is what the model folders say, each party's own;
what is asked of them says only where things are now. They learn nothing: the active party has no
labels, and the passive ones have no phases of training.
"""

from dataclasses import replace
from pathlib import Path

from vfl_flower.common.names import party_name
from vfl_flower.config.run_config import RunConfig
from vfl_flower.crypto.identity import Identity
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.party import Party
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.parties.persistence.model_folder import load_model, trained_with
from vfl_flower.workflows.build_parties import build_active, build_passive


def prediction_of(cfg: RunConfig, rank: int, model: Path) -> RunConfig:
    """Return the configuration of a prediction of new rows, as one party sees it.

    Parameters
    ----------
    cfg : RunConfig
        Where things are now: tables, alignment, carrier.
    rank : int
        The party's, 0 for the active one.
    model : Path
        The folder of the run whose model predicts, with this party's folder in it.

    Raises
    ------
    RunError
        If the party's model folder is missing or damaged.
    """
    trained, sigma = trained_with(model / party_name(rank), cfg)
    return replace(
        trained,
        task="predict",
        model=str(model),
        epochs=0,
        train_rows=0,
        class_weights="none",
        dp_sigma=sigma,  # the noise that training had, whatever other rows would need
        tensorboard=False,
    )


def predicting_active(cfg: RunConfig) -> ActiveParty:
    """Build the active party of a prediction; it writes nothing. `cfg` is of `prediction_of`."""
    active = build_active(cfg, labelled=False)
    _load(cfg, active)
    return active


def predicting_passive(
    cfg: RunConfig, index: int, identity: Identity | None = None
) -> PassiveParty:
    """Build a passive party of a prediction; see `predicting_active`.

    It counts its uploads where training has counted them, and says at the roll call whether its
    privacy budget lasts for these rows.
    """
    passive = build_passive(cfg, index, Path(cfg.model), identity)
    _load(cfg, passive)
    return passive


def _load(cfg: RunConfig, member: Party) -> None:
    load_model(Path(cfg.model) / party_name(member.rank), member)
    member.net.eval()
