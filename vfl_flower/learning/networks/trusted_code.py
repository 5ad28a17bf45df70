"""Trust in code that run folders name as networks.

A run folder, a model folder and a file of options may come from somebody else, and a network
``package.module:Class`` that one of them names is code that would run here. It is imported only if
the user says so: with ``--trust-code``, or by listing the module in the user's own configuration.
Nothing is imported to find that out, not even the package that holds the module.
"""

import os
import stat
import sys
import tomllib
from collections.abc import Sequence
from importlib.machinery import ModuleSpec

from vfl_flower.common.errors import ConfigError, TrustError
from vfl_flower.common.files import LARGEST, OTHERS_WRITE, read_small
from vfl_flower.common.layout import USERS
from vfl_flower.config.node_config import home
from vfl_flower.config.run_config import RunConfig
from vfl_flower.learning.networks.given import MODULE

_KEY = "trusted-modules"


def check_trusted(cfg: RunConfig) -> None:
    """Refuse networks of one's own that an untrusted file names.

    Raises
    ------
    TrustError
        If there is one; the text names the module and its file.
    ConfigError
        If the user's own configuration cannot be used.
    """
    names = {cfg.listed_model(rank) for rank in range(cfg.parties)}
    modules = sorted({name.partition(":")[0] for name in names if ":" in name} - {MODULE})
    if cfg.read_from is None or not modules:
        return
    trusted = trusted_modules()
    for module in modules:
        if not any(module == each or module.startswith(f"{each}.") for each in trusted):
            raise TrustError(
                f"{cfg.read_from} names the module '{module}', {_place(module)}, whose code would "
                f"run here; review it, then give --trust-code, or list it as {_KEY} in "
                f"{home() / USERS}"
            )


def trusted_modules() -> Sequence[str]:
    """Return the modules that the user's own configuration trusts.

    Raises
    ------
    ConfigError
        If it is damaged, or others may write it.
    """
    path = home() / USERS
    try:
        content, about = read_small(path)
        if not stat.S_ISREG(about.st_mode) or len(content) > LARGEST:
            raise OSError("it is no regular file of up to 1 MiB")
        values = tomllib.loads(content.decode())
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
    if about.st_mode & OTHERS_WRITE or about.st_uid not in (0, os.getuid()):
        raise ConfigError(
            f"{path} may be written by others, who would choose the code that runs here; make it "
            "yours and run chmod go-w on it"
        )
    modules = values.pop(_KEY, [])
    listed = isinstance(modules, list) and all(isinstance(each, str) and each for each in modules)
    if values or not listed:
        raise ConfigError(f'{path} may hold {_KEY} = ["package.module"], and nothing else')
    return modules  # type: ignore[no-any-return]


def _place(module: str) -> str:
    """Say where a module lies, without importing it or its packages."""
    spec: ModuleSpec | None = None
    path: Sequence[str] | None = None
    parts = module.split(".")
    for last in range(1, len(parts) + 1):
        try:
            spec = _found(".".join(parts[:last]), path)
        except KeyError:  # a package of several folders, in another one that is not imported
            return "in a package of several folders"
        if spec is None:
            return "which is not found here"
        path = spec.submodule_search_locations
    return f"in {spec.origin}" if spec and spec.origin else "which is no file"


def _found(name: str, path: Sequence[str] | None) -> ModuleSpec | None:
    """Find a module as the import system would, without loading it."""
    specs = (each.find_spec(name, path) for each in sys.meta_path)
    return next((spec for spec in specs if spec is not None), None)
