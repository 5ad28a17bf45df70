"""Train, validation and test splits."""

import numpy as np

from vfl_flower.common.codec import Array
from vfl_flower.common.errors import DataError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.settings import COMMON
from vfl_flower.data.datasets import dataset_of


def rows_of(cfg: RunConfig, total: int) -> dict[str, Array]:
    """Split all rows by seed; every party comes to the same answer.

    Parameters
    ----------
    cfg : RunConfig
        Its seed, data set and shares of test and validation rows.
    total : int
        How many rows there are.

    Returns
    -------
    dict of str to ndarray
        ``train``, ``validation`` and ``test``: int32, disjoint, together all rows, but for training
        rows that ``train-rows`` leaves out. A part whose share is 0 is empty. Rows to be predicted
        are all test rows.

    Raises
    ------
    DataError
        If a part would be empty, a batch is larger than the training rows, or more of them are
        asked for than there are.
    """
    if cfg.task == "predict":
        none = np.empty(0, np.int32)
        return {"train": none, "validation": none, "test": np.arange(total, dtype=np.int32)}
    fixed = dataset_of(cfg.dataset).test_rows
    if fixed and cfg.test_share != COMMON["test_share"].default:
        raise DataError(
            f"test-share is {cfg.test_share:g}, and {cfg.dataset} has test rows of its own; leave "
            "it as it is"
        )
    order = np.random.default_rng([cfg.seed, total]).permutation(total - fixed).astype(np.int32)
    drawn = 0 if fixed else round(cfg.test_share * total)
    validation = round(cfg.validation * (len(order) - drawn))
    test = order[:drawn] if drawn else np.arange(total - fixed, total, dtype=np.int32)
    train = order[drawn + validation :]
    if cfg.train_rows > len(train):
        raise DataError(f"train-rows is {cfg.train_rows}, and there are {len(train)}; use fewer")
    parts = {
        "train": train[: cfg.train_rows or None],
        "validation": order[drawn : drawn + validation],
        "test": test,
    }
    for name, share in {"train": 1, "validation": cfg.validation, "test": cfg.test_share}.items():
        if share and len(parts[name]) == 0:
            raise DataError(f"no rows are left for {name}; change validation or test-share")
    if cfg.batch_size > len(parts["train"]):
        rows = len(parts["train"])
        text = f"batch-size {cfg.batch_size} is more than the {rows} training rows"
        raise DataError(f"{text}; use batch-size = {rows} or less")
    return parts
