"""Tables of new rows, described as those of the run were."""

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import tomli_w

from vfl_flower.common.errors import ConfigError
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
        All parties' new tables, described in toml or not, the active party's first.

    Raises
    ------
    ConfigError
        If a description of the run is needed, and cannot be used any more.
    """
    with TemporaryDirectory(prefix="vfl-flower-") as temporary:
        named = [
            _described_as_trained(trained, rank, file, Path(temporary))
            for rank, file in enumerate(split_list(tables))
        ]
        yield with_tables(trained, ",".join(named))


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
