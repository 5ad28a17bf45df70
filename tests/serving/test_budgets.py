"""Privacy budgets of parties that serve."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.helpers.connections.services import calling, service_of
from tests.helpers.outcomes.attempts import Attempt
from tests.helpers.outcomes.commands import predict, train
from tests.helpers.outcomes.predictions import NAMES, tiny
from tests.helpers.own_data.own import flags, make
from vfl_flower.privacy.client_dp.upload_log import Uploads


def test_a_spent_budget_is_refused_in_one_line(tmp_path: Path) -> None:
    """Each exchange is an upload that counts; unknown ids cost nothing."""
    run = tmp_path / "run"
    cfg = replace(tiny("splitnn"), target_epsilon=6.0, dp_sigma=4.0)
    Attempt(cfg, run).run()
    before = Uploads(run / NAMES[1]).counts()["evaluation"]
    with calling(service_of(run, tmp_path)) as caller:
        answered = 0
        while (response := caller.ask([answered])).status_code == 200:
            answered += 1
            caller.predictions([5000])
            assert answered < 1000
        status, line = caller.refusal([0, 1])
    assert response.status_code == status == 429
    assert line.startswith("party-1 has spent its privacy budget: target-epsilon 6 allows ")
    assert answered > 0
    assert Uploads(run / NAMES[1]).counts()["evaluation"] == before + answered


@pytest.mark.slow
def test_a_budget_need_not_last_for_all_rows_of_new_tables(tmp_path: Path) -> None:
    """A prediction of all is refused, and a service begins."""
    tables, run = make(tmp_path / "tables"), tmp_path / "run"
    budget = "--method=splitnn --target-epsilon=6 --dp-sigma=4 --eval-batch-size=8"
    assert train([*flags(tables, run), *budget.split()]) == 0
    words = [str(run), f"--tables={tables}", f"--out={tmp_path / 'said.csv'}"]
    assert predict(words) == 2
    with calling(service_of(run, tmp_path, tables)) as caller:
        every = [f"id-{row:03d}" for row in range(240)]
        assert len(caller.predictions(every[:1])) == 1
        status, line = caller.refusal(every)
        assert status == 429
        assert "privacy budget" in line
