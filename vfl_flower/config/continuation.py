"""Options that a run shares with the model that parties join."""

from vfl_flower.common.errors import ConfigError
from vfl_flower.common.names import party_name
from vfl_flower.config.options.privacy import ClientPrivacyOptions
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.schema import declared_in, kebab

_KEPT = (
    *("method", "dataset", "active-columns", "pixel-scaling", "embedding-dim"),
    *("top-layers", "loss"),
    *("embedding-scale", "embedding-defence", "label-encoding", "missing-parties"),
    *("label-privacy", "label-epsilon", "label-sensitivity", "force-sensitivity"),
)
"""Options that frozen networks, labels and budgets depend on."""

_ROWS = (
    "seed",
    "split",
    "fold",
    "test-share",
    "validation",
    "train-rows",
    "test-rows",
    "long-tail",
)
"""Options that say which rows of a data set are training rows."""

_TARGET = "target-epsilon"
_NOISE = tuple(
    name for each in declared_in(ClientPrivacyOptions) if (name := kebab(each.name)) != _TARGET
)


def check_continued(cfg: RunConfig, model: RunConfig, rank: int, sigma: float) -> None:
    """Refuse a run that a model's party cannot be frozen in.

    Parameters
    ----------
    cfg : RunConfig
        The run's configuration.
    model : RunConfig
        That of the model, as the party has it.
    rank : int
        The party's.
    sigma : float
        The noise multiplier of uploads in the model's run; 0 without noise.

    Raises
    ------
    ConfigError
        Names the party and the option.
    """
    if model.parties + cfg.new_parties != cfg.parties:
        raise ConfigError(
            f"{party_name(rank)}: {model.parties} parties have trained the model, new-parties is "
            f"{cfg.new_parties}, and parties is {cfg.parties}; all of the model's must be there, "
            f"so use parties = {model.parties + cfg.new_parties}"
        )
    noise = _NOISE if model.noised else ()
    ours, theirs = cfg.to_mapping(), model.to_mapping() | {"dp-sigma": sigma}
    own = [kebab(each.name) for each in declared_in(cfg.options)]
    top = ("top-model",) if cfg.active_columns == "none" else ()
    for key in (*_KEPT, *top, *own, *_ROWS, *noise):
        if ours.get(key) != theirs.get(key):
            raise ConfigError(
                f"{party_name(rank)}: {key} is {ours.get(key)!r}, and the model was trained with "
                f"{theirs.get(key)!r}; use that"
            )
    if cfg.noises().get(rank) != model.noises().get(rank):
        raise ConfigError(
            f"{party_name(rank)}: its column-noise is not that of the model; use that"
        )
