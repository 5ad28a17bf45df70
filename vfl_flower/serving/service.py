"""Service: scorer, HTTP, and renewal of model and secrets."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event
from types import FrameType
from typing import Protocol as Interface

from vfl_flower.common.errors import Interrupted, VflError
from vfl_flower.common.signals import stopped_by
from vfl_flower.common.text.logs import safe_log
from vfl_flower.reporting.console.lines import say
from vfl_flower.serving.http.app import Shell
from vfl_flower.serving.http.figures import Figures
from vfl_flower.serving.http.server import Access, HttpServer, listening_at
from vfl_flower.serving.options import ServiceOptions
from vfl_flower.serving.refusals import logged
from vfl_flower.serving.scorer import Scorer
from vfl_flower.serving.term import Term

log = safe_log("vfl_flower.serving")

LOOK = 1.0
"""Seconds between looks at the files of a service."""

Stamp = tuple[object, ...]
"""Fingerprint of files: it changes when one of them does."""


def stamp_of(*paths: Path) -> Stamp:
    """Fingerprint files, links followed; a missing one has none."""
    found = [path.stat() if path.is_file() else None for path in paths]
    return tuple(about and (about.st_ino, about.st_size, about.st_mtime_ns) for about in found)


class Source(Interface):
    """Source of a service's models."""

    def stamp(self) -> Stamp:
        """Fingerprint the model that is to predict."""

    def term(self) -> Term:
        """Load it, with all that it needs."""


class Service:
    """Answers over HTTP with the latest model of a source.

    Token, certificate and model are looked at every second, and taken up when they change; what
    cannot be used is logged in one line, and the former stays.

    Parameters
    ----------
    source : Source
        Of the model.
    options : ServiceOptions
        Address, access and limits.

    Raises
    ------
    VflError
        If the model cannot be loaded, or a file cannot be used.
    """

    def __init__(self, source: Source, options: ServiceOptions) -> None:
        self.options, self._source, self._stop = options, source, Event()
        self._files = self._stamp()
        self._access = Access(options)
        figures = Figures(lambda: not self.scorer.trouble)
        with ExitStack() as unless_made:
            listening = listening_at(options.address)  # before the slow loading of parties
            unless_made.callback(listening.close)
            self._model: Stamp | None = source.stamp()
            self.scorer = Scorer(source.term(), options.window / 1000, figures)
            unless_made.pop_all()
        shell = Shell(self.scorer, figures, options.most_ids, options.timeout, self._access.fault)
        grace = options.timeout + 1  # by then each request in hand has an answer, be it 504
        self.http = HttpServer(shell.app, self._access, listening, figures.on_request, grace)

    def run(self) -> None:
        """Serve until it is stopped.

        Raises
        ------
        Interrupted
            Afterwards; requests in hand were answered.
        """
        with stopped_by(self._stopped), self.running():
            say(f"serving on {self.http.url}")
            while not self._stop.is_set() and not self.scorer.wait(LOOK):
                self.look()
        raise Interrupted("the service was stopped; requests in hand were answered")

    @contextmanager
    def running(self) -> Iterator[None]:
        """Answer requests while the context lasts."""
        self.scorer.start()
        try:
            with self.http:
                yield
        finally:
            self.scorer.close()

    def look(self) -> None:
        """Take up files that have changed."""
        if (files := self._stamp()) != self._files:
            self._files = files
            _tried("the token", self._access.renew_token)
            _tried("the certificate", self._access.renew_certificate)
        _tried("the model", self._look_at_model)

    def _look_at_model(self) -> None:
        try:
            stamp: Stamp | None = self._source.stamp()
        except VflError:
            if self._model is None:  # it was told of
                return
            self._model = None
            raise
        if stamp != self._model:
            self._model = stamp
            self.scorer.switch(self._source.term())

    def _stamp(self) -> Stamp:
        options = self.options
        named = (options.token, options.certificate, options.key)
        return stamp_of(*(Path(each) for each in named if each))

    def _stopped(self, number: int, frame: FrameType | None) -> None:
        self._stop.set()


def _tried(what: str, work: Callable[[], object]) -> None:
    """Do some work; log its error in one line."""
    try:
        work()
    except Exception as error:  # a defect in loading is no end of the service either
        log.warning("%s cannot be taken up, and the former stays: %s", what, logged(error))
