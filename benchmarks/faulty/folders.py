"""Comparable content of run folders.

Left out is what a fault may change: times, the folder's own path, logs, and counts of control
traffic, which a resume adds to; all other traffic is counted as if nothing had happened. Nonces of
runs and alignments are numbered in the order of their first use, so that files of one run have to
have the same.
"""

import json
import re
from pathlib import Path
from typing import Any

from vfl_flower.common.checksums.sums import KEY
from vfl_flower.common.layout import LOG, WEIGHTS
from vfl_flower.common.state import pack, read_state

PASSING = {"seconds", "exchange", "exchange_ms", "peak_memory", KEY}
"""Entries that are times, memory, numbers of messages, and checksums over them."""

CONTROL = {"control", "automaton"}
"""Control traffic in ledgers, and the place in the protocol, of which it is a part."""

TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?([+-]\d\d:\d\d)?")
NONCE = re.compile(r"\b([0-9a-f]{16}|[0-9a-f]{32})\b")
CHECKSUM = re.compile(rf"(?m)^# {KEY} = .*$")
CHECKPOINT = re.compile(r"/checkpoint-\d+\.safetensors$")

Content = dict[str, Any]


def content_of(folder: Path) -> Content:
    """Return the content of a folder's files by path.

    Empty folders are named too, with a slash.
    """
    return _Reader(folder).content()


def weights_in(content: Content) -> Content:
    """Return the files with weights among those of a folder."""
    return {name: each for name, each in content.items() if name.endswith(WEIGHTS)}


def without_checkpoints(content: Content) -> Content:
    """Remove checkpoints, which lie elsewhere after a stop in order."""
    return {name: each for name, each in content.items() if not CHECKPOINT.search(name)}


def differing(found: Content, expected: Content) -> list[str]:
    """Return the files that only one has, or that differ."""
    names, missing = sorted(found.keys() | expected.keys()), object()
    return [name for name in names if found.get(name, missing) != expected.get(name, missing)]


class _Reader:
    """Reader of the files of one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.nonces: dict[str, str] = {}

    def content(self) -> Content:
        """See `content_of`."""
        paths = {str(path.relative_to(self.folder)): path for path in self.folder.rglob("*")}
        files = {name: self._file(paths[name]) for name in sorted(paths) if paths[name].is_file()}
        empty = [name for name, path in paths.items() if path.is_dir() and not any(path.iterdir())]
        return files | {f"{name}/": None for name in empty}

    def _file(self, path: Path) -> Any:  # noqa: ANN401
        if path.name == LOG or path.name.startswith("."):  # temporary files have no meaning
            return None
        if path.name == WEIGHTS:
            return path.read_bytes()
        if path.suffix == ".safetensors":
            arrays, skeleton = pack(self._kept(read_state(path)))
            return skeleton, {name: (str(x.dtype), x.tobytes()) for name, x in arrays.items()}
        if path.suffix == ".json":
            return self._kept(json.loads(path.read_bytes()))
        if path.suffix == ".jsonl":
            return [self._kept(json.loads(line)) for line in path.read_text().splitlines()]
        return self._text(CHECKSUM.sub("", path.read_text()))

    def _text(self, text: str) -> str:
        text = TIME.sub("TIME", text.replace(str(self.folder), "FOLDER"))
        return NONCE.sub(lambda found: self._number(found[0]), text)

    def _number(self, nonce: str) -> str:
        return self.nonces.setdefault(nonce, f"nonce {len(self.nonces)}")

    def _kept(self, value: Any) -> Any:  # noqa: ANN401
        """Remove passing entries from nested values."""
        if isinstance(value, dict):
            kept = {key: each for key, each in value.items() if key not in PASSING | CONTROL}
            return {key: self._kept(each) for key, each in kept.items()}
        if isinstance(value, list):
            return [self._kept(each) for each in value if not _is_control(each)]
        if isinstance(value, str):
            return self._text(value)
        return value


def _is_control(entry: object) -> bool:
    """Tell whether a ledger's [party, purpose, ...] is of control traffic."""
    return isinstance(entry, list) and entry[1:2] == ["control"]
