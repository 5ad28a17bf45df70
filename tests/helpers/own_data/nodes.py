"""Three parties of own tables, whose nodes are threads of this process."""

from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import Context, RecordDict

from tests.helpers.connections.streams import RUN, FakeGrid, node, policy_file
from tests.helpers.own_data.own import ROWS, TINY, header, held, make, write
from vfl_flower.common.names import party_name
from vfl_flower.config.policy.record import OPEN
from vfl_flower.config.run_config import RunConfig
from vfl_flower.server_app import main

SETTINGS = {key.replace("_", "-"): value for key, value in TINY.items()} | {"method": "splitnn"}


class World:
    """Three parties' folders and tables, connected by messages only."""

    def __init__(self, root: Path) -> None:
        self.root, self.tables = root, make(root / "tables").split(",")
        self.policy, self.gone = OPEN, frozenset[int]()
        rows = [np.random.default_rng(k).permutation(ROWS)[:50] for k in range(3)]
        (root / "new").mkdir()
        self.new = [
            str(write(root / "new", k, held(k, each), header(k))) for k, each in enumerate(rows)
        ]
        y = ["malignant", "benign"] * (ROWS // 2)
        write(root / "new", 0, held(0, rows[0], [*y]), header(0, "outcome"), label="outcome")

    def state(self, rank: int) -> Path:
        return self.root / party_name(rank)

    def run(self, **options: Any) -> None:
        """Run the app; nodes add their own configuration."""
        given = {key.replace("_", "-"): value for key, value in options.items()}
        policy = str(policy_file(self.root, self.policy))
        own = [
            {"table": self.tables[rank], "new-table": self.new[rank], "policy": policy}
            for rank in range(1, given.get("parties", 3))
        ]
        self.grid = FakeGrid(
            {
                100 + k: node(k, self.state(k + 1), {}, **each).fit
                for k, each in enumerate(own)
                if k + 1 not in self.gone
            },
            overrides=given,
        )
        asked = {**RunConfig().to_mapping(), "dataset": "own", "stream-listen": "127.0.0.1:0"}
        context = Context(RUN, 1, {}, RecordDict(), asked | given)
        main(self.grid, context)  # type: ignore[arg-type]
