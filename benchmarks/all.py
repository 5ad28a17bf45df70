"""All benchmarks, one after the other, each with its defaults.

    python -m benchmarks.all --tiny
    python -m benchmarks.all --data-dir DIR --out FOLDER [NAME ...]

A measurement runs in a process of its own. With ``--tiny`` all share this one, which takes about a
minute. Results are written to ``FOLDER/NAME.json``; one benchmark that fails does not stop the
others.
"""

import argparse
import subprocess
import sys
import traceback
from importlib import import_module
from pathlib import Path

from benchmarks.harness.benchmark import Benchmark, name_of

HERE = Path(__file__).parent


def names() -> list[str]:
    """Return the names of all benchmarks, modules and packages."""
    found = [*HERE.glob("*.py"), *HERE.glob("*/__main__.py")]
    return sorted(name_of(path) for path in found if "\nBENCHMARK = " in path.read_text())


def benchmark(name: str) -> Benchmark:
    """Import a benchmark."""
    main = ".__main__" if (HERE / name / "__main__.py").exists() else ""
    found: Benchmark = import_module(f"benchmarks.{name}{main}").BENCHMARK
    return found


def here(name: str, words: list[str]) -> bool:
    """Run a benchmark in this process; tell whether it succeeded."""
    try:
        benchmark(name).run(words)
    except (Exception, SystemExit):
        traceback.print_exc()
        return False
    return True


def apart(name: str, words: list[str]) -> bool:
    """Run a benchmark in its own process; tell whether it succeeded."""
    command = [sys.executable, "-m", f"benchmarks.{name}", *words]
    return subprocess.run(command, check=False).returncode == 0  # noqa: S603


def main() -> None:
    """Run the named benchmarks."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tiny", action="store_true", help="take seconds for each")
    parser.add_argument("--data-dir", default="data", help="folder with the data sets")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="folder for the results")
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[[], *names()])
    given = parser.parse_args()
    failed = []
    for name in given.names or names():
        words = ["--tiny"] if given.tiny else []
        words += ["--json", str(given.out / f"{name}.json")] if given.out else []
        if "data_dir" in benchmark(name).options:
            words += ["--data-dir", given.data_dir]
        print(f"\n== {name}", flush=True)
        failed += [] if (here if given.tiny else apart)(name, words) else [name]
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
