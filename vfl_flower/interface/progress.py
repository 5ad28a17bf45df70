"""Progress of runs: a bar in terminals and notebooks, silence elsewhere."""

from vfl_flower.reporting.console.lines import out
from vfl_flower.reporting.console.progress import watcher
from vfl_flower.workflows.local.watch import Watch


def watch_of(progress: bool | None) -> Watch:
    """Return how a caller follows a run.

    Parameters
    ----------
    progress : bool or None
        Whether progress is shown; None: on a terminal and in a notebook only.
    """
    shown = out.is_terminal or out.is_jupyter if progress is None else progress
    return Watch(observer=watcher) if shown else Watch()
