"""What values of a configuration cannot work, found before anything is started."""

import re
from collections.abc import Callable, Mapping

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.catalog import (
    ACCOUNTANTS,
    LABEL_MECHANISMS,
    LOSSES,
    NETWORKS,
    OPTIMIZERS,
    REGRESSION_LOSSES,
    SCHEDULES,
)
from vfl_flower.config.choices import DEVICES, PARTY_RANDOMNESS
from vfl_flower.config.dataset_specs import DATASETS
from vfl_flower.config.limits import (
    LEAST_EPSILON,
    LEAST_SIGMA,
    MOST_EPSILON,
    MOST_SIGMA,
    TRUE_SENSITIVITY,
)
from vfl_flower.config.partition_spec import grid_for
from vfl_flower.config.registry import METHODS
from vfl_flower.config.run_config import UNNOISED, RunConfig
from vfl_flower.config.schema import FLOAT32_MAX, kebab, near, split_list
from vfl_flower.config.transports import TRANSPORTS

OWN_NETWORK = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
"""A user's network: ``package.module:Class``."""

NAME = re.compile(r"([A-Za-z0-9_][\w.-]{0,99})?", re.ASCII)
"""A run's name becomes a folder's at every party."""

ADDRESS = re.compile(r"([\w.-]+|\[[0-9A-Fa-f:]+\]):\d{1,5}", re.ASCII)
MOST_NOISE, MOST_TAIL = 1e6, 1e6
LONGEST = 1e9  # seconds; Python cannot wait much longer
LEAST_RHO, MOST_RHO = 0.001, 1000.0  # of what the z update is tested for
COMPRESSION = re.compile(
    r"auto|none|float16|topk:(0?\.(?!0+$)\d{1,6}|1(\.0*)?)|quantize:([1-8]|16)"
)


def check(cfg: RunConfig) -> None:
    """Refuse values that cannot work, before anything is started."""
    _one_of(cfg, "method", METHODS)
    _one_of(cfg, "dataset", DATASETS)
    _partition(cfg)
    _one_of(cfg, "schedule", SCHEDULES)
    _one_of(cfg, "blinding", ("auto", "pairwise", "none"))
    _one_of(cfg, "party_randomness", PARTY_RANDOMNESS)
    _one_of(cfg, "keep", ("last", "best"))
    if not 0 <= cfg.stop_drop <= 100:
        raise ConfigError(f"stop-drop must lie between 0 and 100 points, not {cfg.stop_drop}")
    _one_of(cfg, "bounds", ("auto", "on", "off"))
    _one_of(cfg, "device", DEVICES)
    _one_of(cfg, "carrier", ("auto", *TRANSPORTS))
    if not NAME.fullmatch(cfg.run_name):
        raise ConfigError(f"run-name must be letters, digits, . - and _, not '{cfg.run_name}'")
    for key, address in (("listen", cfg.stream_listen), ("advertise", cfg.stream_advertise)):
        if address and not ADDRESS.fullmatch(address):
            raise ConfigError(f"stream-{key} must be host:port, not '{address}'")
    if cfg.loss:
        _one_of(cfg, "loss", LOSSES | REGRESSION_LOSSES)
    _at_least(cfg, 1, "embedding_dim", "batch_size", "eval_batch_size", "checkpoint_every")
    _at_least(cfg, 1, "threads")
    _at_most(cfg, 10**6, "embedding_dim")
    _at_most(cfg, 1024, "threads")
    _at_most(cfg, 10**9, "epochs")
    _at_least(cfg, 0, "epochs", "seed", "eval_every", "top_layers", "train_rows")
    _at_most(cfg, 100, "top_layers")
    _at_least(cfg, 2, "parties")
    if not 0 < cfg.validation < 1:
        raise ConfigError(f"validation must lie between 0 and 1, not {cfg.validation}")
    _seconds(cfg, "party_timeout", "stream_grace", "answer_timeout", "return_timeout")
    if cfg.models != "mixed":
        _list_of(cfg, "models", _model)
    _list_of(cfg, "weights", lambda entry: None)
    _list_of(cfg, "optimizers", lambda entry: _name("optimizers", entry, OPTIMIZERS))
    _list_of(cfg, "learning_rates", _rate)
    _one_of(cfg, "local_output", ("raw", "softmax"))
    _one_of(cfg, "aggregation", ("weighted", "average"))
    _one_of(cfg, "top_gradient", ("before", "after"))
    _one_of(cfg, "vafl_mode", ("synchronous", "asynchronous"))
    if not COMPRESSION.fullmatch(cfg.compression):
        raise ConfigError(
            "compression must be topk:SHARE with a share up to 1, quantize:BITS with 1 to 8 or 16 "
            f"bits, float16, none or auto, not '{cfg.compression}'"
        )
    _at_least(cfg, 1, "local_epochs", "local_steps")
    _active_columns(cfg)
    _maps(cfg)
    _admm(cfg)
    _column_noise(cfg)
    _blinding(cfg)
    _label_privacy(cfg)
    _client_privacy(cfg)
    _long_tail(cfg)
    _class_weights(cfg)
    _own_tables(cfg)


