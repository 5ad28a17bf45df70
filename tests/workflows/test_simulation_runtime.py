"""The messages transport on Flower's simulation runtime, by ``flwr run .``."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from deploy.local import QUIET
from deploy.ports import free_port
from tests.helpers.outcomes.commands import train as run
from tests.helpers.outcomes.edits import values_of
from tests.helpers.outcomes.pages import own_network
from vfl_flower.common.names import party_name

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("vfl_flower", "strategies", "clients")
THREE_ACTORS = "client-resources-num-cpus=1 init-args-num-cpus=3"
RAY_GAVE_UP = "The current node timed out during startup"
"""Of Ray, which waits half a minute for its own processes, before a passive party is there."""
ATTEMPTS = 3
ANSI = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Runtime:
    """A copy of the project and its SuperLink's environment."""

    project: Path
    env: dict[str, str]

    def flwr(self, *arguments: str) -> str:
        """Run one ``flwr`` command and return its output."""
        done = subprocess.run(  # noqa: S603
            [str(Path(sys.executable).parent / "flwr"), *arguments],
            cwd=self.project,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )
        return ANSI.sub("", done.stdout)

    def run(self, config: str, supernodes: int = 3) -> str:
        """Run the app with some options, again where Ray gave up."""
        federation = f"num-supernodes={supernodes} {THREE_ACTORS}"
        words = ["run", ".", "--stream", "--federation-config", federation, "--run-config", config]
        new = [each for each in re.findall(r'\bout="(/[^"]+)"', config) if not Path(each).exists()]
        for _ in range(ATTEMPTS):
            log = self.flwr(*words)
            if RAY_GAVE_UP not in log:
                break
            for each in new:  # the active party may have begun it meanwhile
                shutil.rmtree(each, ignore_errors=True)
        return log


def copy_project(target: Path) -> Path:
    """Copy the app's files."""
    target.mkdir()
    for package in PACKAGES:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / package, target / package, ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, target / name)
    return target


def environment(home: Path, port: int, control: int) -> dict[str, str]:
    own = {
        "FLWR_HOME": str(home),
        "FLWR_LOCAL_SUPERLINK_HTTP_API_PORT": str(port),
        "FLWR_LOCAL_CONTROL_API_PORT": str(control),
        "RAY_USAGE_STATS_ENABLED": "0",
        "COLUMNS": "400",
        "PYTHONPATH": str(home.parent / "elsewhere"),  # a user's own network lives there
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "RAY_worker_niceness": "0",  # else other tests at once leave them no processor
    }
    return os.environ | QUIET | own


