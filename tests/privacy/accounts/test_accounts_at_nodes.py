"""A node keeps accounts in its state folder, for all runs."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from flwr.common import FitIns, GetPropertiesIns

from tests.helpers.connections.streams import node, policy_file
from tests.privacy.accounts.parties import policy
from vfl_flower.common.codec import to_parameters
from vfl_flower.config.registry import method_options
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.schema import kebab
from vfl_flower.config.settings import COMMON
from vfl_flower.data.splitting.rows import rows_of
from vfl_flower.privacy.accounts.account import Account
from vfl_flower.workflows.flower_node import Node

DEFAULTS = {kebab(name): each.default for name, each in (COMMON | method_options()).items()}
RUN: dict[str, Any] = {"method": "splitnn", "models": "mlp", "epochs": 0, "dp-sigma": 2.0}


class Asked:
    """The first node, in one of its runs."""

    def __init__(self, folder: Path, largest: float, **run: Any) -> None:
        rules = policy_file(folder, policy(largest_epsilon=largest))
        self.node: Node = node(0, folder / "state", DEFAULTS | RUN | run, policy=str(rules))
        self.endpoint = self.node.rebuilt()

    def roll_call(self) -> str:
        return str(self.node.get_properties(GetPropertiesIns({})).properties.get("message", ""))

    def upload(self, exchange: int) -> str:
        """Ask a party built for it for one upload; return its error."""
        rows = rows_of(RunConfig(), 1797)["test"][:20]
        config: dict[str, Any] = {"exchange": exchange, "phases": "embed_only", "arrays": "1"}
        res = self.endpoint.fit(FitIns(to_parameters([rows]), config))
        return str(res.metrics.get("message", ""))


@pytest.mark.parametrize("names", [("bank", "shop", ""), ("bank", "bank", "bank")])
def test_runs_of_any_name_share_the_account_of_the_nodes_state_folder(
    names: tuple[str, ...], tmp_path: Path
) -> None:
    sent = []
    for name in names:
        asked = Asked(tmp_path, 5.0, **{"run-name": name})
        sent.append(sum(not asked.upload(exchange) for exchange in (1, 2, 3)))
        for folder in (tmp_path / "state").glob("*/party-1"):
            shutil.rmtree(folder.parent)
    assert sent == [3, 1, 0]
    told = asked.upload(4)
    assert told.endswith("rule largest-epsilon: 5 over all runs on 'numbers' leaves none with "
                         "dp-sigma 2")  # fmt: skip
    assert asked.roll_call().endswith("leaves 0 uploads with dp-sigma 2, and this run takes 1")
    account = Account(tmp_path / "state" / "accounts" / "numbers.jsonl")
    account.read()
    assert account.epsilon(1e-5) <= 5
    assert sum(block.uploads for block in account.blocks) == 4


def test_a_run_without_noise_is_refused_at_the_roll_call(tmp_path: Path) -> None:
    told = Asked(tmp_path, 5.0, **{"dp-sigma": 0.0}).roll_call()
    assert told.startswith("policy 'shop' refuses this run by its rule largest-epsilon")
