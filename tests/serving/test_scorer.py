"""Terms of a scorer: failures, other models, and the end."""

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from tests.helpers.connections.services import PATIENCE
from vfl_flower.common.errors import PartyAway, RosterError
from vfl_flower.serving import scorer as scoring
from vfl_flower.serving.answers import Scored
from vfl_flower.serving.requests import RequestQueue
from vfl_flower.serving.scorer import Scorer

ROW = "c-0017 earns 5321"


class Scripted:
    """Term that fails some times before it answers.

    Parameters
    ----------
    model : str
        Its number, with which it answers.
    failures : Exception
        Raised before all parties are there, each once.
    """

    def __init__(self, model: str, *failures: Exception) -> None:
        self.model, self.failures = model, list(failures)
        self.active = SimpleNamespace(stop=False, request_stop=self.stop)
        self.absent = False

    def stop(self) -> None:
        self.active.stop = True

    def run(
        self,
        queue: RequestQueue,
        tell: Callable[[str], None],
        over: Callable[[], bool],
        watcher: object,
    ) -> None:
        while self.absent and not self.active.stop:
            time.sleep(0.01)
        if self.failures:
            raise self.failures.pop(0)
        tell("")
        while taken := queue.take(10, over):
            for request in taken:
                request.answers.set_result(Scored(self.model, []))


def scorer_of(term: Any) -> Scorer:
    made = Scorer(term, 0.0, SimpleNamespace())
    made.start()
    return made


def answered(scorer: Scorer) -> str:
    """Ask until there is an answer; return the model's number."""
    until = time.monotonic() + PATIENCE
    while scorer.trouble:
        assert time.monotonic() < until, scorer.trouble
        time.sleep(0.01)
    return scorer.score([1]).result(PATIENCE).model


def switched(scorer: Scorer, term: Any) -> None:
    """Switch, and wait until the new term has begun."""
    scorer.switch(term)
    until = time.monotonic() + PATIENCE
    while scorer._next:
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "AGAIN", 0.05)


def test_a_model_that_a_party_lacks_is_not_taken_up(caplog: pytest.LogCaptureFixture) -> None:
    scorer = scorer_of(Scripted("first"))
    assert answered(scorer) == "first"
    switched(scorer, Scripted("second", RosterError("party-2 has model = a, the active party b")))
    assert answered(scorer) == scorer.model == "first"
    assert "RosterError: party-2 has model = a" in caplog.text
    scorer.close()


def test_a_new_model_waits_for_a_party_that_is_away() -> None:
    """It is taken up when the party is back."""
    scorer = scorer_of(Scripted("first"))
    assert answered(scorer) == "first"
    switched(scorer, Scripted("second", *[PartyAway("party-2 left")] * 2))
    assert answered(scorer) == "second"
    scorer.close()


def test_the_latest_of_two_models_is_taken_up() -> None:
    scorer = scorer_of(Scripted("first", *[PartyAway("party-2 left")] * 3))
    for name in ("second", "third"):
        scorer.switch(Scripted(name))  # type: ignore[arg-type]
    assert answered(scorer) == "third"
    scorer.close()


def test_an_end_waits_for_no_party_that_is_not_there() -> None:
    term = Scripted("first")
    term.absent = True
    scorer = scorer_of(term)
    scorer.close()
    assert scorer.wait(0)
    assert scorer.trouble == "the service has ended"


def test_a_defect_is_logged_by_its_place_alone(caplog: pytest.LogCaptureFixture) -> None:
    """Its text may quote anything."""
    scorer = scorer_of(Scripted("first", ValueError(ROW)))
    assert answered(scorer) == "first"
    assert "ValueError at " in caplog.text
    assert "test_scorer.py:" in caplog.text
    assert ROW not in caplog.text
    scorer.close()
