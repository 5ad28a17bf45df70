"""Colours, style, panels and bar labels of all figures."""

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.figure import Figure

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f4f24", "#000000")
"""Okabe and Ito's palette, for any colour vision."""

_STYLE: Any = {
    "axes.axisbelow": True,
    "axes.edgecolor": "#c5cad3",
    "axes.grid": True,
    "axes.prop_cycle": cycler(color=COLOURS),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "figure.constrained_layout.use": True,
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same everywhere
    "font.size": 9,
    "grid.color": "#e6e9ee",
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "svg.hashsalt": "vfl-flower",  # the same run gives the same file
    "text.parse_math": False,  # names are names
}


class ShownFigure(Figure):
    """Figure that a notebook shows, without pyplot and its window."""

    def _repr_png_(self) -> bytes:
        image = io.BytesIO()
        self.savefig(image, format="png")
        return image.getvalue()


@contextmanager
def drawing(
    panels: int,
    height: float = 2.9,
    **how: Any,  # noqa: ANN401
) -> Iterator[tuple[list[Axes], io.BytesIO]]:
    """Yield panels side by side, and write the finished image.

    Parameters
    ----------
    panels : int
        How many.
    height : float
        Inches.
    **how
        What ``Figure.savefig`` takes.
    """
    image = io.BytesIO()
    with styled(panels, height) as (figure, axes):
        yield axes, image
        figure.savefig(image, **how)


@contextmanager
def styled(panels: int, height: float = 2.9) -> Iterator[tuple[ShownFigure, list[Axes]]]:
    """Yield a figure and its panels in the common style."""
    with mpl.rc_context(_STYLE):
        figure = ShownFigure(figsize=(3.7 * panels, height))
        yield figure, list(figure.subplots(1, panels, squeeze=False)[0])


def bare(panel: Axes) -> None:
    """Remove ticks and grid."""
    panel.grid(visible=False)
    panel.set_xticks([])
    panel.set_yticks([])


def name_bars(panel: Axes, names: Sequence[str]) -> None:
    """Label bars with names; of many, every n-th."""
    each = -(-len(names) // 12)
    panel.set_xticks(range(0, len(names), each), names[::each])
    if len(names) > 4:
        panel.tick_params("x", rotation=30)
    panel.set_xlim(-0.6, max(len(names), 3) - 0.4)  # or a single bar fills the panel
    panel.grid(visible=False, axis="x")
