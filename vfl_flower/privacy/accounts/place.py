"""Place of a node's accounts, and names of runs in them."""

from pathlib import Path

from vfl_flower.common.errors import PrivacyError
from vfl_flower.common.layout import ACCOUNTS
from vfl_flower.common.names import party_name
from vfl_flower.protocol.components import Owner


def accounts_of(folder: Path) -> Path:
    """Return a node's folder of privacy accounts, beside its runs' folders.

    Parameters
    ----------
    folder : Path
        A party's own, in the folder of a run.
    """
    return folder.absolute().parents[1] / ACCOUNTS


def checked_folder(party: Owner) -> Path:
    """Return a party's own folder, beside whose run accounts can be kept.

    Raises
    ------
    PrivacyError
        If it has none, or the run bears the name of the folder of accounts.
    """
    if party.folder is None:
        raise PrivacyError(
            f"{party_name(party.rank)} has no folder for the account that its policy asks for"
        )
    if party.folder.parent.name == ACCOUNTS:
        raise PrivacyError(f"run-name {ACCOUNTS} is taken by the nodes; choose another")
    return party.folder


def run_of(folder: Path) -> str:
    """Return the name under which a run is accounted: run and party.

    One machine may hold several parties.
    """
    return f"{folder.parent.name}/{folder.name}"
