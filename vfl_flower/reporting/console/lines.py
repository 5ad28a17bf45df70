"""Lines on standard output and standard error."""

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from vfl_flower.common.names import party_log
from vfl_flower.common.text.escapes import escaped, escaped_lines


class _SafeConsole(Console):
    """Console without markup, whose text cannot steer the terminal.

    All that is shown passes here, in tables and progress bars too.
    """

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Escape the text of a renderable; keep rich's own control codes."""
        for segment in super().render(renderable, options):
            yield (
                segment if segment.control else segment._replace(text=escaped_lines(segment.text))
            )


out = _SafeConsole(highlight=False, markup=False, emoji=False)
err = _SafeConsole(stderr=True, highlight=False, markup=False, emoji=False)


def say(text: str) -> None:
    """Print one line verbatim."""
    out.print(escaped(text), soft_wrap=True)


@contextmanager
def aside() -> Iterator[None]:
    """Print on standard error, while standard output belongs to a program."""
    out.stderr = True
    try:
        yield
    finally:
        out.stderr = False


def complain(kind: str, text: str) -> None:
    """Print a kind of trouble and its text on standard error."""
    line = Text.assemble((f"{kind}: ", "bold red"), " ".join(text.split()))
    err.print(line, soft_wrap=True)


class _Voice(logging.Handler):
    """Prints a party's progress messages and warnings; its errors go elsewhere."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print one line."""
        if record.levelno == logging.INFO:
            say(f"{record.name.rpartition('.')[2]}: {record.getMessage()}")
        elif record.levelno == logging.WARNING:
            complain("warning", record.getMessage())


@contextmanager
def voices(parties: int) -> Iterator[None]:
    """Print progress messages and warnings of all parties in this process."""
    logs, voice = [party_log(rank) for rank in range(parties + 1)], _Voice()
    for log in logs:
        log.setLevel(logging.INFO)
        log.addHandler(voice)
    try:
        yield
    finally:
        for log in logs:
            log.removeHandler(voice)
            log.setLevel(logging.NOTSET)
