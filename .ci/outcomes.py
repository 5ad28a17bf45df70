"""What tests said: each that failed, with the end of its message, and the count as the last line.

Takes pytest's files of results (JUnit's form); those that are not there are left out.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

SHOWN = 25  # lines of a message
COUNTS = ("tests", "skipped", "failures", "errors")


def failures(suite: ElementTree.Element) -> Iterator[str]:
    """Yield a title and the end of the message of each test that did not pass."""
    for case in suite.iter("testcase"):
        for kind in ("failure", "error"):
            if (found := case.find(kind)) is not None:
                text = (found.text or found.get("message") or "").splitlines()
                title = f"{kind}: {case.get('classname')}::{case.get('name')}"
                yield "\n".join([title, *(f"    {line}" for line in text[-SHOWN:])])


def main(paths: list[str]) -> None:
    """Print the failures of all files, then how many tests passed, failed and were skipped."""
    roots = [ElementTree.parse(path).getroot() for path in paths if Path(path).exists()]  # noqa: S314
    suites = [suite for root in roots for suite in root.iter("testsuite")]
    for suite in suites:
        for failure in failures(suite):
            print(f"\n{failure}")
    total, skipped, *bad = (sum(int(suite.get(key, 0)) for suite in suites) for key in COUNTS)
    print(f"tests: {total - skipped - sum(bad)} passed, {sum(bad)} failed, {skipped} skipped")


if __name__ == "__main__":
    main(sys.argv[1:])