def _own_tables(cfg: RunConfig) -> None:
    """Refuse tables that nobody reads, and what does not go with tables of the parties' own."""
    _one_of(cfg, "task", ("train", "align", "predict"))
    if cfg.task == "predict" and not cfg.model:
        raise ConfigError("task is predict, and model is empty; name the run that trained")
    if cfg.model and cfg.task != "predict":
        raise ConfigError(f"model is {cfg.model}, and task is {cfg.task}; use task = predict")
    if not cfg.own_tables:
        for key in ("tables", "alignment"):
            if getattr(cfg, key):
                raise ConfigError(
                    f"{key} is set, and dataset is {cfg.dataset}; use dataset = own, or leave "
                    f"{key} empty"
                )
        if cfg.task != "train":
            raise ConfigError(
                f"task is {cfg.task}, and the rows of {cfg.dataset} are aligned as they are; use "
                "dataset = own"
            )
        check_task(cfg, "multi-class")
        return
    if not cfg.tables:
        raise ConfigError(
            "tables is empty, and dataset is own; name a toml description for each party, the "
            "active party's first (on a node: table, in its own configuration)"
        )
    _list_of(cfg, "tables", _named)
    if METHODS[cfg.method].maps:
        raise ConfigError(f"dataset is own, and {cfg.method} needs images; use another method")
    if cfg.partition not in ("auto", "columns"):
        raise ConfigError(
            f"partition is {cfg.partition}, and with dataset = own each party holds its own table; "
            "leave it as it is"
        )


def check_tables_here(cfg: RunConfig) -> None:
    """Refuse one table for all parties, where all are on this machine.

    Raises
    ------
    ConfigError
        Says how many there are.
    """
    if cfg.own_tables and len(split_list(cfg.tables)) < cfg.parties:
        raise ConfigError(
            f"tables lists one description for {cfg.parties} parties; on one machine name each "
            "party's own, the active party's first"
        )


def check_task(cfg: RunConfig, task: str) -> None:
    """Refuse what labels cannot teach.

    Parameters
    ----------
    cfg : RunConfig
        The run's configuration.
    task : str
        ``binary``, ``multi-class`` or ``regression``: what the labels turn out to be.

    Raises
    ------
    ConfigError
        If the run asks for what there is of classes only and the labels are numbers, or the other
        way round.
    """
    if task != "regression":
        if cfg.loss in REGRESSION_LOSSES:
            raise ConfigError(f"loss is {cfg.loss}, and the labels are classes; leave loss empty")
        return
    method = METHODS[cfg.method]
    if method.admm or method.maps or cfg.labels_given:
        sharing = " with share-labels" if cfg.labels_shared else ""
        raise ConfigError(
            f"method is {cfg.method}{sharing}, which is of classes, and the labels are numbers; "
            "use another method, or say task = multi-class in the active party's description"
        )
    for key, given in (
        ("label-privacy", cfg.label_noise),
        ("class-weights", cfg.class_weights.replace("none", "")),
        ("long-tail", f"{cfg.long_tail:g}" if cfg.long_tail > 1 else ""),
        ("loss", "" if cfg.loss in REGRESSION_LOSSES else cfg.loss),
    ):
        if given:
            raise ConfigError(
                f"{key} is {given}, which is of classes, and the labels are numbers; leave it away"
            )


def _class_weights(cfg: RunConfig) -> None:
    """Refuse weights that would not reach the loss, or would tell what label privacy hides."""
    _one_of(cfg, "class_weights", ("none", "balanced"))
    if cfg.class_weights == "none":
        return
    if METHODS[cfg.method].admm or cfg.labels_given:
        raise ConfigError(
            f"class-weights is {cfg.class_weights}, and {cfg.method}'s passive parties, or its "
            "ADMM, do not weight rows by their classes; use none, or another method"
        )
    if cfg.label_noise:
        raise ConfigError(
            f"class-weights are made of true labels, and label-privacy is {cfg.label_noise}: "
            "label-epsilon would not be true; use class-weights = none"
        )


