"""Decoders of foreign bytes, and mutations of their input."""

import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import torch

from tests.helpers.own_data.own import held, write
from vfl_flower.common.codec import decode, encode
from vfl_flower.common.errors import VflError
from vfl_flower.common.layout import ALIGNMENT
from vfl_flower.common.state import read_state, weights_from_bytes, weights_to_bytes, write_state
from vfl_flower.config.policy.file import read_policy
from vfl_flower.config.run_config import RunConfig, read_toml
from vfl_flower.crypto.identity import make_identity, read_private, read_roster
from vfl_flower.crypto.tls_certificate import make_certificate
from vfl_flower.data.alignment_record import Alignment
from vfl_flower.data.preprocessing.encoder import Encoder
from vfl_flower.data.preprocessing.encoder_columns import Categorical, Numeric
from vfl_flower.data.preprocessing.target import Target
from vfl_flower.data.sources import csv_tables
from vfl_flower.data.sources.csv_catalog import PIMA_TABLE
from vfl_flower.data.tables.description import Description, read_description
from vfl_flower.data.tables.reader import read_table
from vfl_flower.protocol.observer import Evaluation
from vfl_flower.runs.metrics_file import read_metrics
from vfl_flower.transport.stream.frames import Frame, Kind, decode_frame
from vfl_flower.transport.stream.invitation import Invitation, invitation_in, invitation_to

TOKENS = (
    *(b"NaN", b"Infinity", b"-Infinity", b"1e999", b"9" * 400, b"9" * 5000, b"-1", b"0", b"null"),
    *(b"[" * 3000, b'{"a":' * 3000, b"\\ud800", b"\\u0000", b"\x00", b"\xff\xfe", b"\xc3\x28"),
    *(b'"', b"'", b"\n", b"\r", b",", b"]", b"}", b"=", b"\x1b[2J", b"\xe2\x80\xae", b"true"),
    *(b"\xff" * 8, b"\x7f" + b"\xff" * 7, b"\x00" * 8, b"$dict", b"$array", b"999999999999"),
)

CLASSIC: tuple[Any, ...] = (
    *(None, True, -1, 0, 2**63, 2**64, 10**400, 0.5, float("nan"), float("inf"), -float("inf")),
    *("", "x", "\ud800", "\x00", "1" * 5000, b"", b"x", b"\xff" * 100_000, [], {}, [1], "[" * 9999),
)


@dataclass(frozen=True)
class Decoder:
    """A reader of bytes from others or from disk.

    Attributes
    ----------
    name : str
    good : tuple of bytes
        What it reads.
    read : callable
        Raises a `VflError` for what it cannot read.
    """

    name: str
    good: tuple[bytes, ...]
    read: Callable[[bytes], object]


def mutated(content: bytes, draw: random.Random) -> bytes:
    """Change some bytes, or put others in, or leave some out."""
    made = bytearray(content)
    for _ in range(draw.choice((1, 1, 1, 2, 3, 8))):
        at, how = draw.randrange(len(made) + 1), draw.randrange(6)
        if how == 0 and at < len(made):
            made[at] = draw.randrange(256)
        elif how == 1:
            del made[at : at + draw.choice((1, 2, 8, 64))]
        elif how == 2:
            made[at:at] = draw.choice(TOKENS)
        elif how == 3:
            made[at : at + 8] = draw.choice(TOKENS)
        elif how == 4:
            del made[at:]
        else:
            start = draw.randrange(len(made) + 1)
            made[at:at] = made[start : start + draw.choice((1, 8, 64))]
    return bytes(made)


def escapes(decoder: Decoder, count: int, seed: int) -> Iterator[str]:
    """Yield exceptions of mutated inputs that are not this package's errors."""
    draw = random.Random(f"{decoder.name} {seed}")  # noqa: S311  nothing is secret
    for _ in range(count):
        content = mutated(draw.choice(decoder.good), draw)
        try:
            decoder.read(content)
        except VflError:
            pass
        except Exception as error:
            yield f"{decoder.name}: {type(error).__name__}: {error!s:.200} of {content[:200]!r}"


def decoders(folder: Path) -> list[Decoder]:
    """Return all decoders; files are written into the folder."""
    texts = [*_of_json(folder), *_of_toml(folder), *_of_keys(folder)]
    return [*_of_messages(), *_of_state(folder), *texts, *_of_tables(folder)]


def _file(path: Path, read: Callable[[Path], object]) -> Callable[[bytes], object]:
    path.parent.mkdir(parents=True, exist_ok=True)

    def written(content: bytes) -> object:
        path.write_bytes(content)
        path.chmod(0o600)
        return read(path)

    return written


def _of_messages() -> list[Decoder]:
    shapes: list[Any] = [np.zeros((3, 4), np.float32), np.arange(5), np.array(1), np.ones(3, bool)]
    arrays = tuple(encode(each) for each in shapes)
    frames = (
        Frame(Kind.EXCHANGE, 7, {"exchange": 1, "phases": "embed,x", "arrays": "1"}, arrays[:2]),
        Frame(Kind.REPLY, 2**40, {"training": 3, "x": 1.5, "y": True, "\u00e9": "text"}, []),
    )
    return [
        Decoder("array", arrays, decode),
        Decoder("frame", tuple(frame.encode() for frame in frames), decode_frame),
    ]


