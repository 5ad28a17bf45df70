"""Build the two sides of an alignment."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np

from vfl_flower.alignment.active import AlignmentActive
from vfl_flower.alignment.messages import alignment_log
from vfl_flower.alignment.passive import AlignmentPassive
from vfl_flower.common.errors import RunError
from vfl_flower.common.files import refused
from vfl_flower.common.layout import ALIGNMENT, BEGUN
from vfl_flower.common.names import party_name
from vfl_flower.config.catalog import REGRESSION
from vfl_flower.config.policy.record import OPEN, Policy
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.validation.extras import check_extras
from vfl_flower.crypto.hashed_ids import normalised
from vfl_flower.crypto.identity import Identity
from vfl_flower.data.alignment_record import NONCE, Alignment, drawn_nonce
from vfl_flower.data.table_data import aligned_target, table_of
from vfl_flower.data.tables.description import described


def build_alignment_active(
    cfg: RunConfig, folder: Path, enough: Callable[[int], None] = lambda rows: None
) -> AlignmentActive:
    """Build the active party of an alignment.

    Parameters
    ----------
    cfg : RunConfig
        Names the tables.
    folder : Path
        Of the run; the party gets a folder in it.
    enough : callable
        See `AlignmentActive`.

    Raises
    ------
    ConfigError
        If the description of the table cannot be used, or the run cannot learn such labels.
    DataError
        If the table cannot be read.
    RunError
        If the folder holds an alignment already.
    """
    check_extras(cfg, 0)
    table, description, out = table_of(cfg, 0), described(cfg, 0), folder / party_name(0)
    if (out / ALIGNMENT).exists():
        raise RunError(f"{out} holds an alignment already; choose another")
    target = aligned_target(cfg, table)
    kept = Alignment(
        index=np.empty(0, np.int64),
        parties=cfg.parties,
        classes=1 if target.task == REGRESSION else len(target.classes),
        task=target.task,
        nonce=_begun(out) or drawn_nonce(),
        table=table.digest,
    )
    ids, label = normalised(table.ids, description.duplicates, description.id_case), table.label
    names = [each.name for each in label.parts or (label,)] if label else [""]
    alignment_log(0, table, ids, cfg.task)
    return AlignmentActive(cfg, ids, kept, names, out, enough)


def _begun(party: Path) -> str:
    """Return the nonce of an alignment that was interrupted, if any."""
    path = party / BEGUN
    if not path.exists():
        return ""
    with refused(path):
        nonce = path.read_text()
    if not re.fullmatch(f"[0-9a-f]{{{2 * NONCE}}}", nonce):
        raise RunError(f"{path} is damaged; choose another run-name, or another out")
    return nonce


def build_alignment_passive(
    cfg: RunConfig,
    rank: int,
    folder: Path | None,
    identity: Identity | None = None,
    policy: Policy = OPEN,
    root: Path | None = None,
) -> AlignmentPassive:
    """Build the passive party of a rank.

    See `build_alignment_active` for errors, and `AlignmentPassive` for `root`.
    """
    check_extras(cfg, rank)
    table, out = table_of(cfg, rank), folder and folder / party_name(rank)
    description = described(cfg, rank)
    ids = normalised(table.ids, description.duplicates, description.id_case)
    return AlignmentPassive(cfg, rank, table, ids, out, identity, policy, root)
