"""What a person sees: a progress bar or lines, and the tables at the end."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.text import Text

from vfl_flower.common.names import party_log

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def say(text: str) -> None:
    """Print one line as it is, brackets and all."""
    out.print(text, markup=False, soft_wrap=True)


@contextmanager
def aside() -> Iterator[None]:
    """Print on standard error for a while, where standard output is a program's."""
    out.stderr = True
    try:
        yield
    finally:
        out.stderr = False


def complain(kind: str, text: str) -> None:
    """Print one line on standard error: what kind of trouble, and the text as it is."""
    line = Text.assemble((f"{kind}: ", "bold red"), " ".join(text.split()))
    err.print(line, soft_wrap=True)


class Voice(logging.Handler):
    """Prints what a party says of its progress; its errors go elsewhere."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print one line."""
        if record.levelno == logging.INFO:
            say(f"{record.name.rpartition('.')[2]}: {record.getMessage()}")


@contextmanager
def voices(parties: int) -> Iterator[None]:
    """Let the active and so many passive parties of this process be heard."""
    logs, voice = [party_log(rank) for rank in range(parties + 1)], Voice()
    for log in logs:
        log.setLevel(logging.INFO)
        log.addHandler(voice)
    try:
        yield
    finally:
        for log in logs:
            log.removeHandler(voice)
            log.setLevel(logging.NOTSET)
