"""A party's model folder: what it needs to predict, and a card that says what it is.

| file | what it holds |
|---|---|
| ``weights.safetensors`` | the network's weights, and the tensors that ``predicts_with`` names |
| ``config.toml`` | the settings that make the run what it is |
| ``card.md`` | what people should know of it |
| ``network.json`` | which run, which party, which network, and digests of the first two files |

The last one is written last, and tells whether the others are those that were written with it.
What else a party predicts with goes into a file of its own, which `CONTENTS` names.
"""

import tomllib
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
import torch
from torch import Tensor

from vfl_flower.card import card_of
from vfl_flower.codec import Array
from vfl_flower.config import RunConfig, differences
from vfl_flower.data import DATASETS
from vfl_flower.errors import ConfigError, ProtocolError, RunError
from vfl_flower.member import Member
from vfl_flower.names import member_name
from vfl_flower.shape import Named
from vfl_flower.state import (
    read_json,
    weights_from_bytes,
    weights_to_bytes,
    write_atomically,
    write_json,
)

MODEL = "model"
WEIGHTS, CONFIG, CARD, NETWORK = "weights.safetensors", "config.toml", "card.md", "network.json"
CONTENTS = (WEIGHTS, CONFIG)
"""The files of which ``network.json`` has a digest."""

NONCE = 8  # bytes
EXTRA = "predicts_with."
"""What stands before the names of tensors that are no weights of the network."""

_SHAPE = {"run": str, "party": str, "network": dict, "files": Named(str)}


def model_of(folder: Path) -> Path:
    """Return where a party's model folder is, in the party's own."""
    return folder / MODEL


def nonce_to_array(nonce: str) -> Array:
    """Return a nonce as it travels: (8,) uint8."""
    return np.frombuffer(bytes.fromhex(nonce), np.uint8)


def nonce_of(array: Tensor) -> str:
    """Reverse `nonce_to_array`.

    Raises
    ------
    ProtocolError
        If it is none.
    """
    if array.shape != (NONCE,) or array.dtype != torch.uint8:
        raise ProtocolError(f"a nonce has {NONCE} bytes, and something else arrived")
    return bytes(array.tolist()).hex()


def described(member: Member) -> dict[str, Any]:
    """Return what a party's network is called, takes and gives."""
    return {
        "name": member.cfg.model_of(member.place),
        "row": list(member.x.shape[1:]),
        "embedding_dim": member.cfg.embedding_dim,
        "classes": DATASETS[member.cfg.dataset].classes,
        "decide": member.takes,
    }


def write_model(
    folder: Path,
    member: Member,
    nonce: str,
    epsilon: float | None,
    metrics: Mapping[str, Mapping[str, Any]] | None = None,
) -> None:
    """Write a party's model folder.

    Parameters
    ----------
    folder : Path
        The party's own.
    member : Member
        The party, with the weights that count.
    nonce : str
        What tells the run from all others.
    epsilon : float or None
        What client-level privacy has cost so far, as far as this party knows; None without it.
    metrics : mapping, optional
        What the predictions of the test rows are worth, by party: for the active party's eyes.

    Raises
    ------
    RunError
        If the file system refuses.
    """
    tensors = dict(member.net.state_dict())
    tensors |= {EXTRA + name: getattr(member, name) for name in member.predicts_with}
    contents = {
        WEIGHTS: weights_to_bytes(tensors),
        CONFIG: tomli_w.dumps(member.cfg.identity()).encode(),
    }
    network, where = described(member), model_of(folder)
    for name, content in contents.items():
        write_atomically(where / name, content)
    write_atomically(where / CARD, card_of(member, network, nonce, epsilon, metrics or {}).encode())
    about = {"run": nonce, "party": member_name(member.place), "network": network}
    files = {name: sha256(content).hexdigest() for name, content in contents.items()}
    write_json(where / NETWORK, about | {"files": files})


def load_model(folder: Path, member: Member, cfg: RunConfig) -> str:
    """Give a party the weights of its model folder, and what else it predicts with.

    Parameters
    ----------
    folder : Path
        The party's own, with a model folder in it.
    member : Member
        The party, built as it was for the run.
    cfg : RunConfig
        The run's configuration; that of `member` may differ in how it is protected.

    Returns
    -------
    str
        The run's nonce.

    Raises
    ------
    RunError
        If a file is missing or damaged, is not of this folder's run, this party or this
        configuration, or does not fit the party's network; the text says which.
    """
    where, party = model_of(folder), member_name(member.place)
    about = read_json(where / NETWORK, _SHAPE)
    contents = {name: _read(where / name, about["files"].get(name)) for name in CONTENTS}
    if about["party"] != party:
        raise RunError(f"{where} is of {about['party']}, not of {party}; put {party}'s there")
    if told := _differences(where / CONFIG, contents[CONFIG], cfg):
        raise RunError(f"{where} is of a run with another configuration: {told}")
    misfit = f"{where} does not fit the network of {party}"
    for key, value in described(member).items():
        if about["network"].get(key) != value:
            raise RunError(f"{misfit}: its {key} is {about['network'].get(key)}, not {value}")
    tensors = weights_from_bytes(contents[WEIGHTS])
    try:
        for name in member.predicts_with:
            setattr(member, name, tensors.pop(EXTRA + name))
        member.net.load_state_dict(tensors)
    except (KeyError, RuntimeError) as error:
        raise RunError(f"{misfit}: {WEIGHTS} is of another one") from error
    return str(about["run"])


def _read(path: Path, digest: str | None) -> bytes:
    """Read a file, which must be the one that was written with the others."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise RunError(f"{path} is missing or damaged: {error}") from error
    if sha256(content).hexdigest() != digest:
        raise RunError(
            f"{path} is missing or damaged, or another run's or party's: {NETWORK} beside it was "
            "written with another one"
        )
    return content


def _differences(path: Path, content: bytes, cfg: RunConfig) -> str:
    """Name the settings in which the run that a file is of differs from this one."""
    try:
        written = RunConfig.from_mapping(cfg.to_mapping() | tomllib.loads(content.decode()))
    except (ValueError, ConfigError) as error:
        raise RunError(f"{path} is of another version: {error}") from error
    return differences(written, cfg)
