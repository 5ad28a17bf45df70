"""Grouped split: no group has rows in two parts."""

import numpy as np
from sklearn.model_selection import GroupKFold, GroupShuffleSplit

from vfl_flower.common.codec import Array
from vfl_flower.common.errors import DataError
from vfl_flower.data.splitting.splitter import Halves, Splitter


class Grouped(Splitter):
    """Holds whole groups out."""

    def hold_out(self, rows: Array, count: int) -> Halves:
        """Hold out a share of the groups, as `count` of rows."""
        self._check(rows, 2, "two parts")
        groups = len(np.unique(self.values[rows]))
        held_groups = min(max(round(groups * count / len(rows)), 1), groups - 1)
        made = GroupShuffleSplit(1, test_size=held_groups, random_state=self.drawn())
        stay, held = next(made.split(rows, groups=self.values[rows]))
        return rows[stay], rows[held]

    def fold(self, rows: Array, number: int, folds: int) -> Halves:
        """Hold out one of the folds, each of whole groups."""
        self._check(rows, folds, f"{folds} folds")
        made = GroupKFold(folds, shuffle=True, random_state=self.drawn())
        stay, held = list(made.split(rows, groups=self.values[rows]))[number]
        return rows[stay], rows[held]

    def _check(self, rows: Array, least: int, need: str) -> None:
        """Refuse fewer groups than parts."""
        groups = len(np.unique(self.values[rows]))
        if groups < least:
            raise DataError(
                f"active: split is grouped, and {groups} groups are left for {need}; name a "
                "column with more groups, or hold out fewer parts"
            )
