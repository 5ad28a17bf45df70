"""Networks of a trained party as ONNX, for other runtimes.

Nothing protects what they compute: no mask, no noise, no budget and no policy is in a file, and
neither is the clipping of rows to ``embedding-bound``. A party may use its own half on its own
columns; whoever else gets it can invert embeddings, or predict without being asked.
"""

import tomllib
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from vfl_flower.common.errors import NetworkError, RunError, last_line
from vfl_flower.common.files import write_atomically
from vfl_flower.common.layout import CONFIG, TARGET, WEIGHTS, model_of
from vfl_flower.common.names import party_name
from vfl_flower.config.catalog import MULTI_LABEL
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.settings import UNNOISED
from vfl_flower.data.loading import RunData
from vfl_flower.data.party_data import PartyData
from vfl_flower.data.preprocessing.target import Target
from vfl_flower.learning.networks.base import TopInput, trying
from vfl_flower.parties.party import Party
from vfl_flower.parties.persistence.model_folder import trained_network, trained_with
from vfl_flower.workflows.build_parties import build_active, build_passive

_JOINED: Mapping[TopInput, Callable[[Tensor, int], Tensor]] = {
    TopInput.EMBEDDING: lambda E, holders: E,
    TopInput.ADDED: lambda E, holders: E,
    TopInput.JOINED: lambda E, holders: torch.cat([E] * holders, 1),
}
"""Input of a top model from one party's embedding; of feature maps there is none."""

_NAMES = {"embed": ("columns", "embedding"), "decide": ("input", "logits")}
"""Input and output of each half, as ONNX names them."""


class Half(NamedTuple):
    """One exported network.

    Attributes
    ----------
    path : Path
        Of the ONNX file.
    takes, gives : tuple of int
        Shapes of one row.
    """

    path: Path
    takes: tuple[int, ...]
    gives: tuple[int, ...]


def export(folder: Path, out: Path, trust_code: bool = False) -> list[Half]:
    """Write a party's bottom and top model as ``embed.onnx`` and ``decide.onnx``.

    Parameters
    ----------
    folder : Path
        The party's own, with its model folder; no data are needed.
    out : Path
        Folder of the files, which their owner alone may read.
    trust_code : bool
        Whether the code of networks that the folder names may be imported.

    Returns
    -------
    list of Half
        Without ``embed.onnx`` of a party without columns, and without ``decide.onnx`` where the
        top model takes joined feature maps.

    Raises
    ------
    RunError
        If the model folder is missing or damaged.
    NetworkError
        If the party has no columns, or its network cannot be exported.
    """
    party = _trained(folder, trust_code)
    x, top_input = party.data.numbers, party.top_input
    if not x.numel() and top_input is TopInput.EMBEDDING:
        raise NetworkError(f"{party_name(party.rank)} has no columns, and so no network to export")
    halves, E = list[Half](), torch.zeros(2, party.cfg.embedding_dim)
    with trying(party.net):
        if x.numel():
            halves.append(_written(party, "embed", x, out))
            E = party.net.embed(x)  # type: ignore[operator]
        if top_input in _JOINED:
            joined = _JOINED[top_input](E, party.cfg.holders)
            halves.append(_written(party, "decide", joined, out))
    return halves


def _trained(folder: Path, trust_code: bool) -> Party:
    """Build a party from its model folder alone."""
    about, weights = trained_network(folder)
    cfg = _configuration(folder, trust_code)
    rank = [party_name(k) for k in range(cfg.parties)].index(about["party"])
    if not cfg.trains_networks:
        raise NetworkError(f"{cfg.method} trains no network, and so there is none to export")
    empty = _Empty(about["network"], folder)
    party: Party
    if rank:
        party = build_passive(cfg, rank, data=empty.party(rank))
    else:
        party = build_active(cfg, labelled=False, source=empty)
    party.nonce = about["run"]
    try:
        party.net.load_state_dict(weights)
    except RuntimeError as error:
        raise RunError(f"{model_of(folder)}: {WEIGHTS} is of another network") from error
    return party


class _Empty(RunData):
    """Data of a party, of whose rows the shape alone is known.

    Parameters
    ----------
    network : mapping
        Its network, as the model folder describes it.
    folder : Path
        The party's own.
    """

    def __init__(self, network: Mapping[str, Any], folder: Path) -> None:
        self._network, self._path = network, model_of(folder) / TARGET

    def party(self, rank: int, *, labelled: bool = True) -> PartyData:
        """Return two rows of zeros, which are in no part."""
        parts = dict.fromkeys(("train", "validation", "test"), np.empty(0, np.int32))
        x = torch.zeros(2, *self._network["row"])
        target = None if rank else Target.load(self._path)
        several = target is not None and target.task == MULTI_LABEL
        classes = self._network["classes"]
        return PartyData(rank, x, parts, classes, target=target, several=several)

    def pooled(self, *, labelled: bool = True) -> PartyData:
        """Return the same for the central baseline."""
        return self.party(0)


def _configuration(folder: Path, trust_code: bool) -> RunConfig:
    """Read the configuration of a model folder, without data."""
    path = model_of(folder) / CONFIG
    own = tomllib.loads(path.read_text()).get("dataset") == "own"
    places = RunConfig(dataset="own", tables="unread.toml") if own else RunConfig()
    cfg, _ = trained_with(folder, places, trust_code)
    unnoised: dict[str, Any] = UNNOISED  # nothing is sent
    return replace(cfg, weights="", device="cpu", **unnoised)  # weights are those of the folder


def _written(party: Party, name: str, x: Tensor, out: Path) -> Half:
    """Write one half, tried on two rows, (2, ...)."""
    half = _Half(party.net, name).eval()
    try:
        made = _onnx(half, x, *_NAMES[name])
        made.model.metadata_props.update(_about(party, name))
        content = made.model_proto.SerializeToString()
    except Exception as error:  # torch has no common class of what it cannot export
        text = f"{party_name(party.rank)}: '{name}' of its network cannot be exported to ONNX"
        raise NetworkError(text, last_line(error)) from error
    path = out / f"{name}.onnx"
    write_atomically(path, content)
    return Half(path, tuple(x.shape[1:]), tuple(half(x).shape[1:]))


def _onnx(half: nn.Module, x: Tensor, takes: str, gives: str) -> torch.onnx.ONNXProgram:
    """Export a module for any number of rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's exporter warns of its own code
        made = torch.onnx.export(
            half,
            (x,),
            dynamo=True,
            input_names=[takes],
            output_names=[gives],
            dynamic_shapes=({0: torch.export.Dim("rows")},),
            external_data=False,  # one file
            verbose=False,
        )
    assert made is not None  # noqa: S101  torch's older exporter alone returns None
    return made


def _about(party: Party, name: str) -> dict[str, str]:
    """Describe a half, as far as others may know."""
    cfg = party.cfg
    return {
        "vfl_flower.party": party_name(party.rank),
        "vfl_flower.half": name,
        "vfl_flower.method": cfg.method,
        "vfl_flower.model": party.model_digest(),
        "vfl_flower.embedding_bound": "none" if cfg.row_bound is None else f"{cfg.row_bound:g}",
    }


class _Half(nn.Module):
    """One half of a network, whatever else that has."""

    def __init__(self, net: nn.Module, name: str) -> None:
        super().__init__()
        self.net, self.name = net, name

    def forward(self, x: Tensor) -> Tensor:
        """Return its output, (B, ...)."""
        made: Tensor = getattr(self.net, self.name)(x)
        return made
