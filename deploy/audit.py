"""Audit of the lock file: known vulnerabilities of the packages in it.

``python -m deploy.audit`` asks pip-audit, and ends with 1 if there is one. Without a network it
says that nothing was audited, and ends with 0.
"""

import json
import subprocess
import sys
from typing import Any

from .lock import LOCK

LONGEST = 300  # seconds

_AWAY = ("connectionerror", "failed to establish", "max retries", "timed out", "proxyerror")


def asked() -> tuple[str, str]:
    """Return pip-audit's findings as JSON, and its words on standard error."""
    pip_audit = [sys.executable, "-m", "pip_audit", "--progress-spinner", "off", "--format", "json"]
    lock = ["--require-hashes", "--disable-pip", "--requirement", str(LOCK)]
    try:
        done = subprocess.run(  # noqa: S603
            [*pip_audit, *lock], capture_output=True, text=True, timeout=LONGEST, check=False
        )
    except subprocess.TimeoutExpired:
        return "", "timed out"
    return done.stdout, done.stderr


def verdict(found: str, said: str) -> tuple[str, int]:
    """Return the summary of an audit, and an exit code.

    Parameters
    ----------
    found : str
        pip-audit's findings; empty if it could not finish.
    said : str
        Its words on standard error.
    """
    if not found.strip():
        if any(each in said.lower() for each in _AWAY):
            return "skipped: no source of vulnerabilities is in reach", 0
        return f"pip-audit failed: {said.strip()[-2000:]}", 1
    packages: list[dict[str, Any]] = json.loads(found)["dependencies"]
    audited = [each for each in packages if "skip_reason" not in each]
    if not audited:
        return "skipped: the source of vulnerabilities in reach knows none of the packages", 0
    bad = [
        f"{each['name']} {each['version']}: {', '.join(known['id'] for known in each['vulns'])}"
        for each in audited
        if each["vulns"]
    ]
    counted = f"{len(audited)} of {len(packages)} packages audited, {len(bad)} vulnerable"
    return "\n".join([counted, *bad]), 1 if bad else 0


if __name__ == "__main__":
    text, code = verdict(*asked())
    sys.stdout.write(f"{text}\n")
    sys.exit(code)
