"""Everything that a run depends on, in one frozen and checked record.

Its options, in kebab-case, are flags of ``train``, keys of ``conf/*.toml`` and keys of
``flwr run --run-config``.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import Field, dataclass, replace
from pathlib import Path
from typing import Any

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.method_spec import MethodOptions
from vfl_flower.config.registry import ALIASES, METHODS, method_options, owners_of, spec_of, specs
from vfl_flower.config.schema import (
    Scalar,
    check_name,
    declaration,
    declared_in,
    kebab,
    near,
    typed,
)
from vfl_flower.config.settings import COMMON, Settings
from vfl_flower.config.validation.check import check

CIRCUMSTANCES = tuple(
    kebab(name) for name, each in COMMON.items() if declaration(each).circumstance
)
"""Options that say where a run happens, not what it is."""


@dataclass(frozen=True, kw_only=True, init=False)
class RunConfig(Settings):
    """The configuration of one run; constructing it checks it.

    Parameters
    ----------
    options : MethodOptions, optional
        Options of a method's own; of another method's, those that this one has too are taken.
    **values
        Options by field name: those that all methods have, and the method's own.

    Raises
    ------
    ConfigError
        If a value cannot work; the text names the option.
    """

    def __init__(self, *, options: MethodOptions | None = None, **values: Any) -> None:  # noqa: ANN401
        values = _canonical(values, _known())
        method = _method_in(values)
        taken = {} if options is None else _values_of(options)
        for name, each in COMMON.items():
            object.__setattr__(self, name, typed(each, values.get(name, each.default)))
        object.__setattr__(self, "method", method)
        object.__setattr__(self, "options", _own_options(method, taken, values))
        check(self)

    @classmethod
    def from_mapping(cls, values: Mapping[str, object]) -> "RunConfig":
        """Make a configuration from kebab-case keys.

        Raises
        ------
        ConfigError
            For an unknown key, another method's option, a wrong type or a value that cannot work.
        """
        return cls(**_fields_of(values))

    @classmethod
    def from_record(
        cls, values: Mapping[str, object], lacking: Mapping[str, object] | None = None
    ) -> "RunConfig":
        """Build a configuration from a written one, perhaps of earlier versions.

        Parameters
        ----------
        values : mapping
            By kebab-case keys; other methods' options are left out.
        lacking : mapping, optional
            Values of options that it does not hold.

        Raises
        ------
        ConfigError
            As `from_mapping`.
        """
        if not isinstance(values, Mapping):
            raise ConfigError(f"a configuration is {values!r}")
        named = _fields_of(lacking or {}) | _fields_of(values)
        return cls(**_without_foreign(named))

    def changed(self, **values: Any) -> "RunConfig":  # noqa: ANN401
        """Return this configuration with some options changed, by field name."""
        return replace(self, **values)

    def updated(self, values: Mapping[str, object]) -> "RunConfig":
        """Return this configuration with some options changed, by kebab-case keys."""
        return replace(self, **_fields_of(values))

    def to_mapping(self) -> dict[str, Scalar]:
        """Return all values under their kebab-case keys, common and own."""
        values = {name: getattr(self, name) for name in COMMON} | _values_of(self.options)
        return {kebab(name): value for name, value in values.items()}

    def identity(self) -> dict[str, Scalar]:
        """Return the values that define a run.

        The others may change at a resume.
        """
        return {k: v for k, v in self.to_mapping().items() if k not in CIRCUMSTANCES}


def differences(kept: RunConfig, asked: RunConfig) -> str:
    """Name the options that make two runs different, or nothing."""
    other = asked.identity()
    changed = [(k, v) for k, v in kept.identity().items() if k in other and v != other[k]]
    return "; ".join(f"{key} is {value!r}, not {other[key]!r}" for key, value in changed)


def read_toml(path: Path) -> dict[str, object]:
    """Read a flat toml file of options, under their present names.

    Runs of earlier versions wrote the options of all methods: a file with more of methods' own than
    any method has is such a record, and other methods' are left out.

    Raises
    ------
    ConfigError
        If it cannot be read, or has an unknown key or a wrong type; the text names the file.
    """
    try:
        values = tomllib.loads(path.read_text())
        named = _fields_of(values)
        if len(set(named) - set(COMMON)) > max(
            len(declared_in(s.options)) for s in specs().values()
        ):
            named = _without_foreign(named)
        return {kebab(name): value for name, value in named.items()}
    except (OSError, ValueError) as error:  # of which bad toml and bad text are kinds
        raise ConfigError(f"{path} cannot be read as toml: {error}") from error
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def _known() -> dict[str, "Field[Any]"]:
    """Return the options of all methods, by field name."""
    return COMMON | method_options()


def _method_in(values: Mapping[str, object]) -> str:
    """Return the method that values name."""
    named: str = typed(COMMON["method"], values.get("method", COMMON["method"].default))
    method: str = ALIASES.get(named, named)
    check_name("method", method, METHODS)
    return method


def _values_of(options: MethodOptions) -> dict[str, Any]:
    """Return the values of a method's own options, by field name."""
    return {each.name: getattr(options, each.name) for each in declared_in(options)}


def _own_options(
    method: str, taken: Mapping[str, object], given: Mapping[str, object]
) -> MethodOptions:
    """Build a method's own options from another record and given values."""
    record = spec_of(method).options
    own = {each.name: each for each in declared_in(record)}
    for name, value in given.items():
        if name not in own and name not in COMMON:
            _refuse_changed(method, name, value)
    values = {**taken, **given}
    return record(
        **{name: typed(each, values[name]) for name, each in own.items() if name in values}
    )


def _refuse_changed(method: str, name: str, value: object) -> None:
    """Refuse another method's option unless it has its default."""
    each = method_options()[name]
    if typed(each, value) == each.default:
        return
    *others, last = [f"{owner}'s" for owner in owners_of(name)]
    owners = f"{', '.join(others)} and {last}" if others else last
    raise ConfigError(f"{kebab(name)} is {owners}; {method} has no such option")


def _fields_of(values: Mapping[str, object]) -> dict[str, Any]:
    """Return values under their fields' names, checked for names and types."""
    known = _known()
    names = {kebab(name): name for name in known}
    names |= {kebab(a): a for each in known.values() if (a := declaration(each).alias)}
    for key, value in values.items():
        if isinstance(value, dict):
            raise ConfigError(f"'{key}' is a table; all keys stand at the top level")
        if key not in names:
            raise ConfigError(f"unknown key '{key}'{near(key, names)}")
    named = _canonical({names[key]: value for key, value in values.items()}, known)
    return {name: typed(known[name], value) for name, value in named.items()}


def _without_foreign(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values without other methods' options."""
    own = {each.name for each in declared_in(spec_of(_method_in(values)).options)}
    return {name: value for name, value in values.items() if name in COMMON or name in own}


def _canonical(values: Mapping[str, Any], known: Mapping[str, "Field[Any]"]) -> dict[str, Any]:
    """Return values under present names.

    Of an option and its alias, the changed one counts.
    """
    made = dict(values)
    for name, each in known.items():
        alias = declaration(each).alias
        if not alias or alias not in made:
            continue
        former = made.pop(alias)
        if name in made and each.default not in (former, made[name]) and former != made[name]:
            raise ConfigError(f"{kebab(name)} and {kebab(alias)} are one option; give one of them")
        if former != each.default or name not in made:
            made[name] = former
    for name in made:
        if name not in known:
            raise ConfigError(f"unknown option '{name}'{near(name, known)}")
    return made
