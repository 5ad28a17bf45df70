"""Parties with trained models, of a complete run or for a prediction.

A prediction's parties are built for its rows. What they are, methods, networks, protections, is
what the model folders say, each party's own; the command says only where things are now. They learn
nothing: the active party has no labels, and the passive ones have no phases of training.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from vfl_flower.common.layout import TARGET, model_of
from vfl_flower.common.names import party_name
from vfl_flower.config.policy.record import OPEN, Policy
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.settings import UNNOISED
from vfl_flower.config.validation.membership import check_goes_on
from vfl_flower.crypto.identity import Identity
from vfl_flower.data.loading import RunData, run_data, split_of
from vfl_flower.data.party_data import PartyData
from vfl_flower.data.preprocessing.target import Target
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.party import Party
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.parties.persistence.model_folder import load_model, trained_with
from vfl_flower.runs.run_folder import RunFolder
from vfl_flower.workflows.build_parties import build_active, build_passive

P = TypeVar("P", bound=Party)


def parties_of(folder: RunFolder) -> tuple[ActiveParty, list[PassiveParty]]:
    """Build the parties of a complete run, with labels, without noise.

    Raises
    ------
    RunError
        If a model folder is missing or damaged, or not of this run and this party.
    """
    unnoised: dict[str, Any] = UNNOISED  # nothing is sent
    cfg = replace(folder.cfg, tensorboard=False, track="", **unnoised)
    active, passive = _of_run(folder, cfg, labelled=True)
    active.use_threads()
    return active, passive


def predicting_parties(folder: RunFolder) -> tuple[ActiveParty, list[PassiveParty]]:
    """Build the parties of a complete run to predict its own rows.

    The active party has no labels, and writes nothing; the passive ones have their folders, where
    they count their uploads under client-level privacy.

    Raises
    ------
    RunError
        See `parties_of`.
    """
    cfg = replace(folder.cfg, tensorboard=False, track="", class_weights="none")
    active, passive = _of_run(folder, cfg, labelled=False, counted=folder.path)
    for party in passive:
        party.only_predict()
    return active, passive


def _of_run(
    folder: RunFolder, cfg: RunConfig, *, labelled: bool, counted: Path | None = None
) -> tuple[ActiveParty, list[PassiveParty]]:
    kept = RunFolder.reopen(folder.path, {}).cfg  # what the run was; an audit may ask otherwise
    data = run_data(cfg, split=split_of(cfg, folder.path / party_name(0)))
    active = build_active(cfg, labelled=labelled, source=data)
    passive = [build_passive(cfg, rank, counted, data=data.party(rank)) for rank in cfg.present]
    for party in (active, *passive):
        _with_model(party, folder.path, kept)
    written = model_of(folder.path / party_name(0)) / TARGET
    if written.is_file():  # earlier versions have none of data sets with a name
        active.target = Target.load(written)
    return active, passive


def prediction_of(cfg: RunConfig, rank: int, model: Path, trust_code: bool = False) -> RunConfig:
    """Return one party's configuration of a prediction of new rows.

    Parameters
    ----------
    cfg : RunConfig
        Where things are now: tables, alignment, transport.
    rank : int
        The party's, 0 for the active one.
    model : Path
        The folder of the run whose model predicts, with this party's folder in it.
    trust_code : bool
        Whether the code of networks that the folder names may be imported.

    Raises
    ------
    RunError
        If the party's model folder is missing or damaged.
    ConfigError
        If it cannot go on without the parties that have left.
    """
    trained, sigma = trained_with(model / party_name(rank), cfg, trust_code)
    made = replace(
        trained,
        task=cfg.task if cfg.predicts else "predict",
        model=str(model),
        service=cfg.service,
        without=cfg.without,
        truth=cfg.truth,
        keep_missing=cfg.keep_missing,
        epochs=0,
        train_rows=0,
        test_rows=0,
        class_weights="none",
        dp_sigma=sigma,  # the noise that training had, whatever other rows would need
        tensorboard=False,
        track="",
    )
    check_goes_on(made)
    return made


def predicting_active(cfg: RunConfig, source: RunData | None = None) -> ActiveParty:
    """Build the active party of a prediction of new rows.

    Parameters
    ----------
    cfg : RunConfig
        See `prediction_of`.
    source : RunData, optional
        The data, where there is more to them than their files.
    """
    return _with_model(build_active(cfg, labelled=False, source=source), Path(cfg.model))


def predicting_passive(
    cfg: RunConfig,
    rank: int,
    identity: Identity | None = None,
    data: PartyData | None = None,
    policy: Policy = OPEN,
) -> PassiveParty:
    """Build a passive party of a prediction of new rows; see `predicting_active`.

    It counts its uploads where training has counted them, and says at the roll call whether its
    privacy budget lasts for these rows.
    """
    folder = Path(cfg.model)
    return _with_model(build_passive(cfg, rank, folder, identity, data, policy), folder)


def _with_model(party: P, run: Path, kept: RunConfig | None = None) -> P:
    """Give a party the model of its folder, in evaluation mode."""
    load_model(run / party_name(party.rank), party, kept)
    party.net.eval()
    return party
