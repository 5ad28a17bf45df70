"""Names of the files in a run folder."""

from collections.abc import Iterable
from pathlib import Path


def checkpoint_path(folder: Path, step: int) -> Path:
    """Return where the checkpoint of one step lies."""
    return folder / f"checkpoint-{step:09d}.safetensors"


def steps_kept(folder: Path) -> list[int]:
    """Return the steps of which a folder holds checkpoints, in order."""
    names = folder.glob("checkpoint-" + "[0-9]" * 9 + ".safetensors")
    return sorted(int(path.stem.removeprefix("checkpoint-")) for path in names)


ALIGNMENT, BEGUN = "alignment.safetensors", "alignment-begun"
"""A party's part of an alignment; and of one that has begun, the question, so that the same one may
be asked again."""


def is_aligned(folder: Path) -> bool:
    """Tell whether a party's folder holds its part of an alignment."""
    return (folder / ALIGNMENT).is_file()


ROW_SETS = "row-sets.txt"
"""Of a party whose rows others may lack: whose sums its rows were in."""

SUBSETS = "subsets.safetensors"
"""Of a passive party that draws subsets of parties with the others: its share of their secret."""

SPLIT = "split.safetensors"


def is_split(folder: Path) -> bool:
    """Tell whether a party's folder holds the split that it was told."""
    return (folder / SPLIT).is_file()


MODEL = "model"
WEIGHTS, CONFIG, CARD, NETWORK = "weights.safetensors", "config.toml", "card.md", "network.json"
ENCODER, TARGET, RANGES = "encoder.json", "target.json", "ranges.json"


def model_of(folder: Path) -> Path:
    """Return where a party's model folder is, in the party's own."""
    return folder / MODEL


ACCOUNTS, USERS = "accounts", "config.toml"
"""Of privacy accounts, and of the user's own configuration, beside the folders of runs."""

SEEDS, FOLDS = "seeds.json", "folds.json"
PROFILE = "profile.json"
LOG, RUN = "log.txt", "run.json"

TABLE = Path("table", "table.toml")
"""Description of a table that lies in the folder of its party, beside the table."""


def tables_in(folder: Path, parties: Iterable[str]) -> str:
    """Return paths of the descriptions in a run's own folder."""
    return ",".join(str(folder.absolute() / party / TABLE) for party in parties)
