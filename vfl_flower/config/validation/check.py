"""Check of all values of a configuration before anything is started."""

from vfl_flower.config.schema import check_values
from vfl_flower.config.settings import Settings
from vfl_flower.config.validation.data import (
    check_active_columns,
    check_columns,
    check_held_out,
    check_long_tail,
    check_partition,
    check_split,
)
from vfl_flower.config.validation.evaluation import check_evaluation
from vfl_flower.config.validation.membership import check_joining, check_left
from vfl_flower.config.validation.missing import check_missing
from vfl_flower.config.validation.privacy import (
    check_blinding,
    check_client_privacy,
    check_embedding_bound,
    check_embedding_defence,
    check_embedding_scale,
    check_gradient_defence,
    check_label_encoding,
    check_label_privacy,
    check_row_level,
    check_share_check,
    check_wire_precision,
)
from vfl_flower.config.validation.system import check_transport
from vfl_flower.config.validation.tasks import check_tables
from vfl_flower.config.validation.training import check_lists, check_unused, check_weights


def check(cfg: Settings) -> None:
    """Refuse values that cannot work.

    Raises
    ------
    ConfigError
        Names the option.
    """
    check_values(cfg)
    check_values(cfg.options)
    check_partition(cfg)
    check_transport(cfg)
    check_lists(cfg)
    check_active_columns(cfg)
    check_unused(cfg)
    for each in cfg.spec.checks:
        each(cfg, cfg.options)
    check_columns(cfg)
    check_blinding(cfg)
    check_embedding_bound(cfg)
    check_embedding_scale(cfg)
    check_embedding_defence(cfg)
    check_share_check(cfg)
    check_wire_precision(cfg)
    check_label_privacy(cfg)
    check_gradient_defence(cfg)
    check_label_encoding(cfg)
    check_client_privacy(cfg)
    check_row_level(cfg)
    check_held_out(cfg)
    check_split(cfg)
    check_missing(cfg)
    check_joining(cfg)
    check_left(cfg)
    check_evaluation(cfg)
    check_long_tail(cfg)
    check_weights(cfg)
    check_tables(cfg)
