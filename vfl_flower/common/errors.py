"""Errors of this package.

Every error that a user can cause or mend is a `VflError`. Its text is one line: what is wrong,
which party, and what to do. A command that ends with one exits with code 2.
"""

from collections.abc import Collection, Sequence
from pathlib import Path

from vfl_flower.common.text.escapes import escaped_lines

LONGEST_FACT = 1000
"""Characters of a text that one party tells another at the roll call."""


class VflError(Exception):
    """Base of all errors of this package.

    Parameters
    ----------
    text : str
        May be told to the other parties, and shown; so it cannot steer a terminal.
    detail : str
        What else its own party is told, in its log or on its terminal; it may quote data.
    """

    def __init__(self, text: str = "", detail: str = "") -> None:
        super().__init__(escaped_lines(text))
        self.detail = detail

    def in_full(self) -> str:
        """Return text and detail, for its own party."""
        return f"{self}: {self.detail}" if self.detail else str(self)


class ConfigError(VflError):
    """An option's name is unknown, or its type or value invalid."""


class ExtraError(ConfigError):
    """A package is missing that one of the extras installs."""


class PolicyError(VflError):
    """A policy file cannot be used, or a run breaks a policy."""


class DataError(VflError):
    """A party's columns or labels are missing or unusable."""


class AbsentDataError(DataError):
    """A published data set is not in the data folder."""


class NetworkError(VflError):
    """A network cannot take the columns that a party holds."""


class TrustError(VflError):
    """A file names code that its user has not said to trust."""


class RosterError(VflError):
    """The parties in the roll call are not those of the run.

    Parameters
    ----------
    text : str
        What is told.
    missing : collection of int
        Ranks of the parties that are not there, where nothing else is wrong.
    """

    def __init__(self, text: str, missing: Collection[int] = ()) -> None:
        super().__init__(text)
        self.missing = frozenset(missing)


class ProtocolError(VflError):
    """A request or a reply is not one that the protocol allows."""


class PartyError(VflError):
    """A party failed in, or vanished from, an exchange."""


class PartyRefusal(PartyError):
    """A party's policy or privacy budget refuses a request.

    Parameters
    ----------
    text : str
        Party, phase and reason.
    told : str
        Party and reason alone, for whoever asked for a prediction.
    """

    def __init__(self, text: str, told: str = "") -> None:
        super().__init__(text)
        self.told = told or str(self)


class PartyAway(PartyError):
    """A party is absent; the run continues after its return."""


class StreamError(VflError):
    """A session with the active party cannot be opened or kept."""


class BlindingError(VflError):
    """A value cannot be blinded, or keys cannot be agreed."""


class PrivacyError(VflError):
    """An upload cannot be noised or counted, or the budget is spent."""


class IdentityError(VflError):
    """A party's identity, or one that it pins, cannot be used."""


class RunError(VflError):
    """A run folder cannot be created, continued or read."""


class DamageError(RunError):
    """A state file is missing, or not as it was written."""


class Interrupted(VflError):
    """The user stopped the run; its last checkpoint is kept.

    Parameters
    ----------
    text : str
        What it was stopped at.
    folder : Path or None
        The folder to resume.
    """

    def __init__(self, text: str, folder: Path | None = None) -> None:
        super().__init__(f"{text}; resume {folder}" if folder else text)
        self.text = text

    def of(self, folder: Path) -> "Interrupted":
        """Return the error of several runs, of which it stopped one."""
        return Interrupted(self.text, folder)


class CallbackError(VflError):
    """A user's callback raised an exception."""


class TrainingError(VflError):
    """Training went nowhere: a loss is not finite."""


def printable(text: object) -> str:
    """Convert another party's text to one line that is safe to print.

    At most 500 characters are kept.
    """
    return "".join(c if c.isprintable() else " " for c in str(text)[:500])


def tellable(fact: object) -> bool:
    """Tell whether a fact, if a text, is short and printable."""
    return not isinstance(fact, str) or (len(fact) <= LONGEST_FACT and fact.isprintable())


def last_line(error: object) -> str:
    """Return an error's last line of text, or its class name."""
    lines = str(error).split("\n")
    return lines[-1].strip() or type(error).__name__


def sizes(shape: Sequence[int]) -> str:
    """Format a shape for messages, such as ``3 x 16 x 16``."""
    return " x ".join(map(str, shape))
