"""Versions of code, protocol and libraries."""

import platform
import sys
from functools import cache
from hashlib import sha256

import flwr
import torch

from vfl_flower.common.sources import ROOT, sources


def versions() -> dict[str, str]:
    """Return the code's digest and the versions of Python, torch and Flower."""
    return {
        "code": code_digest(),
        "python": _python(),
        "torch": torch.__version__,
        "flwr": flwr.__version__,
    }


def _python() -> str:
    """Name the interpreter; without its lock, threads compute at once."""
    locked = getattr(sys, "_is_gil_enabled", lambda: True)()  # since Python 3.13
    return platform.python_version() + ("" if locked else ", free-threaded")


PROTOCOL_VERSION = 1


@cache
def code_digest() -> str:
    """Digest the three packages that must be equal at all parties.

    Returns 16 hex digits, the same of a checkout and of an installed package.
    """
    digest = sha256()
    for name, path in sources():
        digest.update(f"{name}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def code_facts() -> dict[str, str | int]:
    """Return the facts about its code for the roll call."""
    return {"protocol_version": PROTOCOL_VERSION, "code": code_digest(), "folder": str(ROOT)}
