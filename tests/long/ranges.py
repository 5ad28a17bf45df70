"""Both ends of the dependencies' ranges, with equal results."""

import json
import re
import sys
import tomllib
from hashlib import sha256
from pathlib import Path
from typing import Any

from tests.long.check import ROOT, Failed, Job, command

REQUIREMENT = re.compile(r"([A-Za-z0-9_-]+)(?:\[[^]]*\])?[^>=]*(?:>=|==)\s*([0-9.]+)")
EXTRAS = ("simulation", "images", "audit", "dp", "plots", "tensorboard")
"""Extras that are installed; of the others each has tests of its own, where it is installed."""

TOOLS = ("pytest", "pytest-timeout", "pytest-xdist", "hypothesis")
TESTS = (
    *("tests/config/test_extras.py", "tests/cli/test_completion.py", "tests/data/tables"),
    *("tests/learning/networks/test_networks.py", "tests/learning/test_optimizer.py"),
    *("tests/learning/test_randomness.py", "tests/methods/test_add_method.py"),
    *("tests/methods/test_baselines.py", "tests/methods/test_joint_conv.py"),
    *("tests/interface", "tests/reporting", "tests/analysis/test_audit_reconstruct_command.py"),
)
RUN = ("--models", "mlp", "--epochs", "3", "--baselines", "off")
SHOWN = """
import json, sys
from importlib.metadata import version
print(json.dumps({name: version(name) for name in sys.argv[1:]}))
"""


def declared(text: str) -> list[str]:
    """Return the requirements of a pyproject.toml with `EXTRAS`."""
    project = tomllib.loads(text)["project"]
    extras = project["optional-dependencies"]
    ours = [line for name in EXTRAS for line in extras.get(name, ())]
    return [*dict.fromkeys((*project["dependencies"], *ours))]


def lowest_versions(text: str) -> list[str]:
    """Return constraints to the lowest versions of a pyproject.toml.

    A bound of one or two numbers means the first release of that series.
    """
    found = {}
    for line in declared(text):
        match = REQUIREMENT.match(line)
        if not match:
            raise Failed(f"no lower bound in {line}")
        name, bound = match.groups()
        missing = 0 if "==" in line else 2 - bound.count(".")
        found[name] = f"{name}=={bound}{'.0' * missing}"
    return [*found.values()]


def tried(python: Path, out: Path) -> dict[str, Any]:
    """Run the tests and a training in an environment.

    Returns
    -------
    dict
        Versions of the dependencies, the digest of the trained weights, the tests' last line.
    """
    names = [line.partition("==")[0] for line in lowest_versions(_pyproject())]
    found = {"versions": json.loads(command([python, "-c", SHOWN, *names]))}
    try:
        command([python, "-m", "vfl_flower", "train", *RUN, "--out", out])
        digest = sha256()
        for path in sorted(out.rglob("model/weights.safetensors")):
            digest.update(path.read_bytes())
        found["weights"] = digest.hexdigest()[:16]
        shown = command([python, "-m", "pytest", "-q", "-n", "1", "-p", "no:cacheprovider", *TESTS])
    except Failed as failed:
        raise Failed(str(failed), found | failed.found) from None
    return found | {"tests": shown.splitlines()[-1]}


def ranges(job: Job) -> dict[str, Any]:
    """Install both ends, and the core alone; run the tests in each.

    Results of both ends must be equal.

    The tiny size lists the lowest versions only.
    """
    constraints = lowest_versions(_pyproject())
    if job.tiny:
        return {"constraints": constraints}
    file = job.work / "constraints.txt"
    file.write_text("\n".join(constraints) + "\n")
    project = f".[{','.join(EXTRAS)}]"
    found: dict[str, Any] = {}
    ends: dict[str, list[str | Path]] = {"lowest": ["-c", file], "newest": []}
    for end, options in ends.items():
        python = _installed(job.work / end, *options, "-e", project, *TOOLS)
        found[end] = tried(python, job.work / f"run-{end}")
    python = _installed(job.work / "core", "-e", ".")
    command([python, "-m", "vfl_flower", "train", *RUN, "--out", job.work / "run-core"])
    if found["lowest"]["weights"] != found["newest"]["weights"]:
        raise Failed("the two ends come to different weights", found)
    return found


def _pyproject() -> str:
    return (ROOT / "pyproject.toml").read_text()


def _installed(venv: Path, *words: str | Path) -> Path:
    """Make an environment and return its Python."""
    command([sys.executable, "-m", "venv", venv])
    command([venv / "bin/pip", "install", "-q", *words])
    return venv / "bin/python"
