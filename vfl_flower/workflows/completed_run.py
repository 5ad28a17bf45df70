"""Results of complete runs, with the models of all parties.

The folders of all parties must be in one place, as a simulation has them.
"""

from typing import Any

from vfl_flower.common.errors import RunError
from vfl_flower.common.layout import WEIGHTS, model_of
from vfl_flower.common.names import party_name
from vfl_flower.parties.persistence.model_folder import run_of
from vfl_flower.runs.run_folder import RunFolder


def result_of(folder: RunFolder) -> dict[str, Any]:
    """Return the result of a complete run with all parties' weights.

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
    """Refuse a run that lacks a party's model folder, or has another's.

    Those of parties that have left need not be there.

    Raises
    ------
    RunError
        Says which.
    """
    runs = []
    for rank in (0, *folder.cfg.present):
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
