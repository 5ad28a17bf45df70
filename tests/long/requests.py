"""Random requests end in an allowed answer or our error."""

import logging
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.helpers.blinding import agree
from tests.helpers.contract import CASES, Tap, configured, used
from tests.helpers.joint.small_keys import small_keys
from tests.long.check import Failed, Job
from vfl_flower.common import errors
from vfl_flower.common.codec import Array, to_array
from vfl_flower.common.state import pack, unpack
from vfl_flower.config.run_config import RunConfig
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.protocol.automaton.machine import Automaton
from vfl_flower.protocol.automaton.rules import Rows
from vfl_flower.protocol.components import UPLOADS
from vfl_flower.transport.endpoint import Endpoint
from vfl_flower.transport.local import serve
from vfl_flower.workflows.build_parties import build_active, build_passive

MOST = 6  # requests of a sequence
ON_DISK = 100  # one sequence in so many has a folder
DTYPES = ["f2", "f4", "f8", "i4", "i8", "u4", "u1", "b1"]
OURS = {name for name, each in vars(errors).items() if isinstance(each, type)}
Request = tuple[str, list[Array]]
RUN = np.zeros(8, np.uint8)
CONTROL: list[Request] = [
    ("checkpoint", [np.array(0), RUN]),
    ("checkpoint", [np.array(3), RUN]),
    ("can_restore", [np.array(0), RUN]),
    ("restore", [np.array(0), RUN]),
    ("save", [RUN]),
    ("keep", []),
    ("take_best", []),
]


def tiny(case: str) -> RunConfig:
    """Return a run of a few rows."""
    cfg = configured(case)
    usual = {"train_rows": 60, "batch_size": 20, "embedding_dim": 4, "eval_batch_size": 400}
    own = {"local_epochs": 1} if hasattr(cfg.options, "local_epochs") else {}
    return cfg.changed(**(used(case, usual) | own))


class Subject:
    """A party that is taken back to its start before each sequence."""

    def __init__(self, cfg: RunConfig, folder: Path | None) -> None:
        ranks = range(1, cfg.parties)
        parties = [build_passive(cfg, k, folder if k == 1 else None) for k in ranks]
        if cfg.blinded:
            agree(parties)
        self.party: PassiveParty = parties[0]
        self.state, self.folder = pack(self.party.memory()), folder

    def again(self) -> PassiveParty:
        """Return the party as it was."""
        self.party.recall(unpack(*self.state))
        self.party.automaton = Automaton(self.party)
        for path in self.folder.rglob("*") if self.folder else ():
            if path.is_file():
                path.unlink()
        return self.party


def transcript(cfg: RunConfig) -> list[Request]:
    """Return the requests of an honest run to its first passive party."""
    taps = [Tap(Endpoint(build_passive(cfg, k))) for k in range(1, cfg.parties)]
    serve(build_active(cfg), taps)
    control = {"public_key", "agree"}
    return [each for each in taps[0].requests() if each[0] not in control]


def mutated(array: Array, rng: np.random.Generator) -> Array:
    """Change dtype, shape or numbers of an array."""
    kind, changed = rng.integers(8), np.array(array)
    with np.errstate(all="ignore"):
        if kind == 0:
            return changed.astype(rng.choice(DTYPES))
        if kind == 1:
            return changed[:-1] if changed.ndim and len(changed) else changed[None]
        if kind == 2:
            return changed[..., None]
        if kind == 3:
            return np.concatenate([changed, changed]) if changed.ndim else np.stack([changed] * 2)
        if changed.dtype.kind == "f" and changed.size:
            value = rng.choice([np.nan, np.inf, -np.inf, 3e38, -1.0, 0.0])
            changed.flat[rng.integers(changed.size)] = value
        elif changed.size:
            info = np.iinfo(changed.dtype) if changed.dtype.kind in "iu" else None
            ends = (info.min, info.max) if info else (0, 1)
            changed.flat[rng.integers(changed.size)] = rng.choice([*ends, 0, 1])
        return rng.permutation(changed) if kind == 7 and changed.ndim else changed


def sequence(
    honest: list[Request], phases: list[str], rng: np.random.Generator
) -> Iterator[Request]:
    """Yield requests: the run's own, others of the run, and mutated ones."""
    position = 0
    for _ in range(rng.integers(1, MOST + 1)):
        kind = rng.integers(4)
        if honest and kind < 2 and position < len(honest):
            yield honest[position]
            position += 1
            continue
        known = honest + CONTROL
        name, arrays = known[rng.integers(len(known))]
        if kind == 3:
            name = str(rng.choice(phases))
        arrays = [mutated(each, rng) if rng.integers(2) else each for each in arrays]
        yield name, [*arrays, *([np.zeros(3, np.float32)] if rng.integers(12) == 0 else [])]


def verdict(party: PassiveParty, name: str, arrays: list[Array]) -> str:
    """Send one request; return its outcome, if that is allowed."""
    config: dict[str, Any] = {"exchange": party.exchange + 1, "phases": name}
    config["arrays"] = str(len(arrays))
    reply, _, metrics = party.fit([to_array(each) for each in arrays], config)
    if "error" in metrics:
        if metrics["error"] not in OURS:
            raise Failed(f"'{name}' ended in {metrics['error']!s}: {[a.shape for a in arrays]}")
        return str(metrics["error"])
    declared = party.declared(name)
    if declared is None or len(arrays) < len(declared.takes) - 2:
        raise Failed(f"'{name}' was answered, and is no request of the run")
    named = [a for rule, a in zip(declared.takes, arrays, strict=False) if isinstance(rule, Rows)]
    uploads = [kind for kind in declared.sends if kind in UPLOADS]
    if bool(reply) > bool(declared.sends) or any(len(a) != len({*a.tolist()}) for a in named):
        raise Failed(f"'{name}' was answered with {[a.shape for a in reply]}")
    if named and uploads and reply[0].ndim == 2 and len(reply[0]) != len(named[0]):
        raise Failed(f"'{name}' of {len(named[0])} rows has an answer of {len(reply[0])}")
    return "answer"


def fuzzed(case: str, sequences: int, folder: Path, seed: int = 0) -> dict[str, Any]:
    """Send random sequences to a party of a case; count outcomes."""
    cfg, rng = tiny(case), np.random.default_rng(seed)
    honest = transcript(cfg)
    subjects = [Subject(cfg, None), Subject(cfg, folder)]
    outcomes, started = Counter[str](), time.perf_counter()
    for number in range(sequences):
        party = subjects[number % ON_DISK == 0].again()
        phases = [*party.phases, "weights", ""]
        for name, arrays in sequence(honest, phases, rng):
            outcomes[verdict(party, name, arrays)] += 1
    seconds = time.perf_counter() - started
    return {"sequences": sequences, "seconds": round(seconds, 1), "outcomes": dict(outcomes)}


def requests(job: Job) -> dict[str, Any]:
    """Fuzz all methods, with 10^5 sequences each, or 30."""
    logging.getLogger("vfl_flower").setLevel(logging.CRITICAL + 1)
    found: dict[str, Any] = {}
    try:
        for case in CASES:
            with tempfile.TemporaryDirectory(dir=job.work) as folder, small_keys():
                found[case] = fuzzed(case, job.size(100_000, 30), Path(folder))
    except Failed as failed:
        raise Failed(str(failed), found) from failed
    finally:
        logging.getLogger("vfl_flower").setLevel(logging.NOTSET)
    return found