def _partition(cfg: RunConfig) -> None:
    """Refuse a partition that is none, or keeps more or fewer shares than parties hold columns."""
    kept = len(cfg.deal().kept)
    if kept not in (0, cfg.holders):
        raise ConfigError(
            f"partition keeps {kept} shares, and {cfg.holders} parties are to hold columns; keep "
            "one for each"
        )


def _active_columns(cfg: RunConfig) -> None:
    """Refuse an active party without columns where the method needs them."""
    _one_of(cfg, "active_columns", ("own", "none"))
    if cfg.active_columns == "none" and not METHODS[cfg.method].label_only:
        able = ", ".join(name for name, method in METHODS.items() if method.label_only)
        raise ConfigError(
            f"active-columns is none, and {cfg.method} needs columns at the active party; methods "
            f"that do not are {able}"
        )


def _maps(cfg: RunConfig) -> None:
    """Refuse what feature maps of tiles cannot be made of, or a cut that nothing is cut at."""
    method = METHODS[cfg.method]
    if not cfg.cut:
        raise ConfigError("cut is empty; use auto, or name where networks are cut, as in 2C+1M")
    _one_of(cfg, "padding", ("replicate", "zeros"))
    _one_of(cfg, "augment", ("flip-crop", "flip", "crop"))
    _between(cfg, 0.01, 4, "width")
    _between(cfg, 1, 100, "views")
    _between(cfg, 0, 10**9, "pretrain_epochs")
    _between(cfg, 0, 10**9, "local_patience")
    for key in ("extractor_rate", "decoder_rate"):
        _rate(str(getattr(cfg, key)), kebab(key))
    changed = [k for k in ("cut", "width", "views") if getattr(cfg, k) != getattr(RunConfig, k)]
    if changed and not method.maps and not (method.alone and cfg.cut_at):
        able = ", ".join(name for name, each in METHODS.items() if each.maps)
        raise ConfigError(
            f"{' and '.join(changed)} would change nothing: {cfg.method}'s networks are not cut in "
            f"two; those of {able} are, and local's and central's with cut"
        )
    if cfg.width != 1 and ":" in cfg.models:
        raise ConfigError(f"width is {cfg.width:g}, and the widths of {cfg.models} are its own")
    if cfg.augment != RunConfig.augment and cfg.views == 1:
        raise ConfigError("augment would change nothing: there is one view, of rows as they are")
    if method.maps:
        _tiles(cfg)
    if cfg.cut_at:
        _cut(cfg)


def _tiles(cfg: RunConfig) -> None:
    """Refuse columns that are no tiles of a grid, one of each party."""
    deal = cfg.deal()
    if deal.name != "grid":
        raise ConfigError(
            f"partition is {cfg.partition}, and {cfg.method} puts tiles together by their places; "
            f"use {grid_for(cfg.parties)}"
        )
    tiles = deal.argument[0] * deal.argument[1]
    if tiles != cfg.parties or (deal.kept and sorted(deal.kept) != list(range(tiles))):
        raise ConfigError(
            f"partition {cfg.partition} has {tiles} tiles, and {cfg.method} needs all of them, one "
            f"from each of {cfg.parties} parties"
        )


def _cut(cfg: RunConfig) -> None:
    """Refuse networks that cannot be cut in two, alike at all parties."""
    models = {cfg.listed_model(rank) for rank in range(cfg.parties)}
    fit = len(models) == 1 and (models == {"vgg16_bn"} or all(":" in name for name in models))
    if not fit:
        raise ConfigError(
            f"models is {cfg.models}, and {cfg.method} needs one network for all parties that can "
            "be cut in two: vgg16_bn, or your own package.module:Class"
        )
    for key in ("weights", "top_layers"):
        if getattr(cfg, key) != getattr(RunConfig, key):
            raise ConfigError(
                f"{kebab(key)} is {getattr(cfg, key)!r}, which networks that are cut in two do not "
                f"take; use {getattr(RunConfig, key)!r}"
            )


