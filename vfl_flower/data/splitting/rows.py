"""Train, validation and test splits."""

import numpy as np

from vfl_flower.common.codec import Array
from vfl_flower.common.errors import DataError, ProtocolError, RunError
from vfl_flower.common.names import load_object
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.settings import COMMON
from vfl_flower.data.datasets import dataset_of
from vfl_flower.data.splitting.presence import drawn_presence, usable
from vfl_flower.data.splitting.record import LEFT_OUT, PARTS, Split
from vfl_flower.data.splitting.splitter import Splitter, Values

Rows = dict[str, Array]


def rows_of(cfg: RunConfig, total: int, told: Split | None = None) -> Rows:
    """Split all rows by seed; every party comes to the same answer.

    Parameters
    ----------
    cfg : RunConfig
        Its seed, data set and shares of test and validation rows.
    total : int
        How many rows there are.
    told : Split, optional
        The split that the active party has drawn, where it alone can.

    Returns
    -------
    dict of str to ndarray
        ``train``, ``validation`` and ``test``: int32, disjoint, together all rows, but for those
        that ``train-rows`` and ``test-rows`` leave out. A part whose share is 0 is empty. Rows to
        be predicted are all test rows.

    Raises
    ------
    DataError
        If a part would be empty, a batch is larger than the training rows, or more rows are asked
        for than there are.
    RunError
        If the split that was told is of other rows, or missing.
    """
    made = _split(cfg, total, told)
    presence = drawn_presence(cfg, total)
    if presence is None:
        return made
    kept = usable(cfg, presence)
    return _checked_parts(cfg, {part: rows[kept[rows]] for part, rows in made.items()})


def _split(cfg: RunConfig, total: int, told: Split | None) -> Rows:
    """Split all rows, whoever has them."""
    if cfg.predicts:
        none = np.empty(0, np.int32)
        return {"train": none, "validation": none, "test": np.arange(total, dtype=np.int32)}
    if told is not None:
        if len(told.parts) != total:
            raise RunError(
                f"the split of this run is of {len(told.parts)} rows, and there are {total}; start "
                "a new run"
            )
        return told.rows if cfg.joins else _fewer_test_rows(cfg, told.rows)
    if cfg.split_told:
        raise RunError(f"split is {cfg.split}, and the active party has not told which rows it is")
    free = total - _fixed(cfg)
    order = np.random.default_rng([cfg.seed, total]).permutation(free).astype(np.int32)
    rest, test = _random_test(cfg, order, total)
    validation = round(cfg.validation * len(rest))
    rows = _checked(cfg, test, rest[:validation], rest[validation:])
    return _fewer_test_rows(cfg, rows)


def _fewer_test_rows(cfg: RunConfig, rows: Rows) -> Rows:
    """Leave out test rows, drawn by the seed, beyond those wanted."""
    test = rows["test"]
    if cfg.test_rows > len(test):
        raise DataError(f"test-rows is {cfg.test_rows}, and there are {len(test)}; use fewer")
    if not cfg.test_rows:
        return rows
    drawn = np.random.default_rng([cfg.seed, len(test)]).permutation(len(test))[: cfg.test_rows]
    return rows | {"test": test[np.sort(drawn)]}


def draw_split(cfg: RunConfig, values: Values, names: tuple[str, ...] = ()) -> Split:
    """Split all rows by a value of each, at the active party.

    Parameters
    ----------
    cfg : RunConfig
        See `rows_of`.
    values : ndarray
        (N,), by what the run's way to split goes: classes, groups or times.
    names : tuple of str
        Names of the classes, for errors.

    Raises
    ------
    DataError
        See `rows_of`; or the values do not allow such a split.
    """
    total, fixed = len(values), _fixed(cfg)
    kind: type[Splitter] = load_object(cfg.split_spec.source)
    splitter = kind(values, np.random.default_rng([cfg.seed, total]), names)
    rest, test = np.arange(total - fixed), np.arange(total - fixed, total)
    if cfg.fold_of:
        rest, test = splitter.fold(rest, *cfg.fold_of)
    elif not fixed and cfg.test_share:
        rest, test = splitter.hold_out(rest, _some("test", round(cfg.test_share * total)))
    train, validation = rest, rest[:0]
    if cfg.validation:
        count = _some("validation", round(cfg.validation * len(rest)))
        train, validation = splitter.hold_out(rest, count)
    if 0 < cfg.train_rows < len(train):
        train = splitter.thinned(train, cfg.train_rows)
    return Split.of(_checked(cfg, test, validation, train), total)


