"""Tables and alignments that a run has from another folder."""

import shutil
import tomllib
from pathlib import Path

from vfl_flower.common.checksums.records import check_toml, toml_with_sum
from vfl_flower.common.files import refused, write_atomically
from vfl_flower.common.layout import ALIGNMENT, CONFIG, TABLE, tables_in
from vfl_flower.common.names import party_name


def take_alignment(aligned: Path, folder: Path) -> None:
    """Copy the parties' parts of an alignment into a folder.

    Raises
    ------
    RunError
        If the file system refuses.
    """
    with refused(aligned):
        # the active party's part, whose name is the first, says that all are there
        for part in sorted(aligned.glob(f"*/{ALIGNMENT}"), reverse=True):
            write_atomically(folder / part.parent.name / ALIGNMENT, part.read_bytes())


def take_in(folder: Path, sweep: Path) -> None:
    """Copy data of a sweep into the folder of a trial.

    Parameters
    ----------
    folder : Path
        A copy of the trial's folder, whose configuration is written anew.
    sweep : Path
        The sweep's folder, absolute.
    """
    check_toml(folder / CONFIG)
    values = tomllib.loads((folder / CONFIG).read_text())
    if values["dataset"] != "own":
        return
    parties = [party_name(rank) for rank in range(values["parties"])]
    if values["tables"] == tables_in(sweep, parties):
        for party in parties:
            (folder / party).mkdir(mode=0o700, exist_ok=True)
            source, target = sweep / party / TABLE.parent, folder / party / TABLE.parent
            shutil.copytree(source, target, symlinks=True)
        values["tables"] = ""
    aligned = Path(values["alignment"])
    if aligned.is_relative_to(sweep):
        take_alignment(aligned, folder)
        values["alignment"] = ""
    write_atomically(folder / CONFIG, toml_with_sum(values))