def _admm(cfg: RunConfig) -> None:
    """Refuse what the ADMM cannot do."""
    method = METHODS[cfg.method]
    _one_of(cfg, "heads", ("sgd", "ridge"))
    _between(cfg, LEAST_RHO, MOST_RHO, "rho")
    _between(cfg, 0, MOST_RHO, "beta")
    _between(cfg, 0, MOST_RHO, "head_rate")
    if not 0 < cfg.participation <= 1:
        raise ConfigError(f"participation must be a share up to 1, not {cfg.participation}")
    if cfg.participation < 1 and not method.admm:
        raise ConfigError(f"participation is {cfg.participation}, and {cfg.method} asks everybody")
    if cfg.participation < 1 and cfg.blinded:
        raise ConfigError(
            "masks cancel in the sum over all parties, and participation asks some; use "
            "participation = 1, or blinding = none, which protects nothing"
        )
    if cfg.heads == "ridge" and (not method.heads or cfg.top_layers > 1 or cfg.beta == 0):
        raise ConfigError(
            "heads = ridge solves for vimadmm's linear heads with a positive beta; use heads = sgd"
        )
    if method.network and cfg.top_layers > 1:
        raise ConfigError(
            f"top-layers is {cfg.top_layers}, and {cfg.method} has {method.network} networks; use 0"
        )
    if method.admm and cfg.loss not in ("", "cross-entropy"):
        raise ConfigError(
            f"loss is {cfg.loss}, and {cfg.method} solves for the cross-entropy's minimum; leave "
            "loss empty"
        )


def _column_noise(cfg: RunConfig) -> None:
    """Refuse noise on columns that are not there, or are not dealt out."""
    for rank, deviation in cfg.noises().items():
        if not cfg.parties - cfg.holders <= rank < cfg.parties:
            raise ConfigError(
                f"column-noise names place {rank}; parties with columns are at "
                f"{cfg.parties - cfg.holders} to {cfg.parties - 1}"
            )
        if not 0 < deviation <= MOST_NOISE:
            raise ConfigError(
                f"column-noise has deviation {deviation:g} at place {rank}; take one above 0 and "
                f"up to {MOST_NOISE:g}"
            )
    if cfg.column_noise and METHODS[cfg.method].pools:
        raise ConfigError(
            f"column-noise is on single parties' columns, and {cfg.method} has all of them as one; "
            "leave it empty"
        )


def _long_tail(cfg: RunConfig) -> None:
    """Refuse a tail that is none, that a schedule would not follow, or that tells labels."""
    _between(cfg, 1, MOST_TAIL, "long_tail")
    if cfg.long_tail > 1 and cfg.schedule == "cosine":
        raise ConfigError(
            "long-tail leaves fewer training rows, and only the active party knows how many: the "
            "others' schedule = cosine would not come to its end; use schedule = constant"
        )
    if cfg.long_tail > 1 and cfg.label_noise:
        raise ConfigError(
            "long-tail leaves rows out by their true labels, and label-privacy is "
            f"{cfg.label_noise}: label-epsilon would not be true; use label-privacy = none"
        )


def _blinding(cfg: RunConfig) -> None:
    """Refuse blinding that cannot act."""
    if cfg.blinding == "pairwise" and not METHODS[cfg.method].blinds:
        raise ConfigError(
            f"blinding is pairwise, and {cfg.method} needs each party's own answer, not their sum; "
            "use blinding = auto or none, or another method"
        )
    if cfg.blinded and cfg.parties < 3 and cfg.task == "train":
        raise ConfigError(
            f"{cfg.method} blinds the passive parties' embeddings in their sum, and {cfg.parties} "
            "parties leave one passive party with nothing to hide behind; use parties = 3 or more, "
            "or blinding = none, which protects nothing"
        )


def _label_privacy(cfg: RunConfig) -> None:
    """Refuse label privacy that cannot act, or would not be what it says."""
    _one_of(cfg, "label_privacy", ("auto", "none", *LABEL_MECHANISMS))
    if not LEAST_EPSILON <= cfg.label_epsilon <= MOST_EPSILON:
        raise ConfigError(
            f"label-epsilon must lie between {LEAST_EPSILON} and {MOST_EPSILON:g}, not "
            f"{cfg.label_epsilon}; without protection, use label-privacy = none"
        )
    if not 0 < cfg.label_sensitivity <= 1000:
        raise ConfigError(
            f"label-sensitivity must be positive, up to 1000, not {cfg.label_sensitivity}"
        )
    if cfg.label_sensitivity < TRUE_SENSITIVITY and not cfg.force_sensitivity:
        raise ConfigError(
            f"label-sensitivity {cfg.label_sensitivity:g} is less than two one-hot labels differ "
            "by, which is 2, and label-epsilon would not be true; use 2, or force-sensitivity to "
            "have it all the same, reported as not private"
        )
    of_noise = ("label_epsilon", "label_sensitivity", "force_sensitivity")
    changed = any(getattr(cfg, key) != getattr(RunConfig, key) for key in of_noise)
    if cfg.label_privacy == "auto" and not cfg.label_noise and changed:
        raise ConfigError(
            "label-epsilon, label-sensitivity or force-sensitivity is set, and "
            f"{cfg.method} noises no labels unless label-privacy says how: randomized-response, "
            "laplace or alibi"
        )
    if cfg.label_noise and not cfg.teaches:
        raise ConfigError(
            f"label-privacy is {cfg.label_noise}, and with {cfg.method} nothing that depends on "
            "labels leaves the active party; use label-privacy = auto or none"
        )


