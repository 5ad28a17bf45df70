"""Memory of this process."""

import re
import sys
from pathlib import Path

try:
    import resource
except ImportError:  # on Windows
    resource = None  # type: ignore[assignment]

_UNIT = 1 if sys.platform == "darwin" else 1024
_STATUS = Path("/proc/self/status")
_PEAK = re.compile(r"^VmHWM:\s+(\d+) kB$", re.MULTILINE)


def peak_memory() -> int | None:
    """Return this process's peak memory in bytes, where it is known.

    On Linux the peak that `resource` tells is at least what the parent held when it started this
    process; the kernel's status file tells this program's own.
    """
    if resource is None:
        return None
    if _STATUS.exists() and (found := _PEAK.search(_STATUS.read_text())):
        return int(found[1]) << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _UNIT
