"""Complete runs, and their parties as the run left them.

The folders of all parties must be in one place, as a simulation has them.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

from vfl_flower.active import ActiveParty
from vfl_flower.build import build_active, build_passive
from vfl_flower.checkpoint import WEIGHTS
from vfl_flower.config import UNNOISED
from vfl_flower.errors import RunError
from vfl_flower.member import Member
from vfl_flower.names import member_name
from vfl_flower.passive import PassiveParty
from vfl_flower.runs import RunFolder
from vfl_flower.state import read_weights


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
    for place in range(folder.cfg.parties):
        if not _weights_of(folder, place).is_file():
            raise RunError(
                f"{_weights_of(folder, place)} is missing; the folders of all parties must be in "
                "one place, as a simulation has them"
            )
    return result


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
    for member in (active, *passive):
        _load(member, _weights_of(folder, member.place))
    active.use_threads()
    return active, passive


def _weights_of(folder: RunFolder, place: int) -> Path:
    return folder.path / member_name(place) / WEIGHTS


def _load(member: Member, path: Path) -> None:
    try:
        member.net.load_state_dict(read_weights(path))
    except RuntimeError as error:
        name = member_name(member.place)
        raise RunError(f"{path} does not fit the network of {name}: it is another run's") from error
    member.net.eval()