def _of_state(folder: Path) -> list[Decoder]:
    state = {"step": 3, "tuple": [1, 2.5, None], "b": b"ab", "w": torch.ones(2, 3), "n": {"x": 1}}
    write_state(folder / "state", state)
    kept = Alignment(np.arange(9), 3, 2, "binary", "ab" * 16, "digest")
    kept.save(folder)
    weights = {"weight": torch.ones(2, 3), "bias": torch.zeros(2, dtype=torch.float64)}
    alignment = folder / ALIGNMENT
    return [
        Decoder("state", ((folder / "state").read_bytes(),), _file(folder / "state", read_state)),
        Decoder("weights", (weights_to_bytes(weights),), weights_from_bytes),
        Decoder(
            "alignment",
            (alignment.read_bytes(),),
            _file(alignment, lambda path: Alignment.load(path.parent)),
        ),
    ]


def _of_json(folder: Path) -> list[Decoder]:
    encoder = Encoder(
        (Numeric("a", 1.0, 2.0, 3.0),), (Categorical("b", ("x", "y"), True, "text"),), ("c",)
    )
    each, target = {"active": 0.5}, Target("binary", ("a", "b"))
    evaluation = Evaluation(1, 1, each, each, {"accuracy": each}, 1.5, 3, 40, 50)
    metrics = json.dumps(evaluation.as_dict()).encode() + b"\n"
    return [
        Decoder("encoder", (encoder.to_json(),), _file(folder / "e.json", Encoder.load)),
        Decoder("target", (target.to_json(),), _file(folder / "t.json", Target.load)),
        Decoder(
            "metrics",
            (metrics,),
            _file(folder / "metrics.jsonl", lambda path: read_metrics(path.parent)),
        ),
    ]


def _of_toml(folder: Path) -> list[Decoder]:
    described = b'file = "t.csv"\nid = "id"\nmissing = ["-"]\n[columns]\na = "ignored"\n'
    options = b'method = "easter"\nepochs = 3\nlearning-rates = "0.1"\nmodels = "mlp"\n'
    policy = b'name = "p"\nmethods = ["easter"]\n[data.x]\ntables = ["/x.toml"]\n'
    return [
        Decoder("description", (described,), _file(folder / "d.toml", read_description)),
        Decoder("options", (options,), _file(folder / "o.toml", _options)),
        Decoder("policy", (policy,), _file(folder / "p.toml", read_policy)),
    ]


def _of_keys(folder: Path) -> list[Decoder]:
    make_identity(folder / "identity")
    peers = b"party-1 " + (folder / "identity.pub").read_bytes()
    return [
        Decoder("peers", (peers,), _file(folder / "peers", partial(read_roster, parties=1))),
        Decoder(
            "identity", ((folder / "identity").read_bytes(),), _file(folder / "own", read_private)
        ),
    ]


def _options(path: Path) -> object:
    return RunConfig.from_mapping(read_toml(path))


def _of_tables(folder: Path) -> list[Decoder]:
    rows = np.arange(12)
    few = [[row[0], *row[-3:]] for row in held(0, rows, [*"ab"] * 6)]
    write(folder, 0, few, ["id", "a", "b", "y"], "y")
    table = pa.table({"id": [f"i{n}" for n in range(9)], "a": [0.5 * n for n in range(9)]})
    pa.parquet.write_table(table, folder / "p.parquet")
    pima = PIMA_TABLE.folder, PIMA_TABLE.files[0]
    return [
        Decoder(
            "csv",
            ((folder / "0.csv").read_bytes(),),
            _file(folder / "0.csv", partial(_table, label="y")),
        ),
        Decoder(
            "parquet", ((folder / "p.parquet").read_bytes(),), _file(folder / "q.parquet", _table)
        ),
        Decoder(
            "published",
            (b"6,148,72,35,0,33.6,0.627,50,1\n1,85,66,29,0,26.6,0.351,31,0\n",),
            _file(folder.joinpath(*pima), lambda path: _published(path.parent.parent)),
        ),
    ]


def _table(path: Path, label: str = "") -> object:
    return read_table(Description(path, "id", label), "party-1")


def _published(folder: Path) -> object:
    csv_tables._read.cache_clear()
    return csv_tables.read(PIMA_TABLE, folder)


def invitations(count: int, seed: int) -> Iterator[str]:
    """Yield exceptions of changed invitations that are not this package's errors."""
    draw = random.Random(seed)  # noqa: S311  nothing is secret
    _, certificate = make_certificate()
    good = invitation_to(Invitation("a:1", certificate, 5, 6, bytes(32), 60.0), {"epochs": 3})
    for _ in range(count):
        config: dict[str, Any] = dict(good.config)
        for key in draw.sample([*config], draw.choice((1, 1, 2))):
            config[key] = _changed(config[key], draw)
        try:
            invitation_in(config)
        except VflError:
            pass
        except Exception as error:
            yield f"invitation: {type(error).__name__}: {error!s:.200} of {config!r:.300}"


def _changed(value: object, draw: random.Random) -> object:
    if draw.random() < 0.5:
        return draw.choice(CLASSIC)
    if isinstance(value, bytes):
        return mutated(value, draw)
    return mutated(str(value).encode(), draw).decode(errors="surrogateescape")


Found = Mapping[str, list[str]]


def fuzzed(folder: Path, count: int, seed: int) -> Found:
    """Read `count` mutated inputs with each decoder; return escaped exceptions."""
    found = {each.name: [*escapes(each, count, seed)] for each in decoders(folder)}
    return {**found, "invitation": [*invitations(count, seed)]}
