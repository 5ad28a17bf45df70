"""Stratified split: classes in equal shares in every part."""

import numpy as np
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit

from vfl_flower.common.codec import Array
from vfl_flower.common.errors import DataError
from vfl_flower.data.splitting.splitter import Halves, Splitter


class Stratified(Splitter):
    """Holds the same share of every class out."""

    def hold_out(self, rows: Array, count: int) -> Halves:
        """Hold out `count` rows, of each class in proportion."""
        self._check(rows, 2, "rows of their own in both parts")
        classes = len(np.unique(self.values[rows]))
        if not classes <= count <= len(rows) - classes:
            raise DataError(
                f"active: {count} of {len(rows)} rows are to be held out, and there are {classes} "
                "classes, of which each part needs a row; change test-share or validation, or use "
                "split = random"
            )
        made = StratifiedShuffleSplit(1, test_size=count, random_state=self.drawn())
        stay, held = next(made.split(rows, self.values[rows]))
        return rows[stay], rows[held]

    def fold(self, rows: Array, number: int, folds: int) -> Halves:
        """Hold out one of the folds, each with all classes."""
        self._check(rows, folds, f"a row in each of {folds} folds")
        made = StratifiedKFold(folds, shuffle=True, random_state=self.drawn())
        stay, held = list(made.split(rows, self.values[rows]))[number]
        return rows[stay], rows[held]

    def thinned(self, rows: Array, count: int) -> Array:
        """Draw some of the rows, of each class in proportion."""
        if count == len(rows):
            return rows
        return self.hold_out(rows, len(rows) - count)[0]

    def _check(self, rows: Array, least: int, need: str) -> None:
        """Refuse a class with too few rows."""
        known, counts = np.unique(self.values[rows], return_counts=True)
        if counts.min() < least:
            rare = int(known[counts.argmin()])
            raise DataError(
                f"active: split is stratified, and a class has {counts.min()} of {len(rows)} rows, "
                f"too few for {need}; leave the class out, or use split = random",
                self.names[rare] if self.names else str(rare),
            )
