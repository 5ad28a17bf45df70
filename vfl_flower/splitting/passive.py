"""Passive party of a split's agreement."""

from collections.abc import Mapping
from pathlib import Path

from flwr.common import Scalar
from torch import Tensor

from vfl_flower.common.codec import to_array
from vfl_flower.common.errors import RunError
from vfl_flower.common.layout import is_split
from vfl_flower.common.names import party_log, party_name
from vfl_flower.config.policy.record import OPEN, Policy
from vfl_flower.config.run_config import RunConfig
from vfl_flower.crypto.identity import Identity
from vfl_flower.data.splitting.record import LEFT_OUT, Split
from vfl_flower.data.splitting.rows import check_told
from vfl_flower.protocol.automaton.arrays import integers
from vfl_flower.protocol.client import ProtocolClient
from vfl_flower.protocol.components import phase
from vfl_flower.splitting.messages import split_facts


class SplitPassive(ProtocolClient):
    """Is told which part each row is in, and keeps it.

    Parameters
    ----------
    cfg : RunConfig
        The run's configuration.
    rank : int
        1 to K.
    size : tuple of int
        Rows of the run, and classes.
    folder : Path or None
        Its own.
    identity : Identity, optional
        Its long-term key, and those that it pins; a split signs nothing.
    policy : Policy
        Of its owner.
    """

    sealed = ("metrics", "released")
    rank = 0  # of the class; each party has its own

    def __init__(
        self,
        cfg: RunConfig,
        rank: int,
        size: tuple[int, int],
        folder: Path | None,
        identity: Identity | None = None,
        policy: Policy = OPEN,
    ) -> None:
        self.cfg, self.rank, self.folder = cfg, rank, folder
        self.identity, self.policy = identity, policy
        self.rows, self.classes = size
        super().__init__()

    def facts(self) -> dict[str, Scalar]:
        """Return facts that must be equal everywhere."""
        return split_facts(self.rows)

    def sizes(self) -> Mapping[str, int]:
        """Return the lengths that the run sets, by symbol."""
        return {**super().sizes(), "R": self.rows}

    @phase(training=False, takes=integers("R", dtype="uint8", low=0, high=LEFT_OUT))
    def keep_split(self, parts: Tensor) -> None:
        """Check the split, and write it to the party's folder.

        (R,) uint8 ->
        """
        name, split = party_name(self.rank), Split(to_array(parts))
        if self.folder is None:
            raise RunError(f"{name} has no folder to keep a split in; set out")
        if is_split(self.folder) and Split.load(self.folder) != split:
            raise RunError(f"{name} has a split of this name already; choose another run-name")
        check_told(self.cfg, split, self.classes)
        split.save(self.folder)
        told = ", ".join(f"{len(rows)} {part}" for part, rows in split.rows.items())
        party_log(self.rank).info("split %s: %s rows", self.cfg.split, told)