def check_told(cfg: RunConfig, split: Split, classes: int) -> None:
    """Refuse a split that the configuration does not lead to.

    Parameters
    ----------
    cfg : RunConfig
        The run's configuration, as a passive party has it.
    split : Split
        As the active party has told it.
    classes : int
        C, or 1 of a regression.

    Raises
    ------
    ProtocolError
        Says which part is not as it must be.
    DataError
        See `rows_of`.
    """
    rows, total = split.rows, len(split.parts)
    if cfg.joins and cfg.own_tables:  # parts as they were, of fewer rows
        _checked_parts(cfg, rows)
        return
    fixed = _fixed(cfg)
    if fixed and not np.array_equal(rows["test"], np.arange(total - fixed, total)):
        raise ProtocolError(f"the split does not leave the test rows of {cfg.dataset} as they are")
    left_out = np.count_nonzero(split.parts == LEFT_OUT)
    if left_out and not cfg.train_rows and not (cfg.fold_of and cfg.split_spec.ordered):
        raise ProtocolError(f"the split leaves {left_out} rows out, and train-rows is 0")
    if cfg.train_rows and len(rows["train"]) != cfg.train_rows:
        told = len(rows["train"])
        raise ProtocolError(f"the split has {told} training rows, and train-rows {cfg.train_rows}")
    _checked(cfg, *(rows[name] for name in reversed(PARTS)))
    if cfg.split_spec.exact:
        _check_sizes(cfg, rows, total, classes)
    for name, share in {"validation": cfg.validation, "test": _test_share(cfg)}.items():
        if len(rows[name]) and not share:
            raise ProtocolError(f"the split has {name} rows, and their share is 0")


def _check_sizes(cfg: RunConfig, rows: Rows, total: int, classes: int) -> None:
    """Refuse parts that are not as large as their shares say."""
    fixed, slack = _fixed(cfg), 0
    test = fixed or round(cfg.test_share * total)
    if cfg.fold_of:
        test, slack = total // cfg.fold_of[1], classes  # the rest of each class goes to some fold
    rest = total - len(rows["test"])
    for name, due, most in (
        ("test", test, slack),
        ("validation", round(cfg.validation * rest), 0),
    ):
        if abs(len(rows[name]) - due) > most:
            raise ProtocolError(f"the split has {len(rows[name])} {name} rows, and {due} are due")


def _fixed(cfg: RunConfig) -> int:
    """Return how many test rows the data set has of its own."""
    fixed = dataset_of(cfg.dataset).test_rows
    if fixed and cfg.test_share != COMMON["test_share"].default:
        raise DataError(
            f"test-share is {cfg.test_share:g}, and {cfg.dataset} has test rows of its own; leave "
            "it as it is"
        )
    if fixed and cfg.fold:
        raise DataError(
            f"fold is {cfg.fold}, and {cfg.dataset} has test rows of its own; leave fold empty"
        )
    return fixed


def _random_test(cfg: RunConfig, order: Array, total: int) -> tuple[Array, Array]:
    """Return the other rows and the test rows."""
    if cfg.fold_of:
        number, folds = cfg.fold_of
        if folds > len(order):
            raise DataError(f"{len(order)} rows are too few for {folds} folds; use fewer folds")
        pieces = np.array_split(order, folds)
        return np.concatenate(pieces[:number] + pieces[number + 1 :]), pieces[number]
    if fixed := total - len(order):
        return order, np.arange(total - fixed, total, dtype=np.int32)
    drawn = round(cfg.test_share * total)
    return order[drawn:], order[:drawn]


def _checked(cfg: RunConfig, test: Array, validation: Array, train: Array) -> Rows:
    """Return the parts, if each has the rows that it needs."""
    if cfg.train_rows > len(train):
        raise DataError(f"train-rows is {cfg.train_rows}, and there are {len(train)}; use fewer")
    kept = {"train": train[: cfg.train_rows or None], "validation": validation, "test": test}
    return _checked_parts(cfg, kept)


def _checked_parts(cfg: RunConfig, parts: Rows) -> Rows:
    """Return the parts, if none is empty that has a share."""
    for name, share in {"train": 1, "validation": cfg.validation, "test": _test_share(cfg)}.items():
        if share:
            _some(name, len(parts[name]))
    rows = len(parts["train"])
    if cfg.rows_of_step(rows) > rows:
        text = f"batch-size {cfg.batch_size} is more than the {rows} training rows"
        raise DataError(f"{text}; use batch-size = {rows} or less")
    return parts


def _some(name: str, count: int) -> int:
    """Return a number of rows, unless it is 0."""
    if not count:
        raise DataError(f"no rows are left for {name}; change validation or test-share")
    return count


def _test_share(cfg: RunConfig) -> float:
    return 1.0 if cfg.fold else cfg.test_share
