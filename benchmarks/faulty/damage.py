"""Damaged files of half-finished runs, and the outcome of ``--resume``.

A run of three epochs is killed when it begins to write its third checkpoints. In every file of its
folder a bit is flipped, or the file is cut off, emptied, removed, exchanged with that of another
party, or replaced by that of another run. The run may go on, to the results of an unbroken run; or
it is refused in an error that names the file.
"""

import re
import shutil
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.faulty.folders import Content, content_of, differing, without_checkpoints
from benchmarks.faulty.forks import KILLED, Plan, forked
from benchmarks.faulty.kills import AFTER, BEFORE, RUNS, TABLES, spread
from benchmarks.harness.benchmark import Arguments
from benchmarks.harness.report import Report
from tests.helpers.own_data.own import make
from vfl_flower.common.layout import LOG
from vfl_flower.privacy.label_dp.training_labels import NOISED

DAMAGED = ("easter", "vimadmm", "pravfed", "adptvfedconv", "own", "own-seeds")
LONGER = ("--epochs", "3")
ROOT = Path(__file__).resolve().parents[2]
OTHER_SEED = ("--seed", "5")
CHECKPOINT = re.compile(r"^\S+ (.*?)[^/]*/\.?checkpoint-(\d+)\.safetensors")
PARTIES = ("active", "party-1", "party-2")
REFUSED = 2

GOOD = ("same", "same, told", "not read", "refused", "party named")
BAD = ("file not named", "changed, told", "SILENT CHANGE", "TRACEBACK")
"""Outcomes. A change is in weights, metrics or any other file; told means that the file is named.

The same results without a word are those of a file that is not needed, or is written anew; one that
is not read stays as it was damaged, and all others are the same.
"""

Damage = Callable[[], object]


class Half:
    """A run killed halfway, and its unbroken end.

    Parameters
    ----------
    flags : sequence of str
        Command line of the run, without its folder.
    work : Path
        Folder for the runs.

    Raises
    ------
    RuntimeError
        If the unbroken run fails, or the kill does not come.
    """

    def __init__(self, flags: Sequence[str], work: Path) -> None:
        self.flags, self.work, self.out = [*flags, *LONGER], work, work / "run"
        self.kept, self.other = work / "kept", work / "other"
        calls, first = self._unbroken(BEFORE)
        self._point = third_checkpoint(calls)
        self._killed(self.other, OTHER_SEED)
        self._killed(self.out, ())
        noised = any(self.out.rglob(NOISED))
        again = any(name.endswith(NOISED) for name in first) and not noised
        self.expected = self._unbroken(AFTER)[1] if again else first
        self.out.rename(self.kept)
        self.wrong = ""
        if (found := self.outcome(Path("no-such-file"), lambda: None)) != "same":
            raise RuntimeError(f"without damage, the resumed run ends so: {found}, {self.wrong}")

    def files(self) -> list[Path]:
        """Return the files that a resume could read."""
        files = [each for each in self.kept.rglob("*") if each.is_file() and each.name != LOG]
        return sorted(each.relative_to(self.kept) for each in files if each.name[0] != ".")

    def outcome(self, file: Path, damage: Damage) -> str:
        """Damage the folder, resume the run, and classify its end."""
        shutil.rmtree(self.out, ignore_errors=True)
        shutil.copytree(self.kept, self.out)
        damage()
        touched = self._touched()
        ended = forked(["train", "--resume", str(self.out)], noise=AFTER)
        named = file.name in "".join(ended.text.split())  # a terminal's lines are broken
        self.wrong = ended.last.replace(f"{ROOT}/", "") if ended.code else ""
        self.wrong = self.wrong.replace(str(self.out), "RUN")
        if "Traceback" in ended.text or ended.code not in {0, REFUSED}:
            return "TRACEBACK"
        if ended.code:
            by_party = file.parent.name in PARTIES and file.parent.name in ended.text
            return "refused" if named else "party named" if by_party else "file not named"
        left = {name for name, content in touched.items() if content == read(self.out / name)}
        self.wrong = self._changed(left)
        if self.wrong:
            return "changed, told" if named else "SILENT CHANGE"
        return "same, told" if named else "not read" if left else "same"

    def _touched(self) -> dict[str, bytes | None]:
        """Return the damaged files' content by path, None if missing."""
        found = {str(file): read(self.out / file) for file in self.files()}
        return {name: each for name, each in found.items() if each != read(self.kept / name)}

    def _changed(self, left: Collection[str]) -> str:
        """Name the files that differ from the unbroken run's, without some."""
        for name in left:
            shutil.copyfile(self.kept / name, self.out / name)
        try:
            names = differing(ended_content(self.out), self.expected)
            return ", ".join(name for name in names if name not in left)
        except Exception as error:  # a damaged file that was left so
            return f"{type(error).__name__}: {error}"

    def _unbroken(self, noise: int) -> tuple[list[str], Content]:
        out = self.work / f"unbroken-{noise}"
        ended = forked(["train", *self.flags, "--out", str(out)], Plan(out), noise)
        if ended.code:
            raise RuntimeError(f"the unbroken run failed: {ended.text}")
        return ended.calls, ended_content(out)

    def _killed(self, out: Path, more: Sequence[str]) -> None:
        command = ["train", *self.flags, *more, "--out", str(out)]
        ended = forked(command, Plan(out, self._point), BEFORE)
        if ended.code != KILLED:
            raise RuntimeError(f"the run was not killed: {ended.text}")


