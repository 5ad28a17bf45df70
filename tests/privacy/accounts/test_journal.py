"""Chained journals: damage, repair, and processes at once."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path

import pytest

from vfl_flower.common.errors import PrivacyError
from vfl_flower.privacy.accounts.journal import Journal, Record


class Numbers(Journal):
    """Remembers numbers."""

    known: list[int]

    def clear(self) -> None:
        self.known = []

    def take(self, record: Record) -> None:
        self.known.append(record["number"])


def written(path: Path, count: int) -> Numbers:
    """Return a journal with some numbers, written by itself."""
    numbers = Numbers(path)
    for number in range(count):
        with numbers.opened():
            numbers.append({"number": number})
    return numbers


def chained(records: Iterable[Record]) -> bytes:
    """Return a journal's content as its description has it."""
    mark, lines = "0" * 64, []
    for record in records:
        text = json.dumps(record)
        mark = sha256((mark + text).encode()).hexdigest()
        lines.append(f"{text} {mark}\n")
    return "".join(lines).encode()


def reread(path: Path) -> list[int]:
    """Return the numbers that another process would find."""
    numbers = Numbers(path)
    with numbers.opened():
        return numbers.known


def test_a_record_is_kept_and_the_file_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "accounts" / "digits.jsonl"
    assert written(path, 3).known == reread(path) == [0, 1, 2]
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_lines_are_chained_as_described(tmp_path: Path) -> None:
    path = tmp_path / "digits.jsonl"
    path.write_bytes(chained([{"number": number} for number in range(3)]))
    assert reread(path) == [0, 1, 2]


DAMAGE: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "a changed line": lambda lines: [lines[0].replace(b"0", b"7", 1), *lines[1:]],
    "a line taken out": lambda lines: lines[1:],
    "a line taken out of the middle": lambda lines: [*lines[:2], *lines[3:]],
    "two lines in another order": lambda lines: [lines[1], lines[0], *lines[2:]],
    "a line twice": lambda lines: [*lines, lines[-1]],
    "no mark": lambda lines: [*lines, b'{"number":5}\n'],
    "another end of the last line": lambda lines: [*lines[:-1], lines[-1][:-1] + b"\x0b"],
    "another record": lambda lines: [*lines, b"\xff\n"],
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_noticed_at_the_start_and_put_right_by_a_copy(
    damage: str, tmp_path: Path
) -> None:
    path = tmp_path / "digits.jsonl"
    written(path, 5)
    before = path.read_bytes()
    path.write_bytes(b"".join(DAMAGE[damage](before.splitlines(keepends=True))))
    numbers = Numbers(path)
    for use in (numbers.opened, numbers.opened):
        with pytest.raises(PrivacyError, match=r"digits.jsonl is damaged"), use():
            pass
    with pytest.raises(PrivacyError, match=r"digits.jsonl is damaged"):
        numbers.read()
    path.write_bytes(before)
    with numbers.opened():
        assert numbers.known == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("change", [lambda b: b[:-90], lambda b: b[:-2] + b"\n", lambda b: b""])
def test_a_cut_or_a_change_while_it_is_in_use_is_noticed(
    change: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    path = tmp_path / "digits.jsonl"
    numbers = written(path, 5)
    path.write_bytes(change(path.read_bytes()))
    for _ in range(2):
        with pytest.raises(PrivacyError, match="was cut or changed while"), numbers.opened():
            pass
    assert numbers.known == [0, 1, 2, 3, 4]


def test_a_line_that_a_crash_cut_short_is_dropped(tmp_path: Path) -> None:
    """Its upload has not left; reading alone changes nothing."""
    path = tmp_path / "digits.jsonl"
    written(path, 3)
    torn = path.read_bytes()[:-30]
    path.write_bytes(torn)
    looked = Numbers(path)
    looked.read()
    assert looked.known == [0, 1]
    assert path.read_bytes() == torn
    numbers = Numbers(path)
    with numbers.opened():
        numbers.append({"number": 9})
    assert reread(path) == numbers.known == [0, 1, 9]


APPENDS = """
import sys
from pathlib import Path
from tests.privacy.accounts.test_journal import Numbers

numbers = Numbers(Path(sys.argv[1]))
for number in range(20):
    with numbers.opened():
        if len(numbers.known) < 30:
            numbers.append({"number": number})
"""


def test_processes_at_once_see_each_others_records(tmp_path: Path) -> None:
    """Together they never exceed a limit that each of them looks at."""
    path = tmp_path / "digits.jsonl"
    command = [sys.executable, "-c", APPENDS, str(path)]
    processes = [subprocess.Popen(command) for _ in range(3)]  # noqa: S603
    assert [each.wait(60) for each in processes] == [0, 0, 0]
    assert len(reread(path)) == 30
