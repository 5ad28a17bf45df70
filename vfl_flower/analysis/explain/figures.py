"""An explanation's figures, as PNG images."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter
from numpy.typing import NDArray

from vfl_flower.analysis.explain.importance import Findings, Heads
from vfl_flower.analysis.explain.overview import Counted
from vfl_flower.analysis.explain.permutation import Drop
from vfl_flower.analysis.explain.trained import Holder, Trained
from vfl_flower.common.files import write_atomically
from vfl_flower.common.names import party_name
from vfl_flower.config.dataset_specs import DATASETS
from vfl_flower.config.evaluation.metrics import METRICS
from vfl_flower.data.columns import Features
from vfl_flower.data.loading import split_of
from vfl_flower.data.partition.shares import mask_of
from vfl_flower.data.party_data import PartyData
from vfl_flower.data.published_data import PublishedData
from vfl_flower.reporting.console.lines import say
from vfl_flower.reporting.figure_style import COLOURS, bare, drawing, name_bars
from vfl_flower.runs.run_folder import RunFolder

MOST_ROWS = 2000  # of a t-SNE
_MOST_NAMES = 10  # of classes in a legend
DPI = 120


def draw(
    folder: RunFolder, counted: Counted, heads: Heads | None, names: Sequence[str], out: Path
) -> None:
    """Draw all figures, then write them.

    Parameters
    ----------
    folder : RunFolder
        Of the run that is explained.
    counted : Counted
        What each party counts.
    heads : Heads or None
        What their heads say, of a method that has heads.
    names : sequence of str
        The parties whose embeddings are wanted; none without heads.
    out : Path
        The folder.

    Raises
    ------
    RunError
        If they cannot be written.
    """
    cfg, split = folder.cfg, split_of(folder.cfg, folder.path / party_name(0))
    images = {"importance.png": bars(counted, heads.findings if heads else None)}
    if DATASETS[cfg.dataset].images:
        drops = [each.drop for each in counted.found.drops]
        sizes = [each.norm for each in heads.findings.parties] if heads else drops
        images["pixels.png"] = _heat(
            PublishedData(cfg, split), sizes, "norm of the head" if heads else "drop"
        )
    if heads and names:
        images["embeddings.png"] = clouds(heads.run, names)
    for name, image in images.items():
        write_atomically(out / name, image)
    say(f"drawn in {out}: {', '.join(images)}")
    if names:
        say("the labels that colour embeddings are the active party's; a simulation has them")


def bars(counted: Counted, findings: Findings | None) -> bytes:
    """Draw each party's drop with its interval, and its head's measures."""
    found = counted.found
    names = [each.name for each in found.drops]
    panels: list[tuple[str, list[float]]] = []
    if findings:
        panels = [
            ("norm of the head", [each.norm for each in findings.parties]),
            (f"loss with noise {findings.sigma:g}", [each.drop for each in findings.parties]),
        ]
    with drawing(1 + len(panels), 3.1, format="png", dpi=DPI) as ((first, *others), image):
        drops, ends = [each.drop for each in found.drops], _ends(found.drops)
        first.bar(range(len(names)), drops, color=COLOURS[0], width=0.7)
        first.errorbar(range(len(names)), drops, ends, fmt="none", ecolor="black", capsize=3)
        first.set_title(f"loss of {METRICS[found.metric].title} if permuted")
        name_bars(first, names)
        for panel, colour, (title, heights) in zip(others, COLOURS[1:], panels, strict=False):
            panel.bar(range(len(names)), heights, color=colour, width=0.7)
            panel.set_title(title)
            name_bars(panel, names)
        for panel in (*others[1:], *([first] if found.metric == "accuracy" else [])):
            panel.yaxis.set_major_formatter(PercentFormatter(1))
    return image.getvalue()


def _ends(drops: Sequence[Drop]) -> NDArray[np.float64]:
    """Return how far intervals reach down and up, (2, n)."""
    reach = np.array([(each.drop - each.low, each.high - each.drop) for each in drops]).T
    return reach.clip(0)  # percentiles need not enclose the estimate


def importance_of_pixels(data: Sequence[PartyData], norms: Sequence[float]) -> NDArray[np.float64]:
    """Return the importance of the party that holds each pixel, (height, width).

    Where several hold it, it is their mean; NaN where nobody does.

    Parameters
    ----------
    data : sequence of PartyData
        Of the parties that hold columns, of images.
    norms : sequence of float
        Of their heads.
    """
    held = np.array([mask_of(each.share, each.whole).any(0) for each in data])
    total, count = np.tensordot(np.array(norms), held, 1), held.sum(0)
    mean: NDArray[np.float64] = np.where(count, total / np.maximum(count, 1), np.nan)
    return mean


def _heat(source: PublishedData, sizes: Sequence[float], what: str) -> bytes:
    """Draw how important each pixel's party is, beside the first held-out image."""
    part = "test" if len(source.rows["test"]) else "validation"
    ranks = range(source.cfg.parties - source.cfg.holders, source.cfg.parties)
    sample = source.stored[source.rows[part][0]]
    held = [source.party(k, labelled=False) for k in ranks]
    with drawing(2, 3.1, format="png", dpi=DPI) as ((left, right), image):
        least = min(0.0, *sizes)
        painted = left.imshow(importance_of_pixels(held, sizes), cmap="viridis", vmin=least)
        left.figure.colorbar(painted, ax=left)
        left.set_title(f"{what} of the pixel's party")
        right.imshow(visible(sample), cmap="gray")
        right.set_title(f"a {part} image")
        for panel in (left, right):
            bare(panel)
    return image.getvalue()


