"""Results of a made paper."""

from pathlib import Path

import pytest

from benchmarks.reproducing.plan import COMMON
from benchmarks.reproducing.store import Store
from docs.reproducing.pages import made
from docs.reproducing.results import Results
from tests.documentation.reproduction.made import FLAGS, PAPER, point, seed_of


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """Return a paper whose experiments one and two are there."""
    store = Store(tmp_path)
    courses = [[point(1, 0.4), point(2, 0.6)], [point(3, 0.6), point(4, 0.9)]]
    seeds = [seed_of(n, 0.91 + 0.02 * n, course) for n, course in enumerate(courses)]
    for name, of in (("one", seeds), ("two", [seed_of(0, 0.5, courses[0])])):
        flags = FLAGS | COMMON
        record = {"paper": "made", "experiment": name, "flags": flags, "searched": []}
        store.write(record | {"chosen": {"learning-rates": "0.1"}, "seeds": of})
    return Results("made", PAPER, store)


@pytest.fixture
def texts(results: Results) -> dict[str, str]:
    return made([results])
