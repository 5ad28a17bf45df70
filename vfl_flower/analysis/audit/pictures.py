"""Pictures of true tiles above their reconstructions from feature maps."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from vfl_flower.analysis.audit.feature_reconstruction import SHOWN, Findings, Pictures
from vfl_flower.reporting.figure_style import bare, drawing

DPI = 150
WIDTH, MARGIN = 3.7, 0.5  # inches: a panel's, as `drawing` has it, and what its title takes


def drawn(attacked: Sequence[tuple[Findings, Sequence[Pictures]]]) -> bytes:
    """Draw two lines of tiles per party, a panel per run.

    Returns a PNG image.
    """
    lines = max(2 * len(pictures) for _, pictures in attacked)
    with drawing(len(attacked), WIDTH * lines / SHOWN + MARGIN, format="png", dpi=DPI) as (
        panels,
        image,
    ):
        for panel, (findings, pictures) in zip(panels, attacked, strict=True):
            strips = [line(each) for one in pictures for each in (one.true, one.made)]
            panel.imshow(np.concatenate(strips), cmap="gray", vmin=0, vmax=1)
            bare(panel)
            panel.spines[:].set_visible(False)
            names = [name for each in pictures for name in (each.party, "made")]
            height = len(strips[0])
            panel.set_yticks([(n + 0.5) * height for n in range(len(strips))], names)
            panel.tick_params(length=0)
            panel.set_title(f"{findings.dataset}, cut {findings.cut}")
    return image.getvalue()


def line(tiles: Tensor) -> NDArray[np.float32]:
    """Put tiles side by side, separated by white.

    (n, c, h, w) -> (h', w') grey or (h', w', 3).
    """
    colours = tiles if tiles.shape[1] == 3 else tiles[:, :1]
    gap = -(-tiles.shape[-1] // 16)
    white = ((0, 0), (0, 0), (0, gap), (0, gap))
    framed = np.pad(colours.numpy(), white, constant_values=1)  # (n, c, h', w')
    side_by_side: NDArray[np.float32] = np.concatenate([*framed], 2).transpose(1, 2, 0)
    return side_by_side.squeeze(2) if side_by_side.shape[2] == 1 else side_by_side
