"""Protections of a run's configuration, and the same run without them."""

from typing import Any

from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.settings import UNNOISED
from vfl_flower.privacy.guarantees import noise_level
from vfl_flower.privacy.label_dp.training_labels import epsilon_of


def protections_of(cfg: RunConfig) -> list[str]:
    """Name the protections that a run's attacker has to do with."""
    noise = cfg.label_noise
    named = (
        ("pairwise masking", cfg.blinded),
        (
            f"label differential privacy ({noise}, epsilon {epsilon_of(cfg):g})" if noise else "",
            noise,
        ),
        (f"gradient defence ({cfg.gradient_defence})", cfg.defended),
        (f"embedding defence ({cfg.embedding_defence})", cfg.embeddings_defended),
        (f"label encoding ({cfg.label_encoding})", cfg.encoded),
        ("standardised uploads", cfg.blinded and cfg.standardized),
        (f"{noise_level(cfg)} differential privacy", cfg.noised),
        (f"rounded scores (decimals: {cfg.score_digits})", cfg.score_digits > 0),
        ("private initial weights", cfg.party_randomness == "private"),
    )
    return [*(name for name, there in named if there), *cfg.options.own_protections]


def unprotected(cfg: RunConfig) -> RunConfig:
    """Return the same run without any of `protections_of`."""
    changes: dict[str, Any] = {**UNNOISED, "label_privacy": "none", "embedding_scale": "raw"}
    changes |= {"gradient_defence": "none", "embedding_defence": "none", "label_encoding": "none"}
    changes["score_digits"] = 0
    if cfg.blinded:
        changes |= {"blinding": "none", "colluding_share": 1.0, "share_check": "off"}
    if cfg.party_randomness == "private":
        changes["party_randomness"] = "public"
    for without in cfg.options.own_protections.values():
        changes |= without
    return cfg.changed(**changes)
