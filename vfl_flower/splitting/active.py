"""Active party of a split's agreement."""

from pathlib import Path

from flwr.common import Scalar

from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.splitting.record import Split
from vfl_flower.protocol.exchange import Protocol, ask
from vfl_flower.protocol.strategy import Coordinator
from vfl_flower.splitting.messages import split_facts


class SplitActive(Coordinator):
    """Tells all parties which part each row is in.

    Parameters
    ----------
    cfg : RunConfig
        The run's configuration.
    split : Split
        As it was drawn.
    out : Path
        The party's own folder.
    """

    def __init__(self, cfg: RunConfig, split: Split, out: Path) -> None:
        self.cfg, self.split, self.out, self.folder = cfg, split, out, None
        super().__init__()

    def facts(self) -> dict[str, Scalar]:
        """Return facts that must be equal everywhere."""
        return split_facts(len(self.split.parts))

    def protocol(self) -> Protocol:
        """Tell the split, and keep it once every party has kept it."""
        yield ask("keep_split", self.split.parts, purpose="control")
        self.split.save(self.out)
