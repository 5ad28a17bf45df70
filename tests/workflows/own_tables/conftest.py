"""Own tables of three parties, and runs on them."""

from pathlib import Path

import pytest

from tests.helpers.outcomes.commands import train
from tests.helpers.own_data.own import flags, make
from tests.helpers.own_data.own_predictions import Finished


@pytest.fixture(scope="package")
def tables(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make(tmp_path_factory.mktemp("tables"))


@pytest.fixture(scope="package")
def finished(tables: str, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """Return the folder of a method's run; nobody may change it."""
    root, made = tmp_path_factory.mktemp("runs"), dict[tuple[str, ...], Path]()

    def finish(*more: str) -> Path:
        if more not in made:
            made[more] = root / str(len(made))
            assert train(flags(tables, made[more], *more)) == 0
        return made[more]

    return finish
