"""Versions of code, protocol and libraries."""

import platform
from functools import cache
from hashlib import sha256
from pathlib import Path

import flwr
import torch


def versions() -> dict[str, str]:
    """Return the code's digest and the versions of Python, torch and Flower."""
    return {
        "code": code_digest(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "flwr": flwr.__version__,
    }


PROTOCOL_VERSION = 1
ROOT = Path(__file__).resolve().parents[2]


@cache
def code_digest() -> str:
    """Digest the three packages that must be equal at all parties.

    Returns 16 hex digits.
    """
    digest = sha256()
    for package in ("vfl_flower", "strategies", "clients"):
        for path in sorted((ROOT / package).rglob("*.py")):
            digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def code_facts() -> dict[str, str | int]:
    """Return the facts about its code for the roll call."""
    return {"protocol_version": PROTOCOL_VERSION, "code": code_digest(), "folder": str(ROOT)}
