"""Ways to split rows into training, validation and test rows, by name."""

from dataclasses import dataclass

from vfl_flower.common.errors import ConfigError

_SPLITTING = "vfl_flower.data.splitting"


@dataclass(frozen=True)
class SplitSpec:
    """Static facts of a way to split rows.

    Attributes
    ----------
    source : str
        ``module:name`` of its `vfl_flower.data.splitting.splitter.Splitter`; empty: every party
        draws the rows itself, by the seed.
    column : str
        Key of the active party's description that names the column it goes by; empty for none.
    labels : bool
        Whether it goes by the classes of the labels.
    exact : bool
        Whether the parts have the sizes that the shares say.
    ordered : bool
        Whether a fold trains on earlier rows only, and leaves later ones out.
    """

    source: str = ""
    column: str = ""
    labels: bool = False
    exact: bool = False
    ordered: bool = False


SPLITS = {
    "random": SplitSpec(exact=True),
    "stratified": SplitSpec(f"{_SPLITTING}.stratified:Stratified", labels=True, exact=True),
    "grouped": SplitSpec(f"{_SPLITTING}.grouped:Grouped", column="group"),
    "time": SplitSpec(f"{_SPLITTING}.timed:Timed", column="time", ordered=True),
}
"""Ways to split rows by name. One line here makes one known everywhere."""

MOST_FOLDS = 1000


def read_fold(text: str) -> tuple[int, int] | None:
    """Read the number of a fold, from 0, and of folds.

    Raises
    ------
    ConfigError
        If it is not written so.
    """
    if not text:
        return None
    number, _, folds = text.partition("/")
    whole = all(each.isascii() and each.isdecimal() and len(each) < 5 for each in (number, folds))
    if not whole or not 2 <= int(folds) <= MOST_FOLDS or int(number) >= int(folds):
        raise ConfigError(
            f"fold must be number/folds with 2 to {MOST_FOLDS} folds, numbered from 0, as in 0/5, "
            f"not '{text}'"
        )
    return int(number), int(folds)
