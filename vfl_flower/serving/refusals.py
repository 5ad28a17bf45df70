"""Errors of a service, each with one line for whoever asked."""

import traceback

from vfl_flower.common.errors import (
    PartyAway,
    PartyError,
    PartyRefusal,
    RosterError,
    TrainingError,
    VflError,
    last_line,
)


class Unavailable(VflError):
    """No prediction now; the service may have one later."""


class IdError(VflError):
    """Ids of a request are of another type than the table's."""


class TooMany(VflError):
    """A request has too many ids."""


class ModelError(VflError):
    """A request wants another model than the one that predicts."""


_FOR_CALLERS = (Unavailable, IdError, TooMany, ModelError)


def told(error: BaseException) -> str:
    """Return one line about an error, without paths or values of data."""
    if isinstance(error, _FOR_CALLERS):
        return last_line(error)
    if isinstance(error, PartyRefusal):
        return error.told
    if isinstance(error, PartyAway):
        return f"{_party(error)} is away; ask again later"
    if isinstance(error, PartyError):
        return f"{_party(error)} failed; the log of the service says in which phase"
    if isinstance(error, RosterError):
        return "the parties do not fit together; the log of the service says why"
    if isinstance(error, TimeoutError):
        return "no answer in time; ask again later"
    if isinstance(error, TrainingError):
        return "a prediction is not finite"
    return "the service failed; its log says why"


def logged(error: BaseException) -> str:
    """Return one line about an error, for the service's log.

    It has no values of data: of a defect it is the place alone, for its text may quote anything.
    """
    name = type(error).__name__
    if isinstance(error, VflError):
        return f"{name}: {error}"
    if isinstance(error, TimeoutError):
        return told(error)
    places = [
        f"{each.filename}:{each.lineno}" for each in traceback.extract_tb(error.__traceback__)
    ]
    return f"{name} at {', from '.join(reversed(places[-3:])) or 'an unknown place'}"


def _party(error: PartyError) -> str:
    """Return the party that an error names first."""
    word = str(error).split(" ", 1)[0]
    return word if word.startswith("party-") else "a party"
