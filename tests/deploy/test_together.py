"""Programs that are run together end together."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")  # Flower needs it
ROOT = Path(__file__).resolve().parents[2]
CODE = "import os, time; os.write(1, b'%d\\n' % os.getpid()); time.sleep(60)"
SLEEP = [sys.executable, "-S", "-c", CODE]


def started(*words: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "deploy.together", *words]
    return subprocess.Popen(  # noqa: S603
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def numbers(process: "subprocess.Popen[str]", count: int) -> list[int]:
    assert process.stdout
    return [int(process.stdout.readline()) for _ in range(count)]


def gone(number: int) -> bool:
    return not Path(f"/proc/{number}").exists()


@pytest.mark.slow
def test_one_that_is_killed_ends_the_other() -> None:
    process = started(*SLEEP, "--", *SLEEP)
    first, second = numbers(process, 2)
    os.kill(second, signal.SIGKILL)
    told = process.communicate(timeout=30)[1]
    assert process.returncode == 2
    assert "ended (-9), and the others were ended" in told
    assert gone(first)


def test_a_stop_ends_all() -> None:
    process = started(*SLEEP, "--", *SLEEP)
    both = numbers(process, 2)
    process.terminate()
    process.communicate(timeout=30)
    assert process.returncode == 143
    assert all(map(gone, both))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([*SLEEP, "--"], "no program before or after a --"),
        ([*SLEEP, "--", "flower-none"], "flower-none cannot be started"),
    ],
)
def test_a_missing_program_is_told(words: list[str], says: str) -> None:
    process = started(*words)
    assert says in process.communicate(timeout=30)[1]
    assert process.returncode == 2


def commands() -> dict[str, list[str]]:
    """Return the words of all commands in units and compose.yaml."""
    found = {}
    for unit in sorted((ROOT / "deploy/systemd").glob("*.service")):
        joined = unit.read_text().replace("\\\n", " ")
        (line,) = re.findall(r"^ExecStart=(.*)$", joined, re.MULTILINE)
        assert "\nRestart=always\n" in joined
        found[unit.name] = line.split()
    services = yaml.safe_load((ROOT / "deploy/compose.yaml").read_text())["services"]
    for name, service in services.items():
        if name != "flwr":
            assert service["restart"] == "unless-stopped"
            found[name] = service["command"]
    return found


@pytest.mark.parametrize("words", [pytest.param(w, id=name) for name, w in commands().items()])
def test_units_and_containers_run_a_superexec_beside_each_server(words: list[str]) -> None:
    assert Path(words[0]).name == "vfl-flower"
    assert words[1:3] == ["deploy", "together"]
    between = words.index("--")
    server, beside = words[3:between], words[between + 1 :]
    assert server[0] in ("flower-superlink", "flower-supernode")
    assert "--isolation process" in " ".join(server).replace("=", " ")
    assert beside[0] == "flower-superexec"
    assert ("--insecure" in beside) == (server[0] == "flower-supernode")
    assert re.search(r"--runtime-api-address[ =]127\.0\.0\.1:(\d|\$)", " ".join(beside))
