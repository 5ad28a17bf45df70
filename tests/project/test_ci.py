"""Steps of continuous integration: whole output, and failures that count."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.outcomes.pages import README, ROOT, commands

SCRIPTS = [ROOT / ".ci" / name for name in ("run", "long")]
SETUP = [command for command in commands(README) if command.startswith("python3 -m venv")]


def steps_of(script: str) -> list[str]:
    lines = [line.strip() for line in script.replace('"', "").splitlines()]
    return [line.removeprefix("step ") for line in lines if line.startswith("step ")]


def job(tmp_path: Path, body: str) -> subprocess.CompletedProcess[str]:
    """Run steps as a job of its own."""
    script = f"set -euo pipefail\nwork={tmp_path}\nsource .ci/steps.sh\n{body}\n"
    return subprocess.run(  # noqa: S603
        ["/usr/bin/env", "bash", "-c", script],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_two_commands_do_the_setup() -> None:
    ends = [command.split(" && ")[-1] for command in SETUP]
    assert ends == [".venv/bin/python run_simulation.py", ".venv/bin/python -m pytest"]


@pytest.mark.parametrize("command", SETUP)
def test_ci_runs_the_setup(command: str) -> None:
    steps = steps_of((ROOT / ".ci/run").read_text())
    for part in command.replace(".venv", "$venv").split(" && "):
        assert part in steps or f"{part} --out $work/run" in steps


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_script_is_executable(path: Path) -> None:
    assert path.stat().st_mode & 0o111


def test_every_track_is_run() -> None:
    script = (ROOT / ".ci/run").read_text()
    bodies = re.findall(r"^(\w+)\(\) \{\n(.*?)^\}", script, re.MULTILINE | re.DOTALL)
    defined = {name for name, body in bodies if re.search(r"^\s+step ", body, re.MULTILINE)}
    started = {
        name for line in re.findall(r"^beside \d+ (.*)", script, re.M) for name in line.split()
    }
    assert defined == started != set()


def test_output_of_tracks_is_in_one_piece(tmp_path: Path) -> None:
    body = """
    a() { for n in 1 2 3; do step echo "a$n"; sleep 0.1; done; }
    b() { for n in 1 2 3; do step echo "b$n"; sleep 0.1; done; }
    c() { step echo c1; }
    beside 2 a b c
    verdict
    echo end
    """
    done = job(tmp_path, body)
    shown = re.findall(r"^([abc]\d|end)$", done.stdout, re.MULTILINE)
    assert done.returncode == 0
    order = "".join(shown)
    assert "a1a2a3" in order
    assert "b1b2b3" in order
    assert order.endswith("end")


def test_a_failure_is_shown_and_counts_at_the_end(tmp_path: Path) -> None:
    body = """
    bad() { step echo before; step sh -c 'echo the reason; exit 3'; step echo after; }
    good() { sleep 0.2; step echo whole; }
    step echo first
    step false
    beside 2 bad good
    verdict && code=0 || code=1
    echo "tests: none"
    exit "$code"
    """
    done = job(tmp_path, body)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert {"first", "before", "whole", "-- failed, exit code 3"} <= set(lines)
    assert "after" not in lines
    assert lines.count("the reason") == 2  # where it happened, and at the end
    assert lines[lines.index("failed:") + 1 :] == [
        "  false",
        "  sh -c echo the reason; exit 3",
        "tests: none",
    ]


def test_a_track_that_breaks_outside_a_step_fails(tmp_path: Path) -> None:
    done = job(tmp_path, "bad() { no_such_command; }\nbeside 2 bad\nverdict")
    assert done.returncode == 1
    assert "  track bad" in done.stdout.splitlines()


def test_failures_are_named_with_their_message_before_the_count(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(
        "import pytest\n"
        "def test_good(): pass\n"
        "def test_bad():\n    value = 3\n    assert value == 4, 'the reason'\n"
        "@pytest.fixture\ndef broken(): raise RuntimeError('no setup')\n"
        "def test_error(broken): pass\n"
        "@pytest.mark.skip\ndef test_skipped(): pass\n"
    )
    results = tmp_path / "tests.xml"
    command = ["-m", "pytest", "-p", "no:cacheprovider", f"--junitxml={results}", str(tmp_path)]
    subprocess.run([sys.executable, *command], capture_output=True, cwd=tmp_path, check=False)  # noqa: S603
    done = subprocess.run(  # noqa: S603
        [sys.executable, ROOT / ".ci/outcomes.py", results, tmp_path / "missing.xml"],
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert "failure: test_some::test_bad" in lines
    assert "error: test_some::test_error" in lines
    assert "the reason" in done.stdout
    assert "no setup" in done.stdout
    assert lines[-1] == "tests: 1 passed, 2 failed, 1 skipped"
