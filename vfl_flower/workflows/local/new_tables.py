"""Tables of new rows, described as those of the run were."""

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import tomli_w

from vfl_flower.common.errors import ConfigError
from vfl_flower.common.names import party_name
from vfl_flower.config.dataset_specs import is_table
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.schema import split_list
from vfl_flower.data.tables.description import described_at, with_tables


@contextmanager
def with_new_tables(trained: RunConfig, tables: str) -> Iterator[RunConfig]:
    """Give the configuration of a run with new tables.

    Of a table without a description the same is said as of its party's table at training, by the
    options ``id`` and ``label``, or by a description; that one is copied, with the new file in it.

    Parameters
    ----------
    trained : RunConfig
        Of the run.
    tables : str
        New tables of all parties that are there, described in toml or not, the active party's
        first.

    Raises
    ------
    ConfigError
        If tables of some parties are missing, or a description of the run is needed, and cannot be
        used any more.
    """
    with TemporaryDirectory(prefix="vfl-flower-") as temporary:
        named = {
            rank: _described_as_trained(trained, rank, file, Path(temporary))
            for rank, file in _by_rank(trained, split_list(tables)).items()
        }
        kept = {rank: trained.table_of(rank) for rank in trained.left}
        every = named | kept
        yield with_tables(trained, ",".join(every[rank] for rank in sorted(every)))


def _by_rank(trained: RunConfig, files: list[str]) -> dict[int, str]:
    """Return the tables of parties that are there by rank."""
    ranks = (0, *trained.present)
    if trained.left and len(files) != len(ranks):
        raise ConfigError(
            f"tables names {len(files)} tables, and without {trained.without} there are "
            f"{len(ranks)} parties; name theirs: {', '.join(map(party_name, ranks))}"
        )
    return dict(zip(ranks, files, strict=True)) if trained.left else dict(enumerate(files))


def _described_as_trained(trained: RunConfig, rank: int, file: str, folder: Path) -> str:
    """Return a new table's path, or its description's."""
    if not is_table(file) or rank >= trained.parties:
        return file
    path = Path(trained.table_of(rank))
    if is_table(path.name):
        return file
    try:
        described_at(path, rank)
    except ConfigError as error:
        raise ConfigError(
            f"{Path(file).name} has no description, so that of the run's table counts, and "
            f"{error}; put it back, or describe the new table"
        ) from error
    keys = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    description = folder / f"{rank}.toml"
    keys["file"] = str(Path(file).absolute())
    description.write_text(tomli_w.dumps(keys), encoding="utf-8")
    return str(description)