def third_checkpoint(calls: Sequence[str]) -> int:
    """Return the number of the first call for a run's third checkpoints.

    Of several seeds it is the second's.
    """
    seen = defaultdict[str, dict[str, int]](dict)
    for number, call in enumerate(calls, 1):
        if found := CHECKPOINT.match(call):
            seen[found[1]].setdefault(found[2], number)
    runs = list(seen.values())
    return list(runs[min(1, len(runs) - 1)].values())[2]


def ended_content(folder: Path) -> Content:
    """Return the content of an ended run without checkpoints and logs."""
    for path in folder.rglob("checkpoint-*"):
        path.unlink()
    content = without_checkpoints(content_of(folder))
    names = {name: Path(name).name for name in content}
    return {n: each for n, each in content.items() if names[n] != LOG and names[n][0] != "."}


def damages(half: Half, file: Path, places: int) -> Iterator[tuple[str, Damage]]:
    """Yield kinds of damage to a file, and functions that do it."""
    path, content = half.out / file, (half.kept / file).read_bytes()
    for bit in bits_of(content, places):
        yield "one bit flipped", partial(path.write_bytes, flipped(content, bit))
    for length in {len(content) // 2, len(content) - 1} - {0}:
        yield "cut off", partial(path.write_bytes, content[:length])
    yield "emptied", partial(path.write_bytes, b"")
    yield "removed", path.unlink
    if (half.other / file).exists():
        yield "another run's", partial(shutil.copyfile, half.other / file, path)
    for one, two in zip(PARTIES, (*PARTIES[1:], PARTIES[1]), strict=True):
        swapped = Path(*(two if part == one else part for part in file.parts))
        if one in file.parts and (half.kept / swapped).exists():
            yield "another party's", partial(swap, path, half.out / swapped)


def bits_of(content: bytes, places: int) -> list[int]:
    """Return bits in the first bytes, the head, and the rest."""
    bounds = [0, 8, 512, *np.linspace(512, len(content), places + 1)[1:]]
    rng = np.random.default_rng(len(content))
    parts = [(8 * int(a), 8 * min(int(b), len(content))) for a, b in pairwise(bounds)]
    return [int(rng.integers(a, b)) for a, b in parts if a < b]


def read(path: Path) -> bytes | None:
    """Return the content of a file, None if there is none."""
    return path.read_bytes() if path.exists() else None


def flipped(content: bytes, bit: int) -> bytes:
    """Return content with another bit."""
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def swap(one: Path, two: Path) -> None:
    """Exchange two files."""
    first, second = one.read_bytes(), two.read_bytes()
    one.write_bytes(second)
    two.write_bytes(first)


def damage(given: Arguments, report: Report) -> None:
    """Damage the files of the chosen runs; report counts and failures."""
    counts, failed = defaultdict[str, Counter[str]](Counter), list[tuple[str, ...]]()
    with tempfile.TemporaryDirectory(prefix="vfl-flower-damage-") as folder:
        tables = make(Path(folder, "tables"))
        names = given.damaged.split(",")
        for name in names:
            flags = [word.replace(TABLES, tables) for word in RUNS[name]]
            half = Half(flags, Path(folder, name).resolve())
            tried = [(f, *each) for f in half.files() for each in damages(half, f, given.places)]
            end = time.monotonic() + 60 * given.minutes / len(names)
            for number in spread(range(0, len(tried), given.one_in)):
                if time.monotonic() > end:
                    break
                file, kind, do = tried[number]
                outcome = half.outcome(file, do)
                counts[kind][outcome] += 1
                bad = outcome in BAD
                failed += [(name, str(file), kind, outcome, half.wrong[:200])] if bad else []
    table = report.table(
        f"damaged files of half-finished runs: {given.damaged}",
        {"damage": "", "files": ",", **dict.fromkeys((*GOOD, *BAD), ",")},
    )
    for kind, outcomes in counts.items():
        table.add(kind, outcomes.total(), *(outcomes[each] for each in (*GOOD, *BAD)))
    if failed:
        shown = report.table(
            "damage with another outcome",
            dict.fromkeys(("run", "file", "damage", "outcome", "told or changed"), ""),
        )
        for row in failed:
            shown.add(*row)
