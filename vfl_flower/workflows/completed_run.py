"""Complete runs, and their parties as the run left them.

The folders of all parties must be in one place, as a simulation has them.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from vfl_flower.common.errors import RunError
from vfl_flower.common.layout import WEIGHTS, model_of
from vfl_flower.common.names import party_name
from vfl_flower.config.run_config import UNNOISED
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.party import Party
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.parties.persistence.model_folder import load_model, run_of
from vfl_flower.runs.run_folder import RunFolder
from vfl_flower.workflows.build_parties import build_active, build_passive


def result_of(folder: RunFolder) -> dict[str, Any]:
    """Return the result of a run that is complete and has the weights of all parties.

    Raises
    ------
    RunError
        If it is not complete, its result is damaged, or weights of a party are not there.
    """
    result = folder.result()
    if result is None:
        raise RunError(f"{folder.path} is not complete; resume it first")
    check_models(folder)
    return result


def check_models(folder: RunFolder) -> None:
    """Refuse a run of which a party's model folder is not there, or is another run's.

    Raises
    ------
    RunError
        Says which.
    """
    runs = []
    for rank in range(folder.cfg.parties):
        path = folder.path / party_name(rank)
        if not (model_of(path) / WEIGHTS).is_file():
            raise RunError(
                f"{model_of(path) / WEIGHTS} is missing; the folders of all parties must be in one "
                "place, as a simulation that is complete has them"
            )
        runs.append(run_of(path))
        if runs[-1] != runs[0]:
            raise RunError(
                f"{model_of(path)} is of run {runs[-1]}, and that of {party_name(0)} of run "
                f"{runs[0]}; put those of one run there"
            )


def parties_of(folder: RunFolder) -> tuple[ActiveParty, list[PassiveParty]]:
    """Build the parties of a complete run, and give them the weights that it left.

    They are in evaluation mode, and would send what they send without noise.

    Raises
    ------
    RunError
        If weights are damaged, or another run's.
    """
    unnoised: dict[str, Any] = UNNOISED  # nothing is sent
    cfg = replace(folder.cfg, tensorboard=False, **unnoised)
    active = build_active(cfg)
    passive = [build_passive(cfg, index) for index in range(cfg.parties - 1)]
    load_models(folder, (active, *passive))
    active.use_threads()
    return active, passive


def load_models(folder: RunFolder, members: Sequence[Party]) -> None:
    """Give the parties of a run what their model folders hold, in evaluation mode.

    Raises
    ------
    RunError
        If a model folder is missing or damaged, or not of this run and this party.
    """
    kept = RunFolder.reopen(folder.path, {}).cfg  # what the run was; an audit may ask otherwise
    for member in members:
        load_model(folder.path / party_name(member.rank), member, kept)
        member.net.eval()
