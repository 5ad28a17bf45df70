"""Write the work of programs that build networks themselves: data, batches, weights."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from benchmarks.peers.inside.authors.source import WEIGHTS
from benchmarks.peers.prepare import prepare_rows


def prepare_weights(folder: Path, options: Mapping[str, Any], warm_up: int) -> None:
    """Write a work with the initial weights of all parties; see `prepare_rows`."""
    active, passive = prepare_rows(folder, options, warm_up)
    states = [dict(party.net.state_dict()) for party in (active, *passive)]
    torch.save(states, folder / WEIGHTS)
