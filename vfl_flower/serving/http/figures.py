"""Prometheus metrics of a service."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from vfl_flower.config.catalog import BINARY, MULTI_LABEL, REGRESSION
from vfl_flower.serving.answers import Predicted

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_SECONDS = (0.002, 0.005, 0.01, 0.015, 0.025, 0.06, 0.1, 0.25, 0.5, 1, 2.5, 10, 30)
_ROWS = (1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000)
_SHARES = tuple(n / 20 for n in range(1, 20))
_DEVIATIONS = (-4, -3, -2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3, 4)


class Figures:
    """Counts and distributions of one service.

    Scores are those of all rows together: `vfl_score` has, for each predicted row, the probability
    of the positive of two classes, or of the predicted one of more, or of each label; of a
    regression the prediction's distance from the mean of the training labels, in their deviations.
    Two scrapes around a single prediction tell its interval, so the page needs the token.

    Parameters
    ----------
    ready : callable
        Tells whether there are predictions now.
    """

    def __init__(self, ready: Callable[[], bool]) -> None:
        made = self._registry = CollectorRegistry()
        self._requests = Counter(
            "vfl_requests", "requests by HTTP status", ["status"], registry=made
        )
        self._seconds = Histogram(
            "vfl_request_seconds", "time of a request", buckets=_SECONDS, registry=made
        )
        self._exchange = Histogram(
            "vfl_batch_seconds", "time of a batch at all parties", buckets=_SECONDS, registry=made
        )
        self._rows = Histogram("vfl_batch_rows", "rows of a batch", buckets=_ROWS, registry=made)
        self._shared = Counter("vfl_batched_requests", "requests in all batches", registry=made)
        self._answers = Counter("vfl_answers", "ids by their status", ["status"], registry=made)
        self._classes = Counter(
            "vfl_predictions", "rows by the class that is predicted", ["class"], registry=made
        )
        self._score: Histogram | None = None
        Gauge("vfl_ready", "1 while there are predictions", registry=made).set_function(
            lambda: float(ready())
        )

    def on_request(self, status: int, seconds: float | None = None) -> None:
        """Count a request; without seconds, one that was refused unread."""
        self._requests.labels(str(status)).inc()
        if seconds is not None:
            self._seconds.observe(seconds)

    def on_answer(self, status: str) -> None:
        """Count an id with an answer."""
        self._answers.labels(status).inc()

    def on_batch(self, requests: int, rows: int, seconds: float) -> None:
        """Count a batch; see `Watcher`."""
        self._exchange.observe(seconds)
        self._rows.observe(rows)
        self._shared.inc(requests)

    def on_scores(self, made: Predicted) -> None:
        """Count the scores of a batch; see `Watcher`."""
        if self._score is None:
            buckets = _DEVIATIONS if made.target.task == REGRESSION else _SHARES
            self._score = Histogram(
                "vfl_score", "scores", ["of"], buckets=buckets, registry=self._registry
            )
        for name, scores in scores_of(made).items():
            of_name = self._score.labels(name)
            for score in scores:
                of_name.observe(score)
        if made.target.task not in (REGRESSION, MULTI_LABEL):
            for name in made.decided:
                self._classes.labels(name).inc()

    def page(self) -> bytes:
        """Return the metrics as Prometheus reads them."""
        return generate_latest(self._registry)


def scores_of(made: Predicted) -> dict[str, list[float]]:
    """Return one score of each row, by its meaning."""
    target, values = made.target, made.values
    if target.task == REGRESSION:
        return {"deviations": ((values - target.mean) / target.deviation).tolist()}
    if target.task == MULTI_LABEL:
        return {name: values[:, place].tolist() for place, name in enumerate(target.classes)}
    if target.task == BINARY:
        return {target.positive_class: values[:, target.positive].tolist()}
    return {"predicted class": values.max(axis=1, initial=0).tolist()}
