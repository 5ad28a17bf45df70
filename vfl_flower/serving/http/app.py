"""HTTP application of a scorer, with its OpenAPI description."""

import asyncio
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response

from vfl_flower.common.errors import PartyError, PartyRefusal
from vfl_flower.common.text.logs import safe_log
from vfl_flower.serving.answers import Scored
from vfl_flower.serving.catalogue import Id
from vfl_flower.serving.http.bodies import PredictRequest, PredictResponse, Refusal
from vfl_flower.serving.http.figures import CONTENT_TYPE, Figures
from vfl_flower.serving.http.page import page_of
from vfl_flower.serving.refusals import IdError, ModelError, TooMany, Unavailable, logged, told
from vfl_flower.serving.scorer import Scorer

log = safe_log("vfl_flower.serving")

STATUS: dict[type[BaseException], HTTPStatus] = {
    IdError: HTTPStatus.UNPROCESSABLE_ENTITY,
    TooMany: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    ModelError: HTTPStatus.CONFLICT,
    PartyRefusal: HTTPStatus.TOO_MANY_REQUESTS,
    Unavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    TimeoutError: HTTPStatus.GATEWAY_TIMEOUT,
    PartyError: HTTPStatus.BAD_GATEWAY,
}
"""HTTP status of an error; the first that fits, and else 500."""

_RETRY = "5"
"""Seconds after which a caller may ask again."""

_REFUSALS = {
    401: "no token, or another one",
    408: "the body did not come in time",
    409: "the model of another run predicts",
    413: "too many ids or bytes",
    422: "ids of a wrong type",
    429: "a party's policy or privacy budget refuses",
    500: "a prediction is not finite, or the service failed",
    502: "a party failed",
    503: "a party is away, or the certificate has expired",
    504: "no answer in time",
}


class Shell:
    """Endpoints over a scorer.

    Parameters
    ----------
    scorer : Scorer
        Started.
    figures : Figures
        Is told of requests.
    most_ids : int
        Ids of one request at most.
    timeout : float
        Seconds that a request waits for its answer.
    fault : callable
        Says in one line what is wrong beside the scorer, or nothing.
    """

    def __init__(
        self,
        scorer: Scorer,
        figures: Figures,
        most_ids: int,
        timeout: float,
        fault: Callable[[], str] = str,
    ) -> None:
        self.scorer, self.figures, self.fault = scorer, figures, fault
        self.most_ids, self.timeout = most_ids, timeout
        self.app = FastAPI(
            title="vfl-flower scoring service",
            description="Predictions of a model whose parts lie at several parties.",
            docs_url=None,  # that page loads scripts from elsewhere
            redoc_url=None,
        )
        refusals: dict[int | str, dict[str, Any]] = {
            status: {"model": Refusal, "description": why} for status, why in _REFUSALS.items()
        }
        add = self.app.add_api_route
        add(
            "/predict",
            self.predict,
            methods=["POST"],
            response_model=PredictResponse,
            responses=refusals,
        )
        add("/health", self.health)
        add("/ready", self.ready, responses={503: {"model": Refusal}})
        add("/metrics", self.metrics, response_class=Response)
        add("/", self.page, response_class=HTMLResponse, include_in_schema=False)
        for kind in (RequestValidationError, HTTPStatus.BAD_REQUEST):  # no JSON at all
            self.app.add_exception_handler(kind, self._invalid)

    async def predict(self, asked: PredictRequest) -> Response:
        """Predict rows by id, all parties together."""
        begun = time.perf_counter()
        try:
            response = self._answered(await self._scored(asked))
        except Exception as error:
            response = self._refused(error)
        self.figures.on_request(response.status_code, time.perf_counter() - begun)
        return response

    async def health(self) -> dict[str, str]:
        """Tell that the process is alive."""
        return {"status": "alive"}

    async def ready(self) -> Response:
        """Tell whether there are predictions now."""
        if trouble := self.scorer.trouble or self.fault():
            return _line(HTTPStatus.SERVICE_UNAVAILABLE, trouble)
        return JSONResponse({"status": "ready", "model": self.scorer.model})

    async def metrics(self) -> Response:
        """Return Prometheus metrics."""
        return Response(self.figures.page(), media_type=CONTENT_TYPE)

    async def page(self) -> str:
        """Return the endpoints as a page without scripts."""
        return page_of(self.app.openapi())

    async def _scored(self, asked: PredictRequest) -> Scored:
        """Wait for the answers to a request."""
        if len(asked.ids) > self.most_ids:
            raise TooMany(f"a request has at most {self.most_ids:,} ids; send several")
        ids: list[Id] = [tuple(each) if isinstance(each, list) else each for each in asked.ids]
        future = asyncio.wrap_future(self.scorer.score(ids, asked.model))
        return await asyncio.wait_for(future, self.timeout)

    def _answered(self, scored: Scored) -> Response:
        for answer in scored.answers:
            self.figures.on_answer(answer.status.value)
        said = [
            {
                "id": each.id,
                "status": each.status.value,
                "prediction": each.prediction,
                "probabilities": each.probabilities,
            }
            for each in scored.answers
        ]
        return JSONResponse({"model": scored.model, "predictions": said})

    def _refused(self, error: Exception) -> Response:
        """Turn an error into a status and one line."""
        kinds = (status for kind, status in STATUS.items() if isinstance(error, kind))
        status = next(kinds, HTTPStatus.INTERNAL_SERVER_ERROR)
        if status == HTTPStatus.INTERNAL_SERVER_ERROR:  # others are logged once, not per request
            log.warning("a request got %d: %s", status, logged(error))
        return _line(status, told(error))

    async def _invalid(self, request: Request, error: Exception) -> Response:
        """Refuse a body that is not as described, without quoting it."""
        self.figures.on_request(HTTPStatus.UNPROCESSABLE_ENTITY)
        return _line(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            'the body must be JSON such as {"ids": [1, 2]}, with Content-Type: application/json; '
            "ids are a list, not empty, of whole numbers or texts, or of lists of these where an "
            "id has several columns",
        )


def _line(status: int, line: str) -> JSONResponse:
    waits = status == HTTPStatus.SERVICE_UNAVAILABLE
    return JSONResponse({"detail": line}, status, {"Retry-After": _RETRY} if waits else None)
