"""``[tool.flwr.app.config]`` of pyproject.toml, which follows from the declarations.

``python -m vfl_flower.config.flower_defaults`` writes it. Flower accepts no key in
``flwr run --run-config`` that is not there, so former names of options are there too.
"""

import re
from pathlib import Path
from typing import Any

from vfl_flower.config.registry import method_options
from vfl_flower.config.schema import Scalar, declaration, kebab
from vfl_flower.config.settings import COMMON

PYPROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"
_TITLE = "[tool.flwr.app.config]"
_RESUME = "resume"
"""Key that is no option of a run: the run-name of a run to resume."""


def flower_defaults() -> dict[str, Scalar]:
    """Return every key of Flower's run configuration, with its default."""
    every = COMMON | method_options()
    former = {alias: each for each in every.values() if (alias := declaration(each).alias)}
    defaults: dict[str, Any] = {
        kebab(name): each.default for name, each in (every | former).items()
    }
    return defaults | {_RESUME: ""}


def section() -> str:
    """Return the section as toml."""
    lines = [f"{key} = {_toml(value)}" for key, value in flower_defaults().items()]
    return "\n".join(
        [f"{_TITLE}  # written by python -m vfl_flower.config.flower_defaults", *lines, ""]
    )


def _toml(value: Scalar) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else repr(value)


def main() -> None:
    """Write the section in its place."""
    text = PYPROJECT.read_text()
    found = re.compile(rf"{re.escape(_TITLE)}.*?\n(?=\n|\Z)", re.DOTALL)
    PYPROJECT.write_text(found.sub(lambda _: section(), text, count=1))


if __name__ == "__main__":
    main()
