"""Identity of the run that a party's folder belongs to.

The active party draws a number for each run, keeps it over all attempts, and sends it with every
request to write. A folder takes the first number that comes, and nothing is written there for
another run, whatever its name. The number is no secret between the parties of a run, but nobody
else is told it.
"""

from pathlib import Path

from vfl_flower.common.checksums.records import read_checked, write_checked
from vfl_flower.common.errors import RunError
from vfl_flower.common.files import remove_temporaries
from vfl_flower.common.layout import NETWORK, RUN, model_of, steps_kept
from vfl_flower.common.names import party_log
from vfl_flower.parties.party import Party
from vfl_flower.parties.persistence.checkpoints import folder_of
from vfl_flower.parties.persistence.model_folder import run_of


def known_run(folder: Path) -> str:
    """Return the number of a folder's run; empty if none is known.

    Raises
    ------
    RunError
        If the file with it is damaged.
    """
    if (folder / RUN).exists():
        return str(read_checked(folder / RUN, {"run": str})["run"])
    if (model_of(folder) / NETWORK).exists():  # of an earlier version
        return run_of(folder)
    return ""


def keep_run(folder: Path, number: str) -> None:
    """Write a run's number into its folder, if it is not there.

    Raises
    ------
    RunError
        If it cannot be written.
    """
    if not (folder / RUN).exists():
        remove_temporaries(folder)
        write_checked(folder / RUN, {"run": number})


def check_run(party: Party, number: str, resumes: bool = False) -> None:
    """Refuse a request to write that is another run's.

    Parameters
    ----------
    party : Party
        Who is asked.
    number : str
        Of the run that asks.
    resumes : bool
        Whether the run goes back to a checkpoint, whose configuration is compared next. Only then
        are checkpoints of an earlier version, which knew no number, taken for this run's.

    Raises
    ------
    RunError
        If the folder belongs to another run; the text does not tell its number.
    """
    folder = folder_of(party)
    known = known_run(folder)
    nameless = not known and bool(steps_kept(folder))
    if (known and known != number) or (nameless and not resumes):
        raise RunError(
            f"{folder} holds another run's checkpoints; choose another run-name, or put back its "
            f"own {RUN}"
        )
    if nameless:
        party_log(party.rank).warning(
            "%s is of an earlier version, which wrote no number of the run; from now on it belongs "
            "to run %s",
            folder,
            number,
        )
