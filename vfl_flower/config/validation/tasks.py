"""Checks of the task, train, align or predict, and of labels."""

from pathlib import Path

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.catalog import (
    MULTI_CLASS,
    MULTI_LABEL,
    MULTI_LABEL_LOSSES,
    REGRESSION,
    REGRESSION_LOSSES,
)
from vfl_flower.config.dataset_specs import is_table
from vfl_flower.config.schema import split_list
from vfl_flower.config.settings import Settings
from vfl_flower.config.validation.evaluation import check_decides


def check_tables(cfg: Settings) -> None:
    """Refuse unread tables, and options that own tables do not support."""
    _check_model(cfg)
    for key, given in (("truth", cfg.truth), ("keep-missing", cfg.keep_missing)):
        if given and cfg.task != "predict":
            raise ConfigError(f"{key} is of predictions, and task is {cfg.task}; remove it")
    if cfg.own_tables:
        _check_own(cfg)
        return
    for key in ("tables", "alignment", "id", "label"):
        if getattr(cfg, key):
            raise ConfigError(
                f"{key} is set, and dataset is {cfg.dataset}; use dataset = own, or leave {key} "
                "empty"
            )
    if cfg.task != "train":
        raise ConfigError(
            f"task is {cfg.task}, and the rows of {cfg.dataset} are aligned as they are; use "
            "dataset = own"
        )
    check_task(cfg, MULTI_CLASS)


def _check_model(cfg: Settings) -> None:
    """Refuse predictions without a model, and services without sessions."""
    if cfg.predicts and not cfg.model:
        raise ConfigError(f"task is {cfg.task}, and model is empty; name the run that trained")
    if cfg.model and not cfg.predicts and not cfg.joins:
        raise ConfigError(
            f"model is {cfg.model}, and task is {cfg.task}; use task = predict, or say with "
            "new-parties how many join it"
        )
    if cfg.service and cfg.task != "serve":
        raise ConfigError(f"service is {cfg.service}, and task is {cfg.task}; use task = serve")
    if cfg.task == "serve" and cfg.transport == "messages":
        raise ConfigError(
            "task is serve, and transport is messages, which keeps no party in a session; use "
            "stream"
        )


def _check_own(cfg: Settings) -> None:
    """Refuse a missing table, and a partition of separate tables."""
    if not cfg.tables:
        raise ConfigError(
            "tables is empty, and dataset is own; name a table or a toml description for each "
            "party, the active party's first (on a node: table, in its own configuration)"
        )
    files = split_list(cfg.tables)
    if len(files) not in (1, cfg.parties):
        raise ConfigError(
            f"tables names {len(files)} tables, and parties is {cfg.parties}; name one for each "
            "party, or leave parties as it is"
        )
    _check_described(cfg, files)
    if cfg.partition not in ("auto", "columns"):
        raise ConfigError(
            f"partition is {cfg.partition}, and with dataset = own each party holds its own table; "
            "leave it as it is"
        )


def _check_described(cfg: Settings, files: list[str]) -> None:
    """Refuse tables without a column of ids, and columns of no table."""
    if "" in files:
        raise ConfigError("tables has an empty entry; name a table or a description for each party")
    bare = [file for file in files if is_table(file)]
    if bare and not cfg.id:
        raise ConfigError(undescribed(bare[0]))
    for key, needed in (("id", bare), ("label", is_table(files[0]))):
        if getattr(cfg, key) and not needed:
            raise ConfigError(
                f"{key} is {getattr(cfg, key)}, which the descriptions of the tables say; leave "
                f"{key} empty"
            )


def undescribed(file: str) -> str:
    """Tell how to name the columns of a table without a description."""
    name = Path(file).name
    return (
        f"{file} is a table; say which column holds its ids with id (--id COLUMN), and at the "
        "active party label (--label COLUMN); or write a description, "
        f'{name.partition(".")[0]}.toml with file = "{name}" and id = "COLUMN" (and label = '
        '"COLUMN"), and name that'
    )


def check_tables_here(cfg: Settings) -> None:
    """Refuse one table for all parties, where all are on this machine.

    Raises
    ------
    ConfigError
        Says how many there are.
    """
    if cfg.own_tables and len(split_list(cfg.tables)) < cfg.parties:
        raise ConfigError(
            f"tables names one table for {cfg.parties} parties; on one machine name each party's "
            "own or its description, with commas between, the active party's first"
        )


def check_task(cfg: Settings, task: str) -> None:
    """Refuse options that the kind of labels does not support.

    Parameters
    ----------
    cfg : Settings
        The run's configuration.
    task : str
        One of `TASKS`: what the labels turn out to be.

    Raises
    ------
    ConfigError
        If the run asks for what there is of classes only and the labels are numbers or several, or
        the other way round.
    """
    if cfg.own_tables:  # of named data sets two classes are known later
        check_decides(cfg, task)
    if task not in (REGRESSION, MULTI_LABEL):
        if cfg.loss in REGRESSION_LOSSES:
            raise ConfigError(f"loss is {cfg.loss}, and the labels are classes; leave loss empty")
        return
    if not cfg.spec.regression or cfg.labels_given:
        sharing = " with share-labels" if cfg.labels_shared else ""
        raise ConfigError(
            f"method is {cfg.method}{sharing}, which is of classes, and {_LABELS[task]}; use "
            "another method, or describe the label as classes in the active party's description"
        )
    _check_options(cfg, task)


_LABELS = {REGRESSION: "the labels are numbers", MULTI_LABEL: "each row has several labels"}


def _check_options(cfg: Settings, task: str) -> None:
    """Refuse options that are of classes where there are none."""
    losses = REGRESSION_LOSSES if task == REGRESSION else MULTI_LABEL_LOSSES
    for key, given in (
        ("label-privacy", cfg.label_noise),
        ("label-encoding", cfg.label_encoding if cfg.encoded else ""),
        ("class-weights", cfg.class_weights.replace("none", "")),
        ("long-tail", f"{cfg.long_tail:g}" if cfg.long_tail > 1 else ""),
        ("split", cfg.split if cfg.split_spec.labels else ""),
        ("loss", "" if cfg.loss in losses else cfg.loss),
    ):
        if given:
            raise ConfigError(
                f"{key} is {given}, which is of classes, and {_LABELS[task]}; remove it"
            )
