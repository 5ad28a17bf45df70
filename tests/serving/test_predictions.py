"""Predictions of a service: those of the command, shared exchanges, failures."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.helpers.connections.services import Caller, calling, service_of, shares_of
from tests.helpers.outcomes.predictions import Finished, read
from vfl_flower.common.errors import ProtocolError
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.workflows.local.predict import predict_rows

EVERY = range(1797)


@pytest.fixture
def caller(finished: Finished, tmp_path: Path) -> Iterator[Caller]:
    with calling(service_of(finished("easter"), tmp_path)) as made:
        yield made


@pytest.mark.parametrize(
    "case", ["easter", "splitnn", "pravfed", "adptvfedconv", "boosted_trees", "local"]
)
def test_predictions_are_those_of_the_command(
    case: str, finished: Finished, tmp_path: Path
) -> None:
    """Bit for bit, where the same rows share an exchange."""
    out = tmp_path / "said.csv"
    predict_rows(finished(case), "all", out)
    _, classes, shares = read(out)
    with calling(service_of(finished(case), tmp_path)) as caller:
        said = caller.predictions(EVERY)
        few = caller.predictions([5, 1796, 5])
    assert [each["prediction"] for each in said] == classes
    assert np.array_equal(shares_of(said), shares.numpy())
    assert [each["id"] for each in few] == [5, 1796, 5]
    assert np.allclose(shares_of(few), shares.numpy()[[5, 1796, 5]], atol=1e-4)
    assert few[0] == few[2]


@pytest.mark.slow
def test_requests_that_come_together_share_an_exchange(finished: Finished, tmp_path: Path) -> None:
    with calling(service_of(finished("easter"), tmp_path, window=300.0)) as caller:
        with ThreadPoolExecutor(8) as pool:
            said = [*pool.map(lambda row: caller.predictions([row])[0], range(8))]
        batches = caller.figure("vfl_batch_rows_count")
        assert caller.figure("vfl_batched_requests_total") == 8
        assert batches < 4
        assert np.allclose(shares_of(said), shares_of(caller.predictions(range(8))), atol=1e-4)


def test_a_request_may_take_several_exchanges(finished: Finished, tmp_path: Path) -> None:
    run = finished("splitnn")
    expected = tmp_path / "said.csv"
    predict_rows(run, "all", expected)
    service = service_of(run, tmp_path)
    object.__setattr__(service.scorer._term.active.cfg, "eval_batch_size", 500)
    with calling(service) as caller:
        said = caller.predictions(EVERY)
    assert np.allclose(shares_of(said), read(expected)[2].numpy(), atol=1e-4)


def test_unknown_rows_are_told_and_not_asked(caller: Caller) -> None:
    asked = caller.figure("vfl_batch_rows_sum")
    said = caller.predictions([1797, -1, 2**70])
    assert {each["status"] for each in said} == {"unknown"}
    assert {each["prediction"] for each in said} == {None}
    assert caller.figure("vfl_batch_rows_sum") == asked


def test_masks_hold_after_a_party_has_failed(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One party's failure leaves the parties' histories different; keys are agreed anew."""
    before, embed = caller.predictions([3, 4]), PassiveParty.embed_rows

    def fail(party: PassiveParty, rows: Any) -> Any:
        if party.rank == 2:
            raise ProtocolError("no")
        return embed(party, rows)

    with monkeypatch.context() as patch:
        patch.setattr(PassiveParty, "embed_rows", fail)
        status, line = caller.refusal([3, 4])
    assert (status, line[:15]) == (502, "party-2 failed;")
    assert caller.predictions([3, 4]) == before


@pytest.mark.slow
def test_a_defect_is_no_end_of_the_service(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    before = caller.predictions([3])
    with monkeypatch.context() as patch:
        patch.setattr("vfl_flower.serving.term.Predicted", None)
        assert caller.refusal([3])[0] == 503
    caller.wait()
    assert caller.predictions([3]) == before


def test_scores_are_counted(caller: Caller) -> None:
    caller.predictions(range(20))
    page = caller.http.get("/metrics").text
    assert 'vfl_score_count{of="predicted class"} 20.0' in page
    counts = [line for line in page.splitlines() if line.startswith("vfl_predictions_total{")]
    assert sum(float(line.split()[-1]) for line in counts) == 20
    assert 'vfl_answers_total{status="predicted"} 20.0' in page
