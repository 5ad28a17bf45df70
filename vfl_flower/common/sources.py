"""Source folders of this project, in a checkout and once installed.

In a checkout and in Flower's bundle `strategies`, `clients` and others lie beside `vfl_flower`;
installed they lie inside it, so that no name of a user's is taken.
"""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vfl_flower.common.errors import ConfigError, RunError
from vfl_flower.common.names import load_object

PACKAGE = Path(__file__).resolve().parents[1]
ROOT = PACKAGE.parent
INNER = ("strategies", "clients", "deploy", "conf", "examples", "app")
"""Folders inside `vfl_flower` that a checkout has beside it."""

INSTALLED = (PACKAGE / "strategies" / "__init__.py").exists()
_CODE = ("vfl_flower", "strategies", "clients")
_APP = ("pyproject.toml", "setup.py", "README.md", "LICENSE")


def folder_of(name: str) -> Path:
    """Return the place of one of `INNER`; ``app`` is the checkout itself."""
    if INSTALLED:
        return PACKAGE / name
    return ROOT if name == "app" else ROOT / name


def load_ours(reference: str) -> Any:  # noqa: ANN401
    """Import and return an object by ``module:name`` of a checkout.

    Parameters
    ----------
    reference : str
        As in a checkout, for instance ``strategies.easter:Easter``.

    Raises
    ------
    ConfigError
        If, in a checkout, a user's package of the same name hides the folder.
    """
    top = reference.replace(":", ".").partition(".")[0]
    if top in INNER and INSTALLED:
        return load_object(f"vfl_flower.{reference}")
    try:
        return load_object(reference)
    except ImportError as error:
        places = [*getattr(sys.modules.get(top), "__path__", ())]
        if top not in INNER or not places or str(folder_of(top)) in places:
            raise
        raise ConfigError(
            f"the package '{top}' in {places[0]} hides that of vfl-flower's checkout in {ROOT}; "
            "rename it, or install vfl-flower without -e"
        ) from error


def sources() -> Iterator[tuple[str, Path]]:
    """Yield the modules that must be equal at all parties.

    Each comes with its name in a checkout.
    """
    for package in _CODE:
        folder = PACKAGE if package == "vfl_flower" else folder_of(package)
        for path in sorted(folder.rglob("*.py")):
            inside = path.relative_to(folder)
            if package != "vfl_flower" or inside.parts[0] not in INNER:
                yield f"{package}/{inside.as_posix()}", path


def _left_out(folder: str, names: list[str]) -> set[str]:
    """Return a folder's names that are not copied."""
    left = {name for name in names if name == "__pycache__" or name.startswith(".")}
    if Path(folder) == PACKAGE:
        left |= {*INNER} & {*names}
    elif Path(folder).parent == folder_of("examples"):
        left |= {"data"} & {*names}  # a notebook's downloads
    return left


def write_app(target: Path) -> None:
    """Write the Flower app, with all that installs it, to a folder.

    Raises
    ------
    RunError
        If the folder is there already.
    """
    if target.exists():
        raise RunError(f"{target} is there already; choose another")
    for name in ("vfl_flower", *INNER[:-1]):
        folder = PACKAGE if name == "vfl_flower" else folder_of(name)
        shutil.copytree(folder, target / name, ignore=_left_out)
    for name in _APP:
        shutil.copyfile(folder_of("app") / name, target / name)
