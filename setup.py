"""Contents of a distribution: all of it lies under the one name ``vfl_flower``.

A checkout has `strategies`, `clients`, `deploy`, `conf` and `examples` at the top, as Flower's
bundle needs the first two. An editable installation is a checkout. Everything else of the package
is declared in ``pyproject.toml``.
"""

import sys
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

PACKAGES = ("strategies", "clients", "deploy")
DATA = ("conf", "examples")
APP = ("pyproject.toml", "setup.py", "README.md", "LICENSE")
"""Files at the top that a Flower app, and an image of it, needs."""

EDITABLE = "editable_wheel" in sys.argv


class Build(build_py):
    """Adds the files of `APP` as ``vfl_flower/app``."""

    def run(self) -> None:
        """Build the packages, then add the files."""
        super().run()
        if not self.editable_mode:
            folder = Path(self.build_lib) / "vfl_flower" / "app"
            folder.mkdir(parents=True, exist_ok=True)
            for name in APP:
                self.copy_file(name, str(folder / name))


own = find_packages(include=["vfl_flower*"])
beside = find_packages(include=[f"{name}*" for name in PACKAGES])
moved = {f"vfl_flower.{name}": name.replace(".", "/") for name in (*beside, *DATA)}
if EDITABLE:
    setup(packages=[*own, *beside])
else:
    setup(packages=[*own, *moved], package_dir=moved, cmdclass={"build_py": Build})
