"""Lock file of a release: its packages, with their hashes.

``python -m deploy.lock`` writes it, with the Python and on the kind of machine that releases are
tested with. It asks pip to resolve the dependencies in ``pyproject.toml``, and installs nothing.
The file names no index: whoever installs chooses one, and the hashes decide which files are good.
"""

import json
import platform
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "requirements" / "release.lock"

RELEASED = ("simulation", "images", "audit", "dp", "plots", "serve")
"""Extras in the lock: all that run by themselves; a tracker of runs is its user's choice."""

_HEAD = """\
# All that vfl-flower[{extras}] needs, for CPython {python} on {machine}.
# Written by python -m deploy.lock.
# pip install --require-hashes -r requirements/release.lock
"""
_LINE = re.compile(r"([a-z0-9-]+)==([^\s;]+)((?: --hash=sha256:[0-9a-f]{64})+)")


def _project() -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return project


def dependencies() -> list[Requirement]:
    """Return the dependencies of ``pyproject.toml``, those of `RELEASED` among them."""
    project = _project()
    extras = project["optional-dependencies"]
    texts = [*project["dependencies"], *(text for extra in RELEASED for text in extras[extra])]
    return [Requirement(text) for text in texts]


def tested() -> list[str]:
    """Return the versions that developers' tests are tied to, as requirements."""
    return [text for text in _project()["optional-dependencies"]["dev"] if "==" in text]


def resolved(requirements: Sequence[str]) -> list[dict[str, Any]]:
    """Return pip's report on the packages that it would install."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        pip = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet"]
        options = ["--only-binary=:all:", "--report", str(report)]
        subprocess.run([*pip, *options, *requirements], check=True)  # noqa: S603
        installs: list[dict[str, Any]] = json.loads(report.read_bytes())["install"]
    return installs


def line_of(install: Mapping[str, Any]) -> str:
    """Return the line of one package in the lock file."""
    about, hashes = install["metadata"], install["download_info"]["archive_info"]["hashes"]
    name = canonicalize_name(about["name"])
    return f"{name}=={about['version']} --hash=sha256:{hashes['sha256']}"


def pinned(text: str) -> dict[str, str]:
    """Return the versions in a lock file by package.

    Raises
    ------
    ValueError
        If a line does not pin one version by hash, or a package comes twice.
    """
    versions: dict[str, str] = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        found = _LINE.fullmatch(line)
        if found is None or found[1] in versions:
            raise ValueError(f"no version with its hash, or one more of a package: {line}")
        versions[found[1]] = found[2]
    return versions


def outside(versions: Mapping[str, str], wanted: Iterable[Requirement]) -> list[str]:
    """Return the dependencies that a lock file does not satisfy."""
    return [
        str(each)
        for each in wanted
        if not each.specifier.contains(versions.get(canonicalize_name(each.name), "0.dev0"))
    ]


def main() -> None:
    """Write the lock file."""
    lines = sorted(map(line_of, resolved([*map(str, dependencies()), *tested()])))
    machine = f"{platform.system()} {platform.machine()}"
    python, extras = ".".join(platform.python_version_tuple()[:2]), ",".join(RELEASED)
    head = _HEAD.format(extras=extras, python=python, machine=machine)
    LOCK.parent.mkdir(exist_ok=True)
    LOCK.write_text(head + "\n".join(lines) + "\n")
    sys.stdout.write(f"{len(lines)} packages in {LOCK.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
