"""The methods by name. One line here makes a method known everywhere."""

from collections.abc import Callable
from dataclasses import Field
from typing import Any

from vfl_flower.common.errors import ConfigError
from vfl_flower.common.sources import load_ours
from vfl_flower.config.method_spec import MethodSpec
from vfl_flower.config.schema import declaration, declared_in, kebab

METHODS = {
    "easter": "strategies.specs.easter:SPEC",
    "pravfed": "strategies.specs.pravfed:SPEC",
    "vfedmh": "strategies.specs.vfedmh:SPEC",
    "splitnn": "strategies.specs.splitnn:SPEC",
    "fedbcd": "strategies.specs.fedbcd:SPEC",
    "c_vfl": "strategies.specs.c_vfl:SPEC",
    "vafl": "strategies.specs.vafl:SPEC",
    "agg_vfl": "strategies.specs.agg_vfl:SPEC",
    "vimadmm": "strategies.specs.vimadmm:SPEC",
    "vimadmm_j": "strategies.specs.vimadmm_j:SPEC",
    "linear_admm": "strategies.specs.linear_admm:SPEC",
    "logistic": "strategies.specs.logistic:SPEC",
    "fdml": "strategies.specs.fdml:SPEC",
    "adptvfedconv": "strategies.specs.adptvfedconv:SPEC",
    "boosted_trees": "strategies.specs.boosted_trees:SPEC",
    "local": "strategies.specs.local:SPEC",
    "central": "strategies.specs.central:SPEC",
}
"""Where each method is declared: ``module:SPEC``, imported when it is asked for.

Installed, these modules are parts of `vfl_flower`; see `load_ours`."""

ALIASES = {"pyvertical": "splitnn"}
"""Further names of methods."""


def spec_of(method: str) -> MethodSpec:
    """Import and return the declaration of a method."""
    spec: MethodSpec = load_ours(METHODS[method])
    return spec


def specs() -> dict[str, MethodSpec]:
    """Import and return the declarations of all methods, by name."""
    return {name: spec_of(name) for name in METHODS}


def methods_that(can: Callable[[MethodSpec], object]) -> str:
    """List the methods whose declaration says so, for messages."""
    return ", ".join(name for name, spec in specs().items() if can(spec))


def method_options() -> dict[str, "Field[Any]"]:
    """Return the options of all methods' own, by field name.

    Raises
    ------
    ConfigError
        If two methods declare one of them differently.
    """
    found: dict[str, Field[Any]] = {}
    for method, spec in specs().items():
        for each in declared_in(spec.options):
            if _declared(found.setdefault(each.name, each)) != _declared(each):
                raise ConfigError(
                    f"{method} declares {kebab(each.name)} differently from another method"
                )
    return found


def _declared(each: "Field[Any]") -> tuple[object, ...]:
    """Return all on which two methods with one option must agree."""
    return type(each.default), each.default, declaration(each)


def owners_of(name: str) -> list[str]:
    """Return the methods with an option of a field name."""
    return [
        method
        for method, spec in specs().items()
        if any(each.name == name for each in declared_in(spec.options))
    ]
