"""Registration of methods from Python, and its refusals."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType

import pytest

from vfl_flower.api import MethodSpec, register
from vfl_flower.common.errors import ConfigError
from vfl_flower.config.method_spec import MethodOptions
from vfl_flower.config.registry import METHODS
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.schema import option


@dataclass(frozen=True, kw_only=True)
class Own(MethodOptions):
    """An option of its own."""

    sharpness: float = option(1.0, "factor", above=0)


@dataclass(frozen=True, kw_only=True)
class Common(MethodOptions):
    """An option that all methods have."""

    epochs: int = option(1, "epochs")


@dataclass(frozen=True, kw_only=True)
class Clash(MethodOptions):
    """An option that another method declares differently."""

    rho: float = option(2.0, "another one")


def declared(options: type[MethodOptions] = MethodOptions, client: str = "") -> MethodSpec:
    """Declare split learning once more."""
    return MethodSpec(
        strategy="strategies.splitnn:SplitNN",
        client=client or "clients.splitnn:SplitNNClient",
        options=options,
    )


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Give a module with declarations, as a notebook's ``__main__`` is."""
    module = ModuleType("own_methods")
    vars(module).update(
        GOOD=declared(Own),
        COMMON=declared(Common),
        CLASH=declared(Clash),
        NO_CLIENT=declared(client="clients.splitnn:Nobody"),
        NUMBER=5,
    )
    monkeypatch.setitem(sys.modules, module.__name__, module)
    known = dict(METHODS)
    yield module.__name__
    METHODS.clear()
    METHODS.update(known)


def test_a_registered_method_is_a_value_of_the_option(own: str) -> None:
    with pytest.raises(ConfigError, match="unknown method 'mine'"):
        RunConfig(method="mine")
    for _ in range(2):  # a notebook's cell is run again
        register("mine", f"{own}:GOOD")
    assert RunConfig.from_mapping({"method": "mine", "sharpness": 2}).own(Own).sharpness == 2
    with pytest.raises(ConfigError, match="sharpness must be above 0"):
        RunConfig(method="mine", sharpness=0.0)


@pytest.mark.parametrize(
    ("name", "spec", "reason"),
    [
        ("My Method", "GOOD", "is no name of a method"),
        ("easter", "GOOD", "there is a method 'easter' already"),
        ("pyvertical", "GOOD", "there is a method 'pyvertical' already"),
        ("mine", "NOTHING", "no attribute 'NOTHING'"),
        ("mine", "NUMBER", "has type int, not MethodSpec"),
        ("mine", "NO_CLIENT", "no attribute 'Nobody'"),
        ("mine", "COMMON", "epochs is an option of all methods"),
        ("mine", "CLASH", "declares rho differently from another method"),
    ],
)
def test_a_declaration_that_cannot_be_used_is_refused(
    name: str, spec: str, reason: str, own: str
) -> None:
    known = dict(METHODS)
    with pytest.raises(ConfigError, match=reason):
        register(name, f"{own}:{spec}")
    assert known == METHODS


def test_a_reference_without_a_module_is_refused() -> None:
    for wrong in ("SPEC", "no_such_module:SPEC"):
        with pytest.raises(ConfigError, match="named as module:NAME"):
            register("mine", wrong)
