"""Decoders of foreign bytes, with very many mutated inputs."""

import secrets
from typing import Any

from tests.helpers.connections.foreign import fuzzed
from tests.long.check import Failed, Job

_SHOWN = 20
"""Exceptions of a decoder that are kept."""


def decoders(job: Job) -> dict[str, Any]:
    """Give each decoder 60,000 mutated inputs, or 300, drawn anew each time."""
    count, seed = job.size(60_000, 300), secrets.randbelow(2**32)
    escaped = fuzzed(job.work, count, seed)
    found = {
        "seed": seed,
        "inputs": count * len(escaped),
        "escaped": {name: len(each) for name, each in escaped.items()},
    }
    if any(escaped.values()):
        first = {name: each[:_SHOWN] for name, each in escaped.items() if each}
        raise Failed(
            f"{sum(map(len, escaped.values()))} inputs are refused otherwise than by an "
            "error of this package",
            found | {"first": first},
        )
    return found
