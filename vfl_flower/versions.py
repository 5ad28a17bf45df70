"""What a run was made with."""

import platform

import flwr
import torch

from vfl_flower.member import code_digest


def versions() -> dict[str, str]:
    """Return a digest of this project's code, and the versions of Python, torch and Flower."""
    return {
        "code": code_digest(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "flwr": flwr.__version__,
    }
