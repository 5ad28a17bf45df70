"""The figure of the run that README.md shows, and that run itself.

The folder `loans` has the run's options, metrics and result; ``python -m docs.pictures --train``
trains it anew.
"""

import io
import re
import runpy
import shutil
import sys
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

import vfl_flower as vfl
from docs.pictures.svg import DARK, LIGHT

ROOT = Path(__file__).resolve().parents[2]
RUN = Path(__file__).with_name("loans")
KEPT = ("config.toml", "metrics.jsonl", "result.json")
LABEL = (
    "The figure of run.plot(): accuracy on validation rows, training loss and validation loss over "
    "ten epochs. The accuracy lies between 82 and 87 %."
)
ROLES = {"#000000": "ink", "#0072b2": "one", "#c5cad3": "rule", "#e6e9ee": "rule"}
"""Roles of the figure's colours; the elements that name none are black."""


def train() -> None:
    """Train README's run and keep its numbers."""
    with TemporaryDirectory(prefix="vfl-flower-") as temporary:
        tables, words = Path(temporary), sys.argv
        sys.argv = ["make_tables.py", temporary]
        runpy.run_path(str(ROOT / "examples/bank-and-shop/make_tables.py"), run_name="__main__")
        sys.argv = words
        bank = vfl.Table(tables / "bank.csv", id="customer", label="defaulted")
        shop = vfl.Table(tables / "shop.parquet", id="customer")
        run = vfl.train([bank, shop], method="splitnn", epochs=10, seed=0, data_dir="/data")
        for name in KEPT:
            shutil.copyfile(run.path / name, RUN / name)


def draw() -> str:
    """Return the figure, in the colours of light and dark pages."""
    # matplotlib is slow to import
    import matplotlib as mpl

    image, figure = io.StringIO(), vfl.load(RUN).plot()
    with mpl.rc_context({"svg.hashsalt": "vfl-flower"}):
        figure.savefig(image, format="svg", transparent=True, metadata={"Date": None})
    return _recoloured(image.getvalue())


def drawn_by(picture: str) -> bool:
    """Tell whether the installed Matplotlib drew a picture.

    Pictures of other versions differ in single digits.
    """
    return f"Matplotlib v{version('matplotlib')}," in picture


def _recoloured(picture: str) -> str:
    """Return a figure of Matplotlib with colours by role, and a description."""
    for colour, role in ROLES.items():
        picture = picture.replace(colour, f"var(--{role})")
    dark = f"@media (prefers-color-scheme: dark) {{ svg {{ {_variables(DARK)} }} }}"
    style = f"<style>svg {{ {_variables(LIGHT)} fill: var(--ink); }} {dark}</style>"
    start = re.search(r"<svg [^>]*", picture)
    if not start:
        raise ValueError("Matplotlib has drawn no SVG")
    opened = f'{start[0]} role="img" aria-label="{LABEL}">\n <title>{LABEL}</title>\n {style}'
    return "".join(
        line.rstrip() + "\n" for line in picture.replace(f"{start[0]}>", opened, 1).splitlines()
    )


def _variables(colours: dict[str, str]) -> str:
    roles = sorted(set(ROLES.values()))
    return " ".join(f"--{role}: {colours[role]};" for role in roles)
