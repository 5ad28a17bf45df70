"""Methods of one's own, made known to this process."""

import re

from vfl_flower.common.errors import ConfigError
from vfl_flower.common.sources import load_ours
from vfl_flower.config.method_spec import MethodSpec
from vfl_flower.config.registry import ALIASES, METHODS, method_options
from vfl_flower.config.schema import declared_in, kebab
from vfl_flower.config.settings import COMMON

_NAME = re.compile(r"[a-z][a-z0-9_-]*")


def register(name: str, spec: str) -> None:
    """Make a method of one's own known to this process.

    From then on it is a value of the option ``method``. Other processes, such as those of other
    parties, do not know it: for them, it needs a line in the registry.

    Parameters
    ----------
    name : str
        Lower-case letters, digits, ``_`` and ``-``.
    spec : str
        ``module:NAME`` of its `MethodSpec`; in a notebook the module is ``__main__``.

    Raises
    ------
    ConfigError
        If the name is another method's, or the declaration cannot be used; the method is not
        known then.
    """
    if not _NAME.fullmatch(name):
        raise ConfigError(f"'{name}' is no name of a method; use lower-case letters, digits, _, -")
    if name in ALIASES or METHODS.get(name, spec) != spec:
        raise ConfigError(f"there is a method '{name}' already; choose another name")
    _check(name, spec)
    METHODS[name] = spec
    try:
        method_options()
    except ConfigError:
        del METHODS[name]
        raise


def _check(name: str, reference: str) -> None:
    """Refuse a declaration that cannot be used."""
    try:
        spec = load_ours(reference)
        if not isinstance(spec, MethodSpec):
            raise ConfigError(f"{reference} has type {type(spec).__name__}, not MethodSpec")
        spec.load()
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(
            f"{name}: {error}; the declaration and its classes are named as module:NAME"
        ) from error
    if taken := sorted(each.name for each in declared_in(spec.options) if each.name in COMMON):
        raise ConfigError(f"{name}: {kebab(taken[0])} is an option of all methods; rename its own")