def wait_for(port: int, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + 40
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise AssertionError(f"the SuperLink did not come up (exit code {process.poll()})")


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    """Start the SuperLink of ``flwr run .`` as our own process."""
    base = tmp_path_factory.mktemp("runtime")
    port, control = free_port(), free_port()
    here = Runtime(copy_project(base / "project"), environment(base / "home", port, control))
    (base / "home").mkdir()
    (base / "elsewhere").mkdir()
    (base / "elsewhere" / "my_networks.py").write_text(own_network())
    process = subprocess.Popen(  # noqa: S603
        [
            str(Path(sys.executable).parent / "flower-superlink"),
            *("--insecure", "--simulation", "--isolation", "subprocess"),
            *("--control-api-address", f"127.0.0.1:{control}"),
            *("--host", "127.0.0.1", "--port", str(port)),
            *("--database", str(base / "state.db")),
        ],
        cwd=here.project,  # the simulated parties import from here
        env=here.env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        wait_for(port, process)
        yield here
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(20)


@pytest.mark.parametrize(("carrier", "split"), [("messages", "stratified"), ("stream", "")])
def test_carriers_equal_local_bit_for_bit(
    carrier: str, split: str, runtime: Runtime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Held-out rows, weights, accuracies and ledgers do not depend on the transport."""
    here, there = tmp_path / "local", tmp_path / carrier
    models = "cnn,lenet,mlp,my_networks:Mine"
    options = 'epochs=2 batch-size=256 train-rows=600 embedding-dim=16 baselines="off"'
    options += f' models="{models}" party-timeout=240.0'  # a busy machine takes long to start them
    options += (
        f' transport="{carrier}"' if carrier == "messages" else ""
    )  # the other is the default
    options += f' split="{split}"' if split else ""
    log = runtime.run(f'out="{there}" {options}')
    assert (there / "result.json").is_file(), log
    monkeypatch.syspath_prepend(runtime.env["PYTHONPATH"])
    flags = ["--epochs", "2", "--batch-size", "256", "--train-rows", "600", "--embedding-dim", "16"]
    flags += ["--baselines", "off", "--party-timeout", "240"]
    flags += ["--split", split] if split else []
    assert run([*flags, "--models", models, "--out", str(here)]) == 0
    for rank in range(4):
        for name in ("model/weights.safetensors", *(["split.safetensors"] if split else [])):
            ours, theirs = (p / party_name(rank) / name for p in (here, there))
            assert ours.read_bytes() == theirs.read_bytes(), f"{party_name(rank)}: {name}"
    local, carried = (values_of(p / "result.json") for p in (here, there))
    assert (local.pop("transport"), carried.pop("transport")) == ("local", carrier)
    for result in (local, carried):
        assert min(result.pop("seconds"), result.pop("peak_memory")) > 0
        assert result.pop("environment")["code"]
        assert result.pop("exchange_ms")["median"] > 0
        result.pop("connections")
    assert local == carried
    lines = [(p / "metrics.jsonl").read_text().splitlines() for p in (here, there)]
    assert len(lines[0]) == len(lines[1]) == 2


def test_a_new_party_joins_as_locally(runtime: Runtime, tmp_path: Path) -> None:
    """Weights do not depend on the transport; the old parties' stay."""
    model, here, there = (tmp_path / name for name in ("model", "local", "messages"))
    flags = ["--method=agg_vfl", "--models=mlp", "--epochs=1", "--batch-size=512"]
    flags += ["--baselines=off", "--blinding=none"]
    assert run([*flags, "--parties=2", "--partition=strips@0-1/3", f"--out={model}"]) == 0
    joining = [*flags, "--parties=3", "--partition=strips", "--new-parties=1", f"--model={model}"]
    assert run([*joining, f"--out={here}"]) == 0
    words = [each.removeprefix("--").partition("=") for each in joining]
    stated = " ".join(f"{k}={v}" if v.isdecimal() else f'{k}="{v}"' for k, _, v in words)
    log = runtime.run(f'out="{there}" party-timeout=240.0 {stated}', supernodes=2)
    assert (there / "result.json").is_file(), log
    for rank in range(3):
        ours, theirs = (p / party_name(rank) / "model/weights.safetensors" for p in (here, there))
        assert ours.read_bytes() == theirs.read_bytes(), party_name(rank)


def test_too_few_supernodes(runtime: Runtime, tmp_path: Path) -> None:
    """The default of two SuperNodes ends in a sentence, not in waiting."""
    out = tmp_path / "out"
    log = runtime.flwr("run", ".", "--stream", "--run-config", f'out="{out}" epochs=1')
    line = next(line for line in log.splitlines() if "RosterError" in line)
    assert "party-3" in line
    assert "party-1" not in line
    assert "num-supernodes=3" in line
    assert not out.exists()  # so that the same command can be given once more
    assert "finished:failed" in runtime.flwr("list", "--format", "json")


def test_unknown_key_is_refused(runtime: Runtime) -> None:
    """By Flower itself, because pyproject.toml declares every option."""
    assert "Invalid run configuration" in runtime.run("epoch=1")


def test_bundle_holds_our_packages_only(runtime: Runtime) -> None:
    """Runs, data and tests do not travel to the parties."""
    (runtime.project / "runs").mkdir(exist_ok=True)
    (runtime.project / "runs" / "result.json").write_text("{}")
    printed = runtime.flwr("build")
    bundles = list(runtime.project.glob("*.fab"))
    assert len(bundles) == 1, printed
    with zipfile.ZipFile(bundles[0]) as bundle:
        names = bundle.namelist()
    bundles[0].unlink()
    top = {name.split("/")[0] for name in names}
    assert set(PACKAGES) <= top
    assert top - set(PACKAGES) <= {"pyproject.toml", ".info", "README.md", "LICENSE"}
    assert all(n.endswith(".py") for n in names if n.split("/")[0] in PACKAGES)
