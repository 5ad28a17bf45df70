"""Policy file of a node's owner: permissions, toml, types and limits."""

import os
import re
import stat
import tomllib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from vfl_flower.common.errors import ConfigError, PolicyError
from vfl_flower.common.files import LARGEST, OTHERS_WRITE, read_small
from vfl_flower.config.catalog import ADJACENCIES, LABEL_MECHANISMS
from vfl_flower.config.dataset_specs import DATASETS
from vfl_flower.config.options.defences.embeddings import read_embedding_defence
from vfl_flower.config.policy.record import DataPolicy, Key, Policy, keys_of
from vfl_flower.config.registry import METHODS
from vfl_flower.config.schema import choices, near

_NAME = re.compile(r"[A-Za-z0-9_][\w.-]{0,63}", re.ASCII)
_FINGERPRINT = re.compile(r"SHA256:[A-Za-z0-9+/]{43}")
_KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
_DATA = "data"
_MOST = 10**300


def read_policy(path: Path) -> Policy:
    """Read a policy file.

    Raises
    ------
    PolicyError
        If it cannot be read, others may write it, or a key is unknown or has a bad value; the text
        names the file and the key.
    """
    content = _content(path)
    try:
        values = tomllib.loads(content.decode())
    except (ValueError, RecursionError) as error:  # of which bad toml and bad text are kinds
        text = str(error).splitlines()[0]
        raise PolicyError(f"policy {path} cannot be read as toml: {text}") from error
    try:
        return policy_of(values)
    except PolicyError as error:
        raise PolicyError(f"policy {path}: {error}") from error


def _content(path: Path) -> bytes:
    """Read a regular file that only its owner may write."""
    try:
        content, about = read_small(path, os.O_NOFOLLOW)
    except (OSError, ValueError) as error:
        if path.is_symlink():
            raise PolicyError(f"policy {path} is a link; name the file itself") from error
        told = error.strerror if isinstance(error, OSError) else str(error)
        raise PolicyError(f"policy {path} cannot be read: {told}") from error
    _check_kind(path, about)
    if len(content) > LARGEST:
        raise PolicyError(f"policy {path} is larger than 1 MiB")
    return content


def _check_kind(path: Path, about: os.stat_result) -> None:
    """Refuse an odd file, and one that others own or may write."""
    if not stat.S_ISREG(about.st_mode):
        raise PolicyError(f"policy {path} is no regular file; name the file itself")
    if about.st_uid not in (0, os.geteuid()):
        raise PolicyError(f"policy {path} belongs to another user; chown it")
    if about.st_mode & OTHERS_WRITE:
        raise PolicyError(f"policy {path} may be written by others; chmod go-w it")


def policy_of(values: Mapping[str, Any]) -> Policy:
    """Build a policy from the content of its file.

    Raises
    ------
    PolicyError
        If a key is unknown or missing, or has a bad value.
    """
    keys = keys_of(Policy)
    _check_known(values, (*keys, _DATA), "")
    if "name" not in values:
        raise PolicyError('name is missing; give the policy a name, such as name = "bank"')
    tables = values.get(_DATA, {})
    if not isinstance(tables, dict) or not all(isinstance(t, dict) for t in tables.values()):
        raise PolicyError("data must be tables, [data.NAME], one for each data set")
    entries = tuple(_data(name, table) for name, table in tables.items())
    policy = Policy(**_typed(values, keys, ""), data=entries)
    _check_name(policy.name, "name")
    _check_each("methods", policy.methods, METHODS)
    _check_each("label-privacy", policy.label_privacy, ("none", *LABEL_MECHANISMS))
    _check_defences(policy.embedding_defences)
    for each in policy.peers:
        if not _FINGERPRINT.fullmatch(each):
            raise PolicyError(
                f"peers must be fingerprints, as identity show prints them, not {each!r}"
            )
    if policy.most_batch_size is not None and policy.most_batch_size < policy.least_batch_size:
        raise PolicyError("most-batch-size is less than least-batch-size")
    _check_once(policy)
    return policy


def _data(name: str, table: Mapping[str, Any]) -> DataPolicy:
    """Build the entry of one data set."""
    where, keys = f"[data.{name}] ", keys_of(DataPolicy)
    _check_name(name, f"[data.{name}]")
    _check_known(table, keys, where)
    entry = DataPolicy(name=name, **_typed(table, keys, where))
    if bool(entry.tables) == bool(entry.dataset):
        raise PolicyError(f"{where}must have either tables or dataset")
    for each in entry.tables:
        if not Path(each).is_absolute():
            raise PolicyError(f"{where}tables must be absolute paths, not '{each}'")
    _check_each(f"{where}adjacency", (entry.adjacency,), ADJACENCIES)
    if entry.dataset == "own" or (entry.dataset and entry.dataset not in DATASETS):
        known = [each for each in DATASETS if each != "own"]
        raise PolicyError(
            f"{where}dataset: unknown '{entry.dataset}'{choices(entry.dataset, known)}"
        )
    return entry


def _check_known(values: Mapping[str, Any], known: Collection[str], at: str) -> None:
    for name in values:
        if name not in known:
            raise PolicyError(f"{at}unknown key '{name}'{near(name, known)}")


def _check_name(name: str, at: str) -> None:
    if not _NAME.fullmatch(name):
        raise PolicyError(f"{at} must be up to 64 letters, digits, . - and _, not {name!r}")


def _check_each(at: str, entries: tuple[str, ...], known: Collection[str]) -> None:
    for entry in entries:
        if entry not in known:
            raise PolicyError(f"{at}: unknown '{entry}'{choices(entry, known)}")


def _check_defences(listed: Sequence[str]) -> None:
    """Refuse embedding defences that there are not."""
    if "none" in listed:
        raise PolicyError("embedding-defences lists none; leave the key out to ask for no defence")
    for each in listed:
        try:
            read_embedding_defence(each)
        except ConfigError as error:
            raise PolicyError(f"embedding-defences: {error}") from error


def _check_once(policy: Policy) -> None:
    """Refuse two entries for one table: each row has one privacy account."""
    found: set[str] = set()
    for entry in policy.data:
        for each in entry.tables or (entry.dataset,):
            if each in found:
                raise PolicyError(f"[data.{entry.name}] '{each}' stands in another entry too")
            found.add(each)


def _typed(values: Mapping[str, Any], keys: dict[str, Key], where: str) -> dict[str, Any]:
    """Return values by field names, checked for types and limits."""
    made = {}
    for name, declared in keys.items():
        if name in values:
            made[name.replace("-", "_")] = _value(declared, values[name], f"{where}{name}")
    return made


def _value(declared: Key, value: object, at: str) -> object:
    if declared.kind is tuple:
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise PolicyError(f"{at} must be a list of texts, not {value!r}")
        return tuple(value)
    if declared.kind is float and type(value) is int:
        value = float(max(-_MOST, min(value, _MOST)))  # a text may have any number of digits
    if type(value) is not declared.kind:
        raise PolicyError(f"{at} must be {_KINDS[declared.kind]}, not {value!r}")
    if isinstance(value, int | float) and not declared.least <= value <= declared.most:
        told = f"{declared.least:.10g} to {declared.most:.10g}"
        raise PolicyError(f"{at} must be {told}, not {value}")
    return value