def visible(sample: Features) -> NDArray[np.float64]:
    """Scale an image (channels, height, width) to 0 to 1 for figures."""
    values: NDArray[np.float64] = sample.astype(np.float64) - sample.min()
    values /= max(values.max(), 1e-12)
    return values.transpose(1, 2, 0) if len(values) == 3 else values[0]


def clouds(run: Trained, names: Sequence[str]) -> bytes:
    """Draw parties' embeddings of test rows by t-SNE, coloured by class."""
    rows = torch.from_numpy(np.random.default_rng(run.cfg.seed).permutation(len(run.y)))[:MOST_ROWS]
    holders = [holder for holder in run.holders if holder.name in names]
    y, classes = run.y[rows].numpy(), run.active.target.classes
    colours = mpl.colormaps["tab10" if len(classes) <= _MOST_NAMES else "hsv"]
    with drawing(len(holders), 3.5, format="png", dpi=DPI) as (panels, image):
        for panel, holder in zip(panels, holders, strict=True):
            points = _planar(holder, rows, run.cfg.seed)
            for c, name in enumerate(classes):
                colour = colours(c / max(len(classes), _MOST_NAMES))
                own = points[y == c]
                panel.scatter(own[:, 0], own[:, 1], 4, label=name, color=colour)
            panel.set_title(f"embeddings of {holder.name}")
            bare(panel)
        if len(classes) <= _MOST_NAMES:
            _name_classes(panels[0])
    return image.getvalue()


def _name_classes(panel: Axes) -> None:
    """Draw the legend of a panel below its figure."""
    figure = panel.get_figure(root=True)
    if figure:
        figure.legend(*panel.get_legend_handles_labels(), loc="outside lower center", ncols=5)


def _planar(holder: Holder, rows: torch.Tensor, seed: int) -> NDArray[np.float32]:
    """Embed a party's test rows in the plane by t-SNE.

    (n,) -> (n, 2).
    """
    # scikit-learn is slow to import
    from sklearn.manifold import TSNE

    embeddings = holder.embed(holder.x)[rows].numpy()
    perplexity = min(30.0, (len(rows) - 1) / 3)
    points: NDArray[np.float32] = TSNE(
        perplexity=perplexity, init="random", random_state=seed % 2**32
    ).fit_transform(embeddings)
    return points
