"""Alignment and training with all parties in this process."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.transports import Runtime, chosen_transport
from vfl_flower.config.validation.tasks import check_tables_here
from vfl_flower.data.loading import Alignments, run_data
from vfl_flower.parties.active import ActiveParty
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.runs.party_logs import party_logs
from vfl_flower.runs.run_folder import RunFolder
from vfl_flower.workflows.build_parties import build_parties
from vfl_flower.workflows.held_out.agreement import new_split, share_labels, split_here
from vfl_flower.workflows.local.watch import Watch, watched
from vfl_flower.workflows.run import conduct

if TYPE_CHECKING:
    from vfl_flower.workflows.align import Aligned


def train_in(folder: RunFolder, watch: Watch) -> dict[str, Any]:
    """Train a new or begun run in this process.

    Parameters
    ----------
    folder : RunFolder
        Of the run. A run that does not begin after all leaves no new folder behind.
    watch : Watch
        How it is followed.

    Returns
    -------
    dict
        See `conduct`.

    Raises
    ------
    VflError
        As `conduct` and `build_parties` do.
    """
    cfg = folder.cfg
    entry = chosen_transport(cfg.transport, Runtime.ONE_PROCESS)
    with prepared(folder, watch) as alignments:
        with party_logs(folder, cfg.parties - 1), watch.messages(cfg.parties - 1):
            active, passive = build(folder, alignments)
        observer = watch.observer(f"{cfg.method} on {cfg.dataset}, seed {cfg.seed}")
        during = watched(folder, active, len(passive), watch)
        transport = entry.load()(passive)
        return conduct(active, transport, folder, observer, during, watch.callbacks)


def align_in(folder: RunFolder, watch: Watch) -> dict[str, Any]:
    """Align the parties' own tables in a new folder, for later runs.

    Returns
    -------
    dict
        ``alignment``, the folder, and ``rows``, how many are common to all parties.

    Raises
    ------
    ConfigError
        If the configuration names an alignment that is there.
    VflError
        As `align_here` does.
    """
    if not folder.aligns:
        raise ConfigError("alignment names one that is there; leave it empty to align anew")
    with prepared(folder, watch):
        rows = len(_align(folder, watch).common.rows)
        folder.complete()
    folder.end()
    return {"alignment": str(folder.path), "rows": rows}


@contextmanager
def prepared(
    folder: RunFolder, watch: Watch, write_first: Callable[[], None] | None = None
) -> Iterator[Alignments]:
    """Lock a run's folder, and align its tables if they are not.

    A new run that does not begin after all leaves nothing behind.

    Parameters
    ----------
    folder : RunFolder
        Of the run.
    watch : Watch
        How the alignment is followed.
    write_first : callable, optional
        See `RunFolder.take`.
    """
    try:
        folder.take(write_first)
        aligns = folder.cfg.task == "train" and folder.is_to_align
        yield _align(folder, watch).alignments if aligns else {}
    except BaseException:
        folder.give_up()
        raise


def _align(folder: RunFolder, watch: Watch) -> "Aligned":
    """Align the parties' own tables."""
    # pyarrow is slow to import
    from vfl_flower.workflows.align import align_here

    cfg = folder.cfg
    check_tables_here(cfg)
    with party_logs(folder, cfg.parties - 1), watch.messages(cfg.parties - 1):
        return align_here(cfg, folder.path, watch.observer("alignment"))


def build(folder: RunFolder, alignments: Alignments) -> tuple[ActiveParty, list[PassiveParty]]:
    """Build all parties of a run that has a folder; see `build_parties`.

    Those of a new run agree on its split first.
    """
    check_tables_here(folder.cfg)
    share_labels(folder)
    split = split_here(folder, alignments)
    return build_parties(folder.cfg, folder.path, alignments, split=split)


def try_to_build(cfg: RunConfig, folder: Path, alignments: Alignments) -> None:
    """Build all parties of runs to come; keep nothing."""
    check_tables_here(cfg)
    source = run_data(cfg, alignments)
    split = new_split(cfg, source, alignments, None) if cfg.split_told else None
    build_parties(cfg, folder, alignments, split=split)


def finished(path: Path, changes: dict[str, object], watch: Watch, trust_code: bool) -> RunFolder:
    """Train the rest of a run that is not complete.

    Parameters
    ----------
    path, changes, trust_code
        See `RunFolder.reopen`.
    watch : Watch
        How it is followed.
    """
    folder = RunFolder.reopen(path, changes, trust_code)
    if folder.result() is None:
        train_in(folder, watch)
    else:
        folder.settle()
    return folder