def _client_privacy(cfg: RunConfig) -> None:
    """Refuse noise on uploads that cannot act, or would not be what it says."""
    _one_of(cfg, "dp_eval", ("noised", "clear"))
    _one_of(cfg, "dp_accountant", ACCOUNTANTS)
    _between(cfg, 1e-6, 1e6, "dp_clip")
    _between(cfg, 1e-12, 0.1, "dp_delta")
    if cfg.dp_sigma:
        _between(cfg, LEAST_SIGMA, MOST_SIGMA, "dp_sigma")
    if cfg.target_epsilon:
        _between(cfg, 0.001, 1000, "target_epsilon")
    if cfg.noised and not METHODS[cfg.method].noises:
        able = ", ".join(name for name, method in METHODS.items() if method.noises)
        raise ConfigError(
            f"dp-sigma or target-epsilon is set, and {cfg.method}'s passive parties do not send "
            f"one thing an exchange that could be noised; with {able} they do"
        )
    changed = [kebab(key) for key, unset in UNNOISED.items() if getattr(cfg, key) != unset]
    if changed and not cfg.noised:
        raise ConfigError(
            f"{' and '.join(changed)} would change nothing: no noise is asked for; set dp-sigma or "
            "target-epsilon"
        )


def _between(cfg: RunConfig, least: float, most: float, key: str) -> None:
    if not least <= getattr(cfg, key) <= most:
        raise ConfigError(
            f"{kebab(key)} must lie between {least:g} and {most:g}, not {getattr(cfg, key)}"
        )


def _name(key: str, entry: str, known: Mapping[str, object] | tuple[str, ...]) -> None:
    if entry not in known:
        raise ConfigError(f"{kebab(key)}: unknown '{entry}'{near(entry, known)}")


def _one_of(cfg: RunConfig, key: str, known: Mapping[str, object] | tuple[str, ...]) -> None:
    _name(key, getattr(cfg, key), known)


def _at_least(cfg: RunConfig, least: int, *keys: str) -> None:
    for key in keys:
        if getattr(cfg, key) < least:
            raise ConfigError(f"{kebab(key)} must be at least {least}, not {getattr(cfg, key)}")


def _at_most(cfg: RunConfig, most: int, *keys: str) -> None:
    for key in keys:
        if getattr(cfg, key) > most:
            raise ConfigError(f"{kebab(key)} must be at most {most}, not {getattr(cfg, key)}")


def _seconds(cfg: RunConfig, *keys: str) -> None:
    for key in keys:
        if not 0 < getattr(cfg, key) <= LONGEST:
            raise ConfigError(
                f"{kebab(key)} must be positive seconds up to {LONGEST:g}, not {getattr(cfg, key)}"
            )


def _list_of(cfg: RunConfig, key: str, check_entry: Callable[[str], None]) -> None:
    entries = split_list(getattr(cfg, key))
    if len(entries) not in (1, cfg.parties):
        raise ConfigError(
            f"{kebab(key)} lists {len(entries)} values for {cfg.parties} parties; give one for "
            "all, or one for each, the active party's first"
        )
    for entry in entries:
        check_entry(entry)


def _named(entry: str) -> None:
    if not entry:
        raise ConfigError("tables has an empty entry; name a toml description for each party")


def _model(entry: str) -> None:
    if not OWN_NETWORK.fullmatch(entry):
        _name("models", entry, NETWORKS)


def _rate(entry: str, key: str = "learning-rates") -> None:
    try:
        good = entry == "auto" or 0 < float(entry) <= FLOAT32_MAX
    except ValueError:
        good = False
    if not good:
        raise ConfigError(f"{key} must be finite and positive, or auto, not '{entry}'")
