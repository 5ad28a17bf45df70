"""A party's state: named arrays and one JSON text.

In memory between messages, and in safetensors files.
"""

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as save_arrays
from safetensors.torch import load, save
from torch import Tensor

from vfl_flower.common.checksums.sums import KEY, check_sum
from vfl_flower.common.codec import Array, to_array, to_tensor
from vfl_flower.common.errors import DamageError, RunError
from vfl_flower.common.files import write_atomically

_DAMAGED = (
    *(SafetensorError, RecursionError, TypeError, KeyError, ValueError, IndexError),
    *(AttributeError, RuntimeError, OverflowError, MemoryError),
)
"""Exceptions of libraries that read a file other than one of `write_state`."""

State = dict[str, Any]
"""Nested dicts, lists and tuples of tensors, arrays, bytes and JSON scalars."""


def state_of(value: Any) -> Any:  # noqa: ANN401
    """Return ``value.state_dict()`` where there is one, else the value itself."""
    return value.state_dict() if hasattr(value, "state_dict") else value


def pack(state: State, *, shared: bool = False) -> tuple[dict[str, Array], str]:
    """Split a state into arrays and the JSON skeleton that names them.

    Parameters
    ----------
    state : State
        What a party remembers.
    shared : bool
        Whether the arrays may be the state's own memory, for as long as nobody changes it.

    Returns
    -------
    arrays : dict of str to ndarray
    skeleton : str
        JSON; `unpack` puts the arrays back where it names them.
    """
    arrays: dict[str, Array] = {}

    def visit(value: Any, path: str) -> Any:  # noqa: ANN401
        if isinstance(value, Tensor | np.ndarray):
            while path in arrays:  # keys with dots
                path += "'"
            array = to_array(value)
            arrays[path] = array if shared else array.copy()
            return {"$array": path}
        if isinstance(value, bytes):
            return {"$bytes": value.hex()}
        if isinstance(value, dict):
            return {"$dict": [[key, visit(each, f"{path}.{key}")] for key, each in value.items()]}
        if isinstance(value, list | tuple):
            return [visit(each, f"{path}.{i}") for i, each in enumerate(value)]
        return value

    return arrays, json.dumps(visit(state, "state"))


def unpack(arrays: dict[str, Array], skeleton: str) -> State:
    """Reverse `pack`; arrays come back as tensors, tuples as lists."""

    def visit(value: Any) -> Any:  # noqa: ANN401
        if isinstance(value, list):
            return [visit(each) for each in value]
        if not isinstance(value, dict):
            return value
        if "$array" in value:
            return to_tensor(arrays[value["$array"]])
        if "$bytes" in value:
            return bytes.fromhex(value["$bytes"])
        return {key: visit(each) for key, each in value["$dict"]}

    state: State = visit(json.loads(skeleton))
    if not isinstance(state, dict):
        raise TypeError("no names at the top")
    return state


def restore(owner: object, state: State) -> None:
    """Give each named attribute of `owner` its state back."""
    for name, value in state.items():
        attribute = getattr(owner, name)
        if hasattr(attribute, "load_state_dict"):
            attribute.load_state_dict(value)
        else:
            setattr(owner, name, value)


def write_state(path: Path, state: State) -> None:
    """Write a safetensors file with its SHA-256, for its owner only."""
    arrays, skeleton = pack(state, shared=True)  # copies of large networks can be a run's peak
    summed = json.loads(skeleton) | {KEY: sum_of_arrays(arrays, skeleton)}
    # one entry: safetensors writes several in any order
    write_atomically(path, save_arrays(arrays, metadata={"state": json.dumps(summed)}))


def sum_of_arrays(arrays: Mapping[str, Array], text: str) -> str:
    """Return the SHA-256 of named arrays and a text, in hexadecimal."""
    made = sha256(text.encode())
    for name in sorted(arrays):
        array = arrays[name]
        made.update(f"\0{name}\0{array.dtype.str}\0{array.shape}\0".encode())
        made.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return made.hexdigest()


def weights_to_bytes(weights: Mapping[str, Tensor]) -> bytes:
    """Return weights as a safetensors file has them, under their plain names."""
    return save({name: each.contiguous() for name, each in weights.items()})


def weights_from_bytes(content: bytes) -> dict[str, Tensor]:
    """Reverse `weights_to_bytes`.

    Raises
    ------
    RunError
        If they are damaged.
    """
    try:
        return load(content)
    except _DAMAGED as error:
        raise RunError(f"weights are damaged: {error}") from error


def read_state(path: Path) -> State:
    """Read a state from a file of `write_state`.

    One without a SHA-256 is of an earlier version, and read with a warning.

    Raises
    ------
    DamageError
        If the file is missing or damaged.
    RunError
        If it cannot be read now, though it is there.
    """
    try:
        path.open("rb").close()  # safetensors hides why a file cannot be opened
        with safe_open(path, framework="np") as file:
            summed = json.loads(file.metadata()["state"])
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        found = summed.pop(KEY, None)
        skeleton = json.dumps(summed)
        check_sum(path, found, sum_of_arrays(arrays, skeleton))
        return unpack(arrays, skeleton)
    except (FileNotFoundError, IsADirectoryError) as error:
        raise DamageError(f"{path} is missing or damaged: there is no such file") from error
    except (OSError, MemoryError) as error:
        raise RunError(f"{path} cannot be read now: {error}; mend that, and go on") from error
    except _DAMAGED as error:
        raise DamageError(f"{path} is missing or damaged: {error}") from error
