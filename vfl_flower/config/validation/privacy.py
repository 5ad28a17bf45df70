"""Checks of secure aggregation, label privacy and client-level privacy."""

from collections.abc import Callable

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.catalog import BFLOAT16, FLOAT16, LABEL_MECHANISMS
from vfl_flower.config.method_spec import MethodSpec
from vfl_flower.config.options.defences.embeddings import read_embedding_defence
from vfl_flower.config.options.defences.gradients import read_defence
from vfl_flower.config.options.defences.labels import read_encoding
from vfl_flower.config.options.privacy import (
    LEAST_BOUND,
    LEAST_SIGMA,
    LEAST_TARGET,
    MOST_BOUND,
    MOST_NARROW,
    MOST_SIGMA,
    MOST_TARGET,
    TRUE_SENSITIVITY,
    USUAL_BOUND,
    LabelPrivacyOptions,
)
from vfl_flower.config.registry import methods_that
from vfl_flower.config.schema import declared_in, kebab
from vfl_flower.config.settings import UNNOISED, Settings


def check_blinding(cfg: Settings) -> None:
    """Refuse blinding that cannot act."""
    if cfg.blinding == "pairwise" and not cfg.spec.blinds:
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
    if cfg.colluding_share < 1 and not cfg.blinded:
        raise ConfigError(
            f"colluding-share is {cfg.colluding_share:g}, and nothing is masked (method "
            f"{cfg.method}, blinding {cfg.blinding}); leave it at 1"
        )


def check_embedding_bound(cfg: Settings) -> None:
    """Refuse a bound without meaning or effect."""
    bound = cfg.embedding_bound
    if bound in ("auto", "none"):
        return
    try:
        fits = LEAST_BOUND <= float(bound) <= MOST_BOUND
    except ValueError:
        fits = False
    if not fits:
        raise ConfigError(
            f"embedding-bound must be auto, none, or {LEAST_BOUND:g} to {MOST_BOUND:g}, not "
            f"'{bound}'"
        )
    if not cfg.spec.blinds:
        able = methods_that(lambda spec: spec.blinds)
        raise ConfigError(
            f"embedding-bound is {bound}, and {cfg.method} sums no uploads; use embedding-bound = "
            f"auto or none, or one of {able}"
        )


def check_embedding_scale(cfg: Settings) -> None:
    """Refuse standardised uploads where nothing may be standardised."""
    if cfg.standardized and not cfg.spec.standardizes:
        able = methods_that(lambda spec: spec.standardizes)
        why = "steps from the sum of raw logits" if cfg.spec.blinds else "sums no uploads"
        raise ConfigError(
            f"embedding-scale is standardized, and {cfg.method} {why}; use embedding-scale = raw, "
            f"or one of {able}"
        )


def check_embedding_defence(cfg: Settings) -> None:
    """Refuse a defence where no embedding learns by its gradient."""
    if not cfg.embeddings_defended:
        return
    read_embedding_defence(cfg.embedding_defence)
    if cfg.spec.embedding_gradients:
        return
    why = "passive parties learn no embedding by its gradient"
    if cfg.spec.alone:
        why = "passive parties send no embedding"
    able = methods_that(lambda spec: spec.embedding_gradients)
    raise ConfigError(
        f"embedding-defence is {cfg.embedding_defence}, and with {cfg.method} {why}; use "
        f"embedding-defence = none, or one of {able}"
    )


def check_share_check(cfg: Settings) -> None:
    """Refuse checks of shares that cannot act."""
    if not cfg.shares_checked:
        return
    if not cfg.blinded:
        able = methods_that(lambda spec: spec.blinds)
        why = f"nothing is summed under masks (method {cfg.method}, blinding {cfg.blinding})"
        remedy = f"one of {able} with blinding = auto"
    elif cfg.colluding_share < 1:
        why = f"colluding-share is {cfg.colluding_share:g}, so that not all parties have pair keys"
        remedy = "colluding-share = 1"
    elif cfg.noise_distributed:
        why = "dp-noise is distributed, and variances of single uploads had a share of the noise"
        remedy = "dp-noise = own"
    else:
        return
    raise ConfigError(f"share-check is on, and {why}; use share-check = off, or {remedy}")


def check_wire_precision(cfg: Settings) -> None:
    """Refuse numbers of 16 or 8 bits that would not fit."""
    precision = f"wire-precision is {cfg.wire_precision}"
    if not cfg.narrow:
        return
    if cfg.spec.alone:
        raise ConfigError(f"{precision}, and parties of {cfg.method} send no numbers; use float32")
    if (compression := cfg.options.upload_compression) != "none":
        raise ConfigError(
            f"{precision}, and uploads of {cfg.method} are compressed ({compression}) already; use "
            "wire-precision = float32, or compression = none"
        )
    if cfg.noise_distributed:
        raise ConfigError(
            f"{precision}, and dp-noise is distributed, whose shares are in steps of 32 bits; use "
            "wire-precision = float32, or dp-noise = own"
        )
    if cfg.blinded and cfg.parties - 1 > MOST_NARROW:
        raise ConfigError(
            f"{precision}, and a masked sum of more than {MOST_NARROW} passive parties needs 32 "
            "bits; use wire-precision = float32"
        )
    if cfg.noised and cfg.wire_precision == FLOAT16:
        raise ConfigError(
            f"{precision}, which may not hold the noise of client-level privacy; use "
            f"wire-precision = {BFLOAT16}"
        )
    if cfg.blinded and cfg.embedding_bound == "none":
        raise ConfigError(
            f"{precision}, and 16 bits under masks need a range, which is that of embedding-bound, "
            f"and that is none; set it, as to {USUAL_BOUND}, or wire-precision = float32"
        )


