"""Everything that a run depends on, in one frozen and checked record.

Its options, in kebab-case, are flags of ``train``, keys of ``conf/*.toml`` and keys of
``flwr run --run-config``.
"""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.method_spec import MethodOptions
from vfl_flower.config.registry import ALIASES, METHODS, method_options, owners_of, spec_of
from vfl_flower.config.schema import (
    Scalar,
    check_name,
    declaration,
    declared_in,
    earlier_values,
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

STATE = "state"
"""Key of a run folder's file that is no option: how far the run has come."""

RECORDED = frozenset(
    (
        *("method", "dataset", "parties", "seed", "download", "partition", "validation", "models"),
        *("embedding_dim", "optimizers", "learning_rates", "schedule", "epochs", "batch_size"),
        *("loss", "eval_every", "eval_batch_size", "baselines", "blinding", "checkpoint_every"),
        *("threads", "party_timeout"),
    )
)
"""Options that every version wrote to a run folder; a file with all of them comes from one."""


@dataclass(frozen=True, kw_only=True, init=False)
class RunConfig(Settings):
    """The configuration of one run; constructing it checks it.

    Attributes
    ----------
    read_from : Path or None
        The file that its networks' names were read from, if somebody else may have written it: a
        user's own network is then imported only if the user trusts that code.

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

    read_from: Path | None = field(default=None, compare=False, repr=False)

    def __init__(
        self,
        *,
        options: MethodOptions | None = None,
        read_from: Path | None = None,
        **values: Any,  # noqa: ANN401
    ) -> None:
        values = _present(values, _spelled(str), "option")
        method = _method_in(values)
        taken = {} if options is None else _values_of(options)
        for name, each in COMMON.items():
            object.__setattr__(self, name, typed(each, values.get(name, each.default)))
        object.__setattr__(self, "method", method)
        object.__setattr__(self, "options", _own_options(method, taken, values))
        object.__setattr__(self, "read_from", read_from)
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
    def from_flower(cls, values: Mapping[str, object]) -> "RunConfig":
        """Make a configuration from Flower's, which holds the options of all methods.

        Those at their defaults count as not given.

        Raises
        ------
        ConfigError
            As `from_mapping`.
        """
        return cls.from_mapping(given_options(values))

    @classmethod
    def from_record(
        cls, values: Mapping[str, object], lacking: Mapping[str, object] | None = None
    ) -> "RunConfig":
        """Build a configuration from a written one, perhaps of earlier versions.

        Parameters
        ----------
        values : mapping
            By kebab-case keys; other methods' are left out. See `Declaration.earlier`, too.
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
        return cls(**_of_record(named))

    def changed(self, **values: Any) -> "RunConfig":  # noqa: ANN401
        """Return this configuration with some options changed, by field name."""
        return replace(self, **_present(values, _spelled(str), "option"))

    def unless_trusted(self, path: Path, trust_code: bool) -> "RunConfig":
        """Note the file that names its networks, unless its code is trusted."""
        return replace(self, read_from=None if trust_code else path)

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


def given_options(values: Mapping[str, object]) -> dict[str, object]:
    """Return the options of Flower's configuration that are given.

    Those at their defaults count as not given. Keys are the present names.

    Raises
    ------
    ConfigError
        For an unknown key, a wrong type, or an option under both of its names.
    """
    known = _spelled(kebab)
    return present_keys(
        {k: v for k, v in values.items() if k not in known or not _is_default(known[k], v)}
    )


def differences(kept: RunConfig, asked: RunConfig) -> str:
    """Name the options that make two runs different, or nothing."""
    other = asked.identity()
    changed = [(k, v) for k, v in kept.identity().items() if k in other and v != other[k]]
    return "; ".join(f"{key} is {value!r}, not {other[key]!r}" for key, value in changed)


def present_keys(values: Mapping[str, object]) -> dict[str, object]:
    """Return values of kebab-case keys under their present ones.

    Raises
    ------
    ConfigError
        For an unknown key, a wrong type, or an option under both of its names.
    """
    return {kebab(name): value for name, value in _fields_of(values).items()}


def read_toml(path: Path, of_run: bool = False) -> dict[str, object]:
    """Read a flat toml file of options, under their present names.

    A file with all of `RECORDED`, or of which `of_run` says so, is a run folder's: earlier versions
    wrote the options of all methods there, and other methods' are left out; see `from_record`.

    Raises
    ------
    ConfigError
        If it cannot be read, or has an unknown key or a wrong type; the text names the file.
    """
    try:
        values = tomllib.loads(path.read_text())
        named = _fields_of({key: value for key, value in values.items() if key != STATE})
        if set(named) >= RECORDED:
            named = _of_record(named)
        elif STATE in values and not of_run:
            _fields_of(values)  # which is no option
        return {kebab(name): value for name, value in named.items()}
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:  # of which bad toml and bad text are kinds
        raise ConfigError(f"{path} cannot be read as toml: {error}") from error
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


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
    for name in given:
        if name not in own and name not in COMMON:
            _refuse(method, name)
    values = {**taken, **given}
    return record(
        **{name: typed(each, values[name]) for name, each in own.items() if name in values}
    )


def _refuse(method: str, name: str) -> NoReturn:
    """Refuse another method's option by name."""
    *others, last = [f"{owner}'s" for owner in owners_of(name)]
    owners = f"{', '.join(others)} and {last}" if others else last
    raise ConfigError(f"{kebab(name)} is {owners}; {method} has no such option")


def _fields_of(values: Mapping[str, object]) -> dict[str, Any]:
    """Return values of kebab-case keys by present field names, checked for types."""
    for key, value in values.items():
        if isinstance(value, dict):
            raise ConfigError(f"'{key}' is a table; all keys stand at the top level")
    return _present(values, _spelled(kebab), "key")


def _spelled(spell: Callable[[str], str]) -> dict[str, "Field[Any]"]:
    """Return all options by all their names."""
    known = COMMON | method_options()
    further = {name: each for each in known.values() for name in declaration(each).further_names()}
    return {spell(name): each for name, each in (known | further).items()}


def _present(
    values: Mapping[str, object], known: Mapping[str, "Field[Any]"], kind: str
) -> dict[str, Any]:
    """Return values by present field names, checked for names and types."""
    made: dict[str, Any] = {}
    for key, value in values.items():
        if key not in known:
            raise ConfigError(f"unknown {kind} '{key}'{near(key, known)}")
        each = known[key]
        if each.name in made:
            names = " and ".join(map(kebab, (each.name, *declaration(each).further_names())))
            raise ConfigError(f"{names} are one option; give one of them")
        made[each.name] = typed(each, value)
    return made


def _is_default(each: "Field[Any]", value: object) -> bool:
    """Tell whether a value is the default of an option."""
    kind = type(each.default)
    fits = type(value) is kind or (kind is float and type(value) is int)
    return fits and value == each.default


def _of_record(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record's values with earlier readings and no foreign options."""
    own = {each.name: each for each in declared_in(spec_of(_method_in(values)).options)}
    named = {name: value for name, value in values.items() if name in COMMON or name in own}
    return earlier_values([*COMMON.values(), *own.values()]) | named
