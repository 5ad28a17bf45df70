"""Tiny runs whose models are served."""

from pathlib import Path

import pytest

from tests.helpers.outcomes.attempts import Attempt
from tests.helpers.outcomes.predictions import Finished, tiny


@pytest.fixture(scope="package")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """Return the folder of a case's tiny run; nobody may change it."""
    root, made = tmp_path_factory.mktemp("runs"), dict[str, Path]()

    def finish(case: str) -> Path:
        if case not in made:
            made[case] = root / case.replace(" ", "-")
            Attempt(tiny(case), made[case]).run()
        return made[case]

    return finish
