"""Networks and optimizers of parties, from configuration and data."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import torch
from torch import nn

from vfl_flower.common.errors import NetworkError, VflError, last_line
from vfl_flower.common.names import party_name
from vfl_flower.config.catalog import NETWORKS
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.party_data import PartyData
from vfl_flower.learning.device import device_of
from vfl_flower.learning.networks.base import Added, TopInput, blank
from vfl_flower.learning.networks.cut_network import cut_network
from vfl_flower.learning.networks.defences.defence import defend
from vfl_flower.learning.networks.factory import check_halves, network, top_model
from vfl_flower.learning.networks.standardized import standardize
from vfl_flower.learning.networks.torchvision_models import load_weights
from vfl_flower.learning.networks.trusted_code import check_trusted
from vfl_flower.learning.optimizer import ScheduledOptimizer
from vfl_flower.learning.randomness import Randomness, public_origin
from vfl_flower.learning.schedule import steps_per_epoch
from vfl_flower.parties.party import Party


def build_learner(
    cfg: RunConfig,
    data: PartyData,
    folder: Path | None = None,
    *,
    top_input: TopInput = TopInput.EMBEDDING,
    layers: int = 1,
    net: nn.Module | None = None,
) -> Party:
    """Build the network and optimizer of a party for its columns.

    Parameters
    ----------
    cfg : RunConfig
        The run's configuration.
    data : PartyData
        The party's.
    folder : Path, optional
        Where it writes.
    top_input : TopInput
        What its decision net takes.
    layers : int
        How many linear layers its decision net has, unless the network is a user's own.
    net : Module, optional
        What it learns, where that is no network of `models`.

    Raises
    ------
    NetworkError
        If the network cannot take the columns; the text names the party.
    TrustError
        If a run folder names code that the user has not said to trust.
    """
    check_trusted(cfg)
    rank, private = data.rank, cfg.party_randomness == "private"
    randomness = Randomness(None if private else public_origin(cfg.seed, rank))
    with _naming_the_party(cfg, rank):
        device = device_of(cfg.device)
        if net is None:
            net = _split_network(cfg, data, randomness, top_input, layers)
        net.to(device)
        data = replace(data, x=data.x.to(device))
        if ":" in cfg.model_of(rank) and not cfg.options.cut_at:
            with randomness.building():  # what the trial draws is nobody's
                _try(cfg, data, net, _width(cfg, top_input))
    randomness.attach(net)
    steps = cfg.epochs * steps_per_epoch(cfg, len(data.rows["train"]))
    rates = {net: cfg.rate_of(rank)}
    optimizer = ScheduledOptimizer(rates, cfg.optimizer_of(rank), cfg.schedule, steps)
    return Party(cfg, data, net, optimizer, randomness, folder)


def _split_network(
    cfg: RunConfig, data: PartyData, randomness: Randomness, top_input: TopInput, layers: int
) -> nn.Module:
    """Build a bottom and a top model before the first step."""
    rank, private = data.rank, cfg.party_randomness == "private"
    with randomness.building():
        net = _network(cfg, data, cfg.embedding_dim, top_input)
    _check_decision(cfg, net, top_input)
    own = ":" in cfg.model_of(rank) and not cfg.options.cut_at
    deep = layers > 1 and not own
    apart = top_input is not TopInput.EMBEDDING
    kept = cfg.options.cut_at or (cfg.blank(rank) and not apart)  # logits stay as they are
    if (private or apart or deep) and not kept and isinstance(net.decide, nn.Module):
        # The active party can work the decision net out. Where it is private it must not tell
        # of the embedding net, so the two come from different states of the generator.
        with randomness.building():
            net.decide = _decision(cfg, data, _width(cfg, top_input), layers if deep else 1)
    _take_weights(cfg, rank, net)
    _as_sent(cfg, data, net, randomness)
    return net


def _width(cfg: RunConfig, top_input: TopInput) -> int:
    """Return the width of a decision net's input."""
    return cfg.embedding_dim * (cfg.holders if top_input is TopInput.JOINED else 1)


def _as_sent(cfg: RunConfig, data: PartyData, net: nn.Module, randomness: Randomness) -> None:
    """Defend and standardise a passive party's uploads, if the run says so."""
    if data.rank == 0:
        return
    if cfg.embeddings_defended:
        with randomness.building("defence"):
            defend(net, cfg.embedding_dim, cfg.embedding_defence)
    if cfg.standardized:
        half = cfg.spec.standardizes
        standardize(net, half, cfg.embedding_dim if half == "embed" else data.classes)


@contextmanager
def _naming_the_party(cfg: RunConfig, rank: int) -> Iterator[None]:
    """Raise every error as a network error that names the party."""
    try:
        yield
    except VflError as error:
        raise NetworkError(f"{party_name(rank)}: {error}", error.detail) from error
    except Exception as error:  # a user's class may raise anything, torch has no memory left, ...
        text = f"{party_name(rank)}: network '{cfg.model_of(rank)}' cannot be built"
        raise NetworkError(f"{text} ({type(error).__name__})", last_line(error)) from error


def _check_decision(cfg: RunConfig, net: nn.Module, top_input: TopInput) -> None:
    """Refuse a top model that cannot be rebuilt for all parties' embeddings."""
    if top_input is TopInput.JOINED and not isinstance(net.decide, nn.Module):
        raise NetworkError(
            f"{cfg.method} builds the active party's `decide` anew, for the embeddings of all "
            f"parties; that of '{cfg.model_of(0)}' must be an nn.Module, not a method"
        )


def _network(
    cfg: RunConfig, data: PartyData, width: int, top_input: TopInput = TopInput.EMBEDDING
) -> nn.Module:
    """Build a party's network."""
    if cfg.options.cut_at:
        return cut_network(cfg, data, top_input)
    if cfg.blank(data.rank):
        return blank(data.classes)
    return network(cfg.model_of(data.rank))(tuple(data.x.shape[1:]), width, data.classes)


def _decision(cfg: RunConfig, data: PartyData, width: int, layers: int) -> nn.Module:
    """Rebuild a party's top model: wider, deeper, or from other randomness."""
    if cfg.options.adds_up and data.rank == 0:
        return _sum(cfg, data.classes)
    if layers > 1 or cfg.blank(data.rank):
        return top_model(cfg, data.rank, width, data.classes, layers)
    return _network(cfg, data, width).decide  # type: ignore[return-value]


def _sum(cfg: RunConfig, classes: int) -> Added:
    """Return the sum of embeddings in place of a top model."""
    if cfg.embedding_dim != classes:
        raise NetworkError(
            f"the sum of embeddings of {cfg.embedding_dim} numbers is no prediction of {classes}; "
            f"use embedding-dim = {classes}, or top = network"
        )
    return Added(classes)


def _try(cfg: RunConfig, data: PartyData, net: nn.Module, width: int) -> None:
    """Try a user's own network on two random rows, on its device."""
    rows, name = torch.randn_like(data.x[:2]), cfg.model_of(data.rank)
    check_halves(net, name, rows, cfg.embedding_dim, width, data.classes)


def _take_weights(cfg: RunConfig, rank: int, net: nn.Module) -> None:
    """Start a party's embedding net from published weights, if it has some."""
    name, weights = cfg.model_of(rank), cfg.weights_of(rank)
    if weights and not (name in NETWORKS and NETWORKS[name].published):
        raise NetworkError(f"there are no weights for {name}; leave this party's entry empty")
    if weights:
        load_weights(net.embed, Path(weights))  # type: ignore[arg-type]