def check_label_privacy(cfg: Settings) -> None:
    """Refuse label privacy without effect, or with a false epsilon."""
    if cfg.label_sensitivity < TRUE_SENSITIVITY and not cfg.force_sensitivity:
        raise ConfigError(
            f"label-sensitivity {cfg.label_sensitivity:g} is less than two one-hot labels differ "
            "by, which is 2, and label-epsilon would not be true; use 2, or force-sensitivity to "
            "have it all the same, reported as not private"
        )
    changed = any(
        getattr(cfg, each.name) != each.default
        for each in declared_in(LabelPrivacyOptions)
        if each.name != "label_privacy"
    )
    if cfg.label_privacy == "auto" and not cfg.label_noise and changed:
        raise ConfigError(
            "label-epsilon, label-sensitivity or force-sensitivity is set, and "
            f"{cfg.method} noises no labels unless label-privacy says how: "
            f"one of {', '.join(LABEL_MECHANISMS)}"
        )
    if cfg.label_noise and not cfg.teaches:
        raise ConfigError(
            f"label-privacy is {cfg.label_noise}, and with {cfg.method} nothing that depends on "
            "labels leaves the active party; use label-privacy = auto or none"
        )


def check_gradient_defence(cfg: Settings) -> None:
    """Refuse a defence where not all that tells labels is gradients."""
    if not cfg.defended:
        return
    read_defence(cfg.gradient_defence)
    other = "sends other things than gradients that depend on labels"
    _check_ways_of_labels(cfg, "gradient_defence", lambda spec: spec.gradients_only, other)


def check_label_encoding(cfg: Settings) -> None:
    """Refuse an encoding where labels reach others by another way."""
    if not cfg.encoded:
        return
    read_encoding(cfg.label_encoding)
    other = "sends other things that depend on labels than its loss's targets make"
    _check_ways_of_labels(cfg, "label_encoding", lambda spec: spec.soft_targets, other)


def _check_ways_of_labels(
    cfg: Settings, key: str, covers: Callable[[MethodSpec], bool], other: str
) -> None:
    """Refuse an option that does not cover all that tells labels."""
    if not cfg.teaches:
        why = f"with {cfg.method} nothing that depends on labels leaves the active party"
    elif cfg.labels_given:
        why = f"{cfg.method} gives passive parties the training labels"
    elif not covers(cfg.spec):
        why = f"{cfg.method} {other}"
    else:
        return
    name, able = kebab(key), methods_that(covers)
    raise ConfigError(
        f"{name} is {getattr(cfg, key)}, and {why}; use {name} = none, or one of {able}"
    )


def check_client_privacy(cfg: Settings) -> None:
    """Refuse noise on uploads without effect, or with a false epsilon."""
    for key, least, most in (
        ("dp_sigma", LEAST_SIGMA, MOST_SIGMA),
        ("target_epsilon", LEAST_TARGET, MOST_TARGET),
    ):
        value = getattr(cfg, key)
        if value and not least <= value <= most:
            raise ConfigError(f"{kebab(key)} must be 0, or {least:g} to {most:g}, not {value}")
    if cfg.noised and not cfg.spec.noises:
        able = methods_that(lambda spec: spec.noises)
        raise ConfigError(
            f"dp-sigma or target-epsilon is set, and {cfg.method}'s passive parties do not send "
            f"one thing an exchange that could be noised; with {able} they do"
        )
    if cfg.noise_distributed and not cfg.blinded:
        raise ConfigError(
            f"dp-noise is distributed, and nothing is masked (method {cfg.method}, blinding "
            f"{cfg.blinding}): single uploads with a share of the noise would be seen; use "
            "dp-noise = own"
        )
    if cfg.dp_gradient_clip != UNNOISED["dp_gradient_clip"] and cfg.dp_adjacency != "row":
        raise ConfigError(
            "dp-gradient-clip would change nothing: dp-adjacency is party, whose gradients are not "
            "noised; use dp-adjacency = row"
        )
    changed = [kebab(key) for key, unset in UNNOISED.items() if getattr(cfg, key) != unset]
    if changed and not cfg.noised:
        raise ConfigError(
            f"{' and '.join(changed)} would change nothing: no noise is asked for; set dp-sigma or "
            "target-epsilon"
        )


def check_row_level(cfg: Settings) -> None:
    """Refuse an epsilon of rows that would be false."""
    if not cfg.row_level:
        return
    able = methods_that(lambda spec: spec.noises_gradients)
    if not cfg.spec.noises_gradients:
        why = f"a row changes a party's network of {cfg.method} by more than a noised gradient"
    elif not cfg.options.one_step:
        why = f"with these options of {cfg.method} a party's steps are not one for each upload"
        able = f"{cfg.method} with one step for each"
    elif cfg.standardized:
        why, able = "embedding-scale is standardized, which mixes rows", "embedding-scale = raw"
    elif cfg.embeddings_defended:
        why = f"embedding-defence is {cfg.embedding_defence}, whose penalties are no row's own"
        able = "embedding-defence = none"
    else:
        return
    raise ConfigError(f"dp-adjacency is row, and {why}; use dp-adjacency = party, or {able}")
