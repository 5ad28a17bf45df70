"""Model folder of a party: files for predictions, and a model card.

| file | what it holds |
|---|---|
| ``weights.safetensors`` | the network's weights, and the tensors that ``predicts_with`` names |
| ``config.toml`` | the settings that make the run what it is |
| ``encoder.json`` | of a table of the party's own: what makes columns for the network of it |
| ``ranges.json`` | of columns of numbers: the least and largest value in the training rows |
| ``target.json`` | the active party's: classes, the positive one, and the threshold |
| ``card.md`` | what people should know of it |
| others | the method's own, by ``further_files``: nothing reads them |
| ``network.json`` | which run, which party, which network, and digests of all files but the card |

The last one is written last, and tells whether the others are those that were written with it.
"""

import tomllib
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import tomli_w
from torch import Tensor

from vfl_flower.common.checksums.records import read_checked, write_checked
from vfl_flower.common.errors import ConfigError, RunError
from vfl_flower.common.files import write_atomically
from vfl_flower.common.json_schema import Named, fits
from vfl_flower.common.layout import (
    CARD,
    CONFIG,
    ENCODER,
    NETWORK,
    RANGES,
    TARGET,
    WEIGHTS,
    model_of,
)
from vfl_flower.common.names import party_name
from vfl_flower.common.state import weights_from_bytes, weights_to_bytes
from vfl_flower.config.run_config import RunConfig, differences
from vfl_flower.config.schema import split_list
from vfl_flower.data.preprocessing.target import Target
from vfl_flower.parties.input_drift import InputRanges
from vfl_flower.parties.party import Party
from vfl_flower.parties.persistence.model_card import card_of
from vfl_flower.privacy.client_dp.budget import Noise

EXTRA = "predicts_with."
"""What stands before the names of tensors that are no weights of the network."""

_WITHOUT = {"model": "", "new-parties": 0, "service": "", "truth": False, "keep-missing": False}
"""Options of other runs with a model, without which the run of a model was unless it says so."""

_SHAPE = {"run": str, "party": str, "network": dict, "sigma": float, "files": Named(str)}


def described(party: Party) -> dict[str, Any]:
    """Describe a party's network: name, inputs and outputs."""
    return {
        "name": party.cfg.model_of(party.rank),
        "row": list(party.x.shape[1:]),
        "embedding_dim": party.cfg.embedding_dim,
        "classes": party.data.classes,
        "decide": party.top_input.value,
    }


def write_model(
    folder: Path,
    party: Party,
    nonce: str,
    noise: Noise | None,
    metrics: Mapping[str, Mapping[str, Any]] | None = None,
    target: Target | None = None,
) -> None:
    """Write a party's model folder.

    Parameters
    ----------
    folder : Path
        The party's own.
    party : Party
        The party, with the weights that count.
    nonce : str
        What tells the run from all others.
    noise : Noise or None
        Of client-level privacy, as far as this party knows; None without it.
    metrics : mapping, optional
        What the predictions of the test rows are worth, by party: for the active party's eyes.
    target : Target, optional
        What labels are called: the active party's, too.

    Raises
    ------
    RunError
        If the file system refuses.
    """
    tensors = dict(party.net.state_dict())
    tensors |= {EXTRA + name: getattr(party, name) for name in party.predicts_with}
    contents = {
        WEIGHTS: weights_to_bytes(tensors),
        CONFIG: tomli_w.dumps(party.cfg.identity()).encode(),
    }
    if party.data.encoder:
        contents[ENCODER] = party.data.encoder.to_json()
    if target:
        contents[TARGET] = target.to_json()
    if ranges := InputRanges.of(party.data):
        contents[RANGES] = ranges.to_json()
    contents |= party.further_files()
    network, where = described(party), model_of(folder)
    for name, content in contents.items():
        write_atomically(where / name, content)
    card = card_of(party, network, nonce, noise and noise.epsilon, metrics or {}, target)
    write_atomically(where / CARD, card.encode())
    about: dict[str, Any] = {"run": nonce, "party": party_name(party.rank), "network": network}
    about["sigma"] = noise.sigma if noise else 0.0
    about["uploads"] = dict(party.uploads_counted())
    about["files"] = {name: sha256(content).hexdigest() for name, content in contents.items()}
    write_checked(where / NETWORK, about)


def load_model(folder: Path, party: Party, cfg: RunConfig | None = None) -> None:
    """Load a party's model folder: weights, further tensors, and the run's nonce.

    Parameters
    ----------
    folder : Path
        The party's own, with a model folder in it.
    party : Party
        The party, built as it was for the run.
    cfg : RunConfig, optional
        The run's configuration, where there is more of it than the model folder; that of `party`
        may differ in how it is protected.

    Raises
    ------
    RunError
        If a file is missing or damaged, is not of this folder's run, this party or this
        configuration, or does not fit the party's network; the text says which.
    PrivacyError
        If the party's file counts fewer uploads than when the model was written.
    """
    where = model_of(folder)
    about, contents = _load_network(where, party, cfg)
    party.expect_uploads(about["uploads"])
    party.nonce = about["run"]
    if RANGES in contents:  # earlier versions have none
        party.ranges = InputRanges.load(where / RANGES)


