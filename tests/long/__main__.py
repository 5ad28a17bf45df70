"""``python -m tests.long [--tiny] [CHECK ...]``: checks for releases, which take hours.

    .ci/long --out RESULTS
    .ci/long --tiny soak kills

Each writes ``CHECK.json`` into the folder of results. ``--tiny`` takes a sample of each, of about a
minute.
"""

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.long.check import Job, command, run
from tests.long.decoders import decoders
from tests.long.faults import faults
from tests.long.fuzz import fuzz
from tests.long.kills import kills
from tests.long.ranges import ranges
from tests.long.requests import requests
from tests.long.soak import soak
from tests.long.tables import tables


def benchmarks(job: Job) -> dict[str, Any]:
    """Run all benchmarks; their results are in a folder of their own."""
    words = ["--tiny"] if job.tiny else ["--data-dir", job.data_dir]
    folder = job.out / "benchmarks"
    command([sys.executable, "-m", "benchmarks.all", *words, "--out", folder])
    return {"results": sorted(path.name for path in folder.iterdir())}


CHECKS = {
    "kills": kills,  # first: it forks, and this process has no threads yet
    "faults": faults,
    "soak": soak,
    "fuzz": fuzz,
    "requests": requests,
    "decoders": decoders,
    "tables": tables,
    "ranges": ranges,
    "benchmarks": benchmarks,
}


def main() -> None:
    """Run the named checks."""
    parser = argparse.ArgumentParser(
        prog=".ci/long", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tiny", action="store_true", help="take a sample of each")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="folder for the results")
    parser.add_argument("--data-dir", default="data", help="folder with the data sets")
    parser.add_argument("checks", nargs="*", metavar="CHECK", help=", ".join(CHECKS))
    given = parser.parse_args()
    if unknown := [name for name in given.checks if name not in CHECKS]:
        parser.error(f"no check is called {unknown[0]}; there are {', '.join(CHECKS)}")
    out = (given.out or Path(tempfile.mkdtemp(prefix="vfl-flower-long-"))).resolve()
    failed = []
    for name in [name for name in CHECKS if not given.checks or name in given.checks]:
        print(f"\n== {name}", flush=True)
        with tempfile.TemporaryDirectory(prefix=f"vfl-flower-{name}-") as work:
            passed = run(name, CHECKS[name], Job(given.tiny, Path(work), out, given.data_dir))
        print(f"-- {'passed' if passed else 'failed'}", flush=True)
        failed += [] if passed else [name]
    print(f"\nresults are in {out}")
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
