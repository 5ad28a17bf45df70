"""The lowest versions that pyproject.toml allows: everything installs together, and tests pass."""

import re
import sys
import tomllib
from typing import Any

from tests.long.check import ROOT, Failed, Job, command

REQUIREMENT = re.compile(r"([A-Za-z0-9_-]+)(?:\[[^]]*\])?[^>=]*(?:>=|==)\s*([0-9.]+)")


def lowest_versions(text: str) -> list[str]:
    """Return constraints to the lowest minor versions of a pyproject.toml."""
    project = tomllib.loads(text)["project"]
    extras = project["optional-dependencies"]
    found = []
    ours = [line for name, lines in extras.items() if name not in ("all", "dev") for line in lines]
    for line in dict.fromkeys((*project["dependencies"], *ours)):
        match = REQUIREMENT.match(line)
        if not match:
            raise Failed(f"no lower bound in {line}")
        name, bound = match.groups()
        exact = "==" in line or bound.count(".") >= 2
        padded = bound if "." in bound else f"{bound}.0"
        found.append(f"{name}=={padded}" if exact else f"{name}=={padded}.*")
    return found


def lowest(job: Job) -> dict[str, Any]:
    """Install them in a fresh environment and run the tests.

    The tiny size lists them only.
    """
    constraints = lowest_versions((ROOT / "pyproject.toml").read_text())
    if job.tiny:
        return {"constraints": constraints}
    file, venv = job.work / "constraints.txt", job.work / "venv"
    file.write_text("\n".join(constraints) + "\n")
    command([sys.executable, "-m", "venv", venv])
    command([venv / "bin/pip", "install", "-q", "-c", file, "-e", ".[dev]"])
    frozen = command([venv / "bin/pip", "freeze", "--exclude-editable"]).splitlines()
    found = {"constraints": constraints, "installed": frozen}
    try:
        shown = command([venv / "bin/python", "-m", "pytest", "-q", "-p", "no:cacheprovider"])
    except Failed as failed:
        raise Failed(str(failed), found | failed.found) from None
    return found | {"tests": shown.splitlines()[-1]}