def load_frozen(folder: Path, party: Party) -> None:
    """Load the network of a party of a model that others join.

    Parameters
    ----------
    folder : Path
        The party's own in the run of that model.
    party : Party
        The party, built for the run in which others join.

    Raises
    ------
    RunError
        See `load_model`.
    """
    about, _ = _load_network(model_of(folder), party, None)
    party.began_with = about["run"]
    party.count_on(folder, about["uploads"])
    party.optimizer.frozen = True
    party.set_mode(training=False)


def _load_network(
    where: Path, party: Party, cfg: RunConfig | None
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Load a party's weights; return its model folder's record and files."""
    name = party_name(party.rank)
    about, contents = _contents(where)
    if about["party"] != name:
        raise RunError(f"{where} is of {about['party']}, not of {name}; put {name}'s there")
    if cfg and (told := differences(_written(where / CONFIG, contents[CONFIG], cfg), cfg)):
        raise RunError(f"{where} is of a run with another configuration: {told}")
    misfit = f"{where} does not fit the network of {name}"
    for key, value in described(party).items():
        if about["network"].get(key) != value:
            raise RunError(f"{misfit}: its {key} is {about['network'].get(key)}, not {value}")
    if party.data.encoder and contents.get(ENCODER) != party.data.encoder.to_json():
        raise RunError(
            f"{name}: its table is not the one of training, or something else is said of it; put "
            f"back what {where / ENCODER} is of, and say ignored of the columns that it ignores"
        )
    tensors = weights_from_bytes(contents[WEIGHTS])
    try:
        for each in party.predicts_with:
            if each not in party.earlier_lack or EXTRA + each in tensors:
                setattr(party, each, tensors.pop(EXTRA + each))
        party.net.load_state_dict(tensors)
    except (KeyError, RuntimeError) as error:
        raise RunError(f"{misfit}: {WEIGHTS} is of another one") from error
    return about, contents


def trained_with(folder: Path, cfg: RunConfig, trust_code: bool = False) -> tuple[RunConfig, float]:
    """Return configuration and noise of the run of a model folder.

    Parameters
    ----------
    folder : Path
        The party's own, with a model folder in it.
    cfg : RunConfig
        Where things are now: what the folder says nothing of.
    trust_code : bool
        Whether the code of networks that the folder names may be imported.

    Returns
    -------
    cfg : RunConfig
    sigma : float
        The noise multiplier of uploads; 0 without client-level privacy.

    Raises
    ------
    RunError
        If the model folder is missing or damaged.
    """
    about, contents = _contents(model_of(folder))
    path = model_of(folder) / CONFIG
    written = _written(path, contents[CONFIG], cfg)
    return written.unless_trusted(path, trust_code), about["sigma"]


def trained_network(folder: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Return the record of a party's model folder, and its network's weights.

    Raises
    ------
    RunError
        If it is missing or damaged.
    """
    about, contents = _contents(model_of(folder))
    tensors = weights_from_bytes(contents[WEIGHTS])
    return about, {n: each for n, each in tensors.items() if not n.startswith(EXTRA)}


def run_of(folder: Path) -> str:
    """Return the nonce of the run of a model folder.

    Raises
    ------
    RunError
        If it is missing or damaged.
    """
    return str(read_checked(model_of(folder) / NETWORK, _SHAPE)["run"])


def _contents(where: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Read a model folder's files, which must have been written together."""
    about = {"uploads": {}} | read_checked(where / NETWORK, _SHAPE)  # earlier versions do not say
    if not fits(about["uploads"], Named(int)):
        raise RunError(f"{where / NETWORK} is damaged: it counts no uploads")
    names = {WEIGHTS, CONFIG, *about["files"]} & {WEIGHTS, CONFIG, ENCODER, TARGET, RANGES}
    return about, {name: _read(where / name, about["files"].get(name)) for name in names}


def _read(path: Path, digest: str | None) -> bytes:
    """Read a file, and check its digest."""
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


def _written(path: Path, content: bytes, cfg: RunConfig) -> RunConfig:
    """Return the configuration in a file, with today's paths."""
    try:
        values = tomllib.loads(content.decode())
        now = cfg.to_mapping() | _WITHOUT
        now["tables"] = ",".join(split_list(cfg.tables)[: values.get("parties")])
        if values.get("new-parties"):  # it names no path to what it began with
            now["model"] = str(path.parent)
        return RunConfig.from_record(values, now)
    except (TypeError, ValueError, RecursionError, ConfigError) as error:
        raise RunError(f"{path} is of another version: {error}") from error
