"""Property tests of foreign input, with many new examples each time."""

import os
import sys
from typing import Any
from xml.etree import ElementTree

from tests.long.check import Failed, Job, command

FOLDERS = ("attacks", "common", "crypto", "protocol", "transport")


def fuzz(job: Job) -> dict[str, Any]:
    """Run them with 10^5 examples each, or 20."""
    report = job.work / "fuzz.xml"
    words = [sys.executable, "-m", "pytest", "-m", "hypothesis", "-o", "timeout=0", "-q"]
    words += ["-n", "0" if job.tiny else "2", "-p", "no:cacheprovider", f"--junitxml={report}"]
    profile = "sample" if job.tiny else "long"
    failure = ""
    try:
        command(
            [*words, *(f"tests/{folder}" for folder in FOLDERS)],
            env=os.environ | {"VFL_HYPOTHESIS": profile, "PYTEST_ADDOPTS": ""},
        )
    except Failed as failed:
        failure = f"{failed}\n{failed.found.get('output', '')}"
    cases = ElementTree.parse(report).getroot().iter("testcase")  # noqa: S314  pytest wrote it
    seconds = {f"{case.get('classname')}.{case.get('name')}": case.get("time") for case in cases}
    found = {"profile": profile, "seconds_by_test": seconds}
    if failure or not seconds:
        raise Failed(failure or "no test was found", found)
    return found
