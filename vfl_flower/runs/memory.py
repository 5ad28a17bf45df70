"""Memory of this process."""

import sys

try:
    import resource
except ImportError:  # on Windows
    resource = None  # type: ignore[assignment]

_UNIT = 1 if sys.platform == "darwin" else 1024


def peak_memory() -> int | None:
    """Return this process's peak memory in bytes, where it is known."""
    if resource is None:
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _UNIT
