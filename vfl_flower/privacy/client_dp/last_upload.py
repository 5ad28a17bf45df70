"""File of a party's last repeatable upload, as it was sent."""

from pathlib import Path

from torch import Tensor

from vfl_flower.common.errors import DamageError
from vfl_flower.common.names import party_log
from vfl_flower.common.state import State, read_state, write_state

LAST = "last-upload.safetensors"


def read_last(count: Path, request: str, rank: int) -> State | None:
    """Return the upload, if it answered a request.

    A damaged one is lost: the next is noised, and counted, anew.

    Parameters
    ----------
    count : Path
        The file that counts uploads, beside which it lies.
    request : str
        Phase and digest of the request.
    rank : int
        The party's.
    """
    path = count.with_name(LAST)
    try:
        earlier = read_state(path) if path.exists() else {"request": ""}
    except DamageError as error:
        party_log(rank).warning("%s; the upload is noised and counted anew", error)
        return None
    return earlier if earlier["request"] == request else None


def write_last(count: Path, request: str, number: int, sent: Tensor) -> None:
    """Write an upload before it is counted.

    Parameters
    ----------
    number : int
        Which upload of the party it is, from 1.
    """
    write_state(count.with_name(LAST), {"request": request, "count": number, "sent": sent})
