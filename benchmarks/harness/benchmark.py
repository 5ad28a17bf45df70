"""Harness of all benchmarks: options, measurement, and results as data.

A benchmark is a module of this package with a `Benchmark` called ``BENCHMARK``; its docstring is
its help text. An option has two defaults: that of a measurement, and that of ``--tiny``, which
takes seconds and needs no files from elsewhere.
"""

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from math import inf
from pathlib import Path
from typing import Any

from benchmarks.harness.parallel import gain
from benchmarks.harness.parts import joined
from benchmarks.harness.report import Cell, Report
from vfl_flower.common.errors import VflError
from vfl_flower.common.files import json_bytes, write_atomically
from vfl_flower.common.signals import exit_code
from vfl_flower.common.versions import versions as own_versions
from vfl_flower.config.schema import near

Arguments = argparse.Namespace
PACKAGES = ("numpy", "grpcio", "pynacl", "scipy", "scikit-learn")
CPU_INFO = Path("/proc/cpuinfo")
SAME = object()
"""Says that ``--tiny`` has the default of a measurement."""


PLACES = frozenset(("json", "data_dir", "out", "environments"))
"""Options that name a machine's own folders, which no result keeps."""


@dataclass(frozen=True)
class Option:
    """Option of a benchmark.

    Parameters
    ----------
    default : str, int, float, bool or None
        Value in a measurement; its type is the option's, a text's if it is None.
    tiny : str, int, float, bool or None, optional
        Value under ``--tiny``.
    help : str, optional
        Help text.
    choices : sequence of str, optional
        All values, if there are few.
    least : float, optional
        Least value of a number.
    """

    default: Cell
    tiny: Any = SAME
    help: str = ""
    choices: Sequence[str] = ()
    least: float = -inf

    def value(self, *, tiny: bool) -> Cell:
        """Return the default of a measurement or of ``--tiny``."""
        chosen: Cell = self.tiny if tiny and self.tiny is not SAME else self.default
        return chosen

    def add(self, parser: argparse.ArgumentParser, name: str) -> None:
        """Add the option to a parser, without its defaults."""
        flag = f"--{name.replace('_', '-')}"
        shown = f"{self.help} (default: {self.default})".strip()
        if isinstance(self.default, bool):
            parser.add_argument(flag, action="store_true", help=self.help)
        else:
            among = self.choices or None
            parser.add_argument(flag, type=self._read, help=shown, metavar="X", choices=among)

    def _read(self, text: str) -> Cell:
        """Read a value of the option's type."""
        kind = str if self.default is None else type(self.default)
        try:
            value: Cell = kind(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is no {kind.__name__}") from None
        if isinstance(value, int | float) and not self.least <= value < inf:
            raise argparse.ArgumentTypeError(f"{text} is not {self.least:g} or more")
        return value


DATA_DIR = Option("data", help="folder with the data sets")
OUT = Option(None, help="folder for what the runs write; None: one for the time being")


@dataclass(frozen=True)
class Benchmark:
    """Measurement with its options.

    Parameters
    ----------
    measure : callable
        Fills a report, given the options.
    options : mapping of str to Option
        Options by their names, with underscores.
    known : sequence of str, optional
        Names of which some may follow the options, to choose among experiments.
    few : sequence of str, optional
        Those of them that ``--tiny`` chooses.
    timed : bool, optional
        Whether the gain of two programs side by side is measured before, and kept.
    """

    measure: Callable[[Arguments, Report], None]
    options: Mapping[str, Option]
    known: Sequence[str] = ()
    few: Sequence[str] = ()
    timed: bool = True

    @property
    def name(self) -> str:
        """Name of the module's file, or of the package that it starts."""
        return name_of(Path(str(self._module.__file__)))

    def parsed(self, words: Sequence[str] | None = None) -> Arguments:
        """Parse a command line; ``--tiny`` changes the defaults."""
        parser = self._parser()
        tiny = parser.parse_args(words).tiny
        defaults = {name: option.value(tiny=tiny) for name, option in self.options.items()}
        parser.set_defaults(**defaults)
        given = parser.parse_args(words)
        if self.known:
            if unknown := [name for name in given.names if name not in self.known]:
                parser.error(f"no experiment is called {unknown[0]}{near(unknown[0], self.known)}")
            given.names = given.names or list(self.few if tiny else self.known)
        return given

    def run(self, words: Sequence[str] | None = None) -> Report:
        """Measure and print; write the results where they are asked for."""
        given, report = self.parsed(words), Report()
        described = machine() | {"load_before": round(os.getloadavg()[0], 2)}
        if self.timed:
            described |= {"side_by_side": side_by_side(tiny=given.tiny)}
        started, before = datetime.now(UTC), time.perf_counter()
        try:
            self.measure(given, report)
        except KeyboardInterrupt:
            raise SystemExit(exit_code()) from None
        except VflError as error:
            raise SystemExit(f"error: {error}") from error
        seconds = time.perf_counter() - before
        report.show()
        if given.json:
            options = {key: value for key, value in vars(given).items() if key not in PLACES}
            result = {
                "benchmark": self.name,
                "options": options,
                "date": started.isoformat(timespec="seconds"),
                "seconds": round(seconds, 1),
                "machine": described,
                "versions": versions(),
                **asdict(report),
            }
            if self._is_part(given) and given.json.exists():
                result = joined(json.loads(given.json.read_text()), result, self.known)
            write_atomically(given.json, json_bytes(result))
        return report

    def _is_part(self, given: Arguments) -> bool:
        """Tell whether only some of the names are measured."""
        return bool(self.known) and set(given.names) < set(self.known)

    @property
    def _module(self) -> Any:  # noqa: ANN401
        return sys.modules[self.measure.__module__]

    def _parser(self) -> argparse.ArgumentParser:
        parser = argparse.ArgumentParser(
            prog=f"python -m benchmarks.{self.name}",
            description=self._module.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        parser.add_argument("--tiny", action="store_true", help="take seconds, for a test")
        told = "write the results here, beside those of other NAMEs"
        parser.add_argument("--json", type=Path, metavar="FILE", help=told)
        for name, option in self.options.items():
            option.add(parser, name)
        if self.known:
            shown = ", ".join(self.known).replace("%", "%%")
            parser.add_argument("names", nargs="*", metavar="NAME", help=shown)
        return parser


def name_of(path: Path) -> str:
    """Return the name of the benchmark that a file defines."""
    return path.parent.name if path.stem == "__main__" else path.stem


def machine() -> dict[str, Cell]:
    """Describe the machine: processor, cores, memory in GiB, operating system."""
    lines = CPU_INFO.read_text().splitlines() if CPU_INFO.exists() else []
    models = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "processor": models[0] if models else platform.processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(memory / (1 << 30), 1),
        "system": f"{platform.system()} {platform.machine()}",
    }


def side_by_side(*, tiny: bool) -> float:
    """Measure and print the gain of two programs side by side."""
    found = round(gain(2, tiny=tiny), 2)
    print(
        f"side by side, two programs run {found} times as fast as one after the other", flush=True
    )
    return found


def versions() -> dict[str, str | None]:
    """Return the code's digest and the versions of Python and packages."""
    return own_versions() | {package: _version(package) for package in PACKAGES}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
