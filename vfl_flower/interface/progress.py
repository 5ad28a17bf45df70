"""Progress of runs: a bar in terminals and notebooks, silence elsewhere."""

from collections.abc import Iterable, Sequence

from vfl_flower.common.errors import ConfigError
from vfl_flower.reporting.console.lines import out
from vfl_flower.reporting.console.progress import watcher
from vfl_flower.runs.callback import Callback
from vfl_flower.workflows.local.watch import Watch


def watch_of(progress: bool | None, callbacks: Sequence[Callback] = ()) -> Watch:
    """Return how a caller follows a run.

    Parameters
    ----------
    progress : bool or None
        Whether progress is shown; None: on a terminal and in a notebook only.
    callbacks : sequence of Callback
        The caller's own.

    Raises
    ------
    ConfigError
        If they are no list, or one is no callback.
    """
    if isinstance(callbacks, Callback | str) or not isinstance(callbacks, Iterable):
        raise ConfigError(f"callbacks has {callbacks!r}, not a list of vfl.Callback")
    given = tuple(callbacks)
    if wrong := [each for each in given if not isinstance(each, Callback)]:
        hint = "an instance, not the class" if isinstance(wrong[0], type) else "vfl.Callback"
        raise ConfigError(f"callbacks has {wrong[0]!r}; each must be {hint}")
    shown = out.is_terminal or out.is_jupyter if progress is None else progress
    return Watch(observer=watcher, callbacks=given) if shown else Watch(callbacks=given)
