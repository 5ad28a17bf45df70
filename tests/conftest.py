"""Fixtures and collection order of all tests."""

import gc
import os
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from hypothesis import settings

# Two workers keep two cores busy: more threads would wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Equal bit for bit is a promise for the processor. Tests of a GPU start processes of their own.
GPUS = os.environ.get("CUDA_VISIBLE_DEVICES")
os.environ["CUDA_VISIBLE_DEVICES"] = ""

# A busy machine is no failure; and the examples are the same every time, so that a test that fails
# fails because of a change.
settings.register_profile("steady", deadline=None, derandomize=True)
# .ci/long takes new examples every time: very many, or a sample.
settings.register_profile("long", deadline=None, max_examples=100_000, print_blob=True)
settings.register_profile("sample", settings.get_profile("long"), max_examples=20)
settings.load_profile(os.environ.get("VFL_HYPOTHESIS", "steady"))

TOGETHER = ("contract", "reporting", "runs", "analysis", "explain")
"""Folders whose files share trained runs, and so a worker."""

RUNTIMES = (
    "deploy/test_runs",
    "deploy/test_killed",
    "deploy/test_processes",
    "test_simulation_runtime",
    "test_examples",
    "[runtimes]",
)
"""In the names of slow tests that start Flower's runtimes, Ray among them.

One at a time: Ray gives up what has not started after half a minute.
"""

LONGEST = (
    "deploy/test_killed_parties.py",
    "deploy/test_killed_servers.py",
    "deploy/test_runs.py",
    "workflows/test_simulation_runtime.py",
    "contract/test_runs.py",
    "analysis/test_audit.py",
    "runs/test_killed_runs.py",
    "privacy/test_label_privacy.py",
    "methods/test_pravfed.py",
    "methods/test_joint_baselines.py",
    "client_dp/test_uploads_of_runs.py",
    "client_dp/test_output.py",
    "methods/test_adptvfedconv.py",
    "reporting/test_report.py",
)


@pytest.fixture
def known_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave trees' columns in order; let ciphertexts follow from messages."""
    monkeypatch.setattr("vfl_flower.algorithms.boosting.growth.shuffled", lambda columns: columns)
    drawn = SimpleNamespace(randbelow=lambda below: below // 3)
    monkeypatch.setattr("vfl_flower.crypto.paillier.secrets", drawn)


@pytest.fixture(scope="session", autouse=True)
def quick_encryption() -> Iterator[None]:
    """Encrypt gradients under a key that is quick."""
    # torch must not be imported before its threads are set
    from tests.helpers.joint.small_keys import small_keys

    with small_keys():
        yield


@pytest.fixture(scope="session", autouse=True)
def quick_runs() -> Iterator[None]:
    """Leave out waits for the disk, and most trials of searches.

    Files outlive a process without waiting, and no test ends the machine. Runs are too short for
    what the usual number of trials finds out. Tests of these have the usual numbers.
    """
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("os.fsync", lambda file: None)
        patched.setattr("vfl_flower.common.worker.TRIALS", 1)
        patched.setattr("vfl_flower.analysis.explain.permutation._DRAWS", 20)
        patched.setattr("vfl_flower.data.partition.correlation.EXCHANGES", 10)
        yield


@pytest.fixture(scope="session", autouse=True)
def users_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give the tests a home that trusts their own networks."""
    home = tmp_path_factory.mktemp("home")
    path = home / "config.toml"
    path.write_text('trusted-modules = ["tests"]\n')
    path.chmod(0o600)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("VFL_FLOWER_HOME", str(home))
        yield


def pytest_collection_finish() -> None:
    """Exempt modules and tests, which stay, from garbage collection."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


def group_of(item: pytest.Item) -> str:
    """Return the name of the tests that share a worker with one."""
    folder = item.path.parent.name
    if item.get_closest_marker("slow") and any(name in item.nodeid for name in RUNTIMES):
        return "runtimes"
    return folder if folder in TOGETHER else f"{folder}.{item.path.stem}"


@pytest.hookimpl(tryfirst=True)  # before groups are read
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Group tests by workers, and begin with the longest files."""
    for item in items:
        item.add_marker(pytest.mark.xdist_group(group_of(item)))
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.timeout(600))
    rank = {name: rank for rank, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get("/".join(item.path.parts[-2:]), len(LONGEST)))
