"""A report's figures, as SVG images that the page holds itself."""

import base64
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, PercentFormatter

from vfl_flower.reporting.figure_style import COLOURS, drawing, name_bars
from vfl_flower.reporting.html.prediction_figures import draw_predictions, prediction_panels
from vfl_flower.reporting.html.story import Spread, Story

QUIET: Any = {"color": "#a9b1bd", "linewidth": 0.8, "zorder": 1}
"""A passive party among many."""

MIB = 1 << 20


@contextmanager
def _drawing(panels: int, height: float = 2.9) -> Iterator[tuple[list[Axes], list[str]]]:
    """Yield panels, and append the finished image to a list."""
    image: list[str] = []
    how: Any = {"format": "svg", "transparent": True, "metadata": {"Date": None}}
    with drawing(panels, height, **how) as (axes, drawn):
        yield axes, image
    image.append("data:image/svg+xml;base64," + base64.b64encode(drawn.getvalue()).decode())


def comparison(stories: Mapping[int, Story]) -> str:
    """Draw the active parties' validation score against epochs, traffic and time.

    Parameters
    ----------
    stories : mapping of int to Story
        Of one data set, by their numbers on the page.

    Returns
    -------
    str
        A data URL; so do the other figures.
    """
    with _drawing(3) as (panels, image):
        for number, story in stories.items():
            accuracy = story.curve("decisive", "active")
            up, down = story.curve("bytes_up"), story.curve("bytes_down")
            sent = [(a.mean + b.mean) / MIB for a, b in zip(up, down, strict=True)]
            seconds = [moment.mean for moment in story.curve("seconds")]
            for panel, x in zip(panels, (_epochs(story), sent, seconds), strict=True):
                _line(panel, x, accuracy, label=f"{number}. {story.name}")
        scores = " or ".join(dict.fromkeys(story.decisive for story in stories.values()))
        for panel, unit in zip(panels, ("epoch", "MiB up and down", "seconds"), strict=True):
            panel.set_title(f"validation {scores} by {unit}")
            if all(story.decides_in_shares for story in stories.values()):
                panel.yaxis.set_major_formatter(PercentFormatter(1))
        panels[0].xaxis.set_major_locator(MaxNLocator(integer=True))
        _legend(panels[0], 3)
    return image[0]


def curves(story: Story) -> str:
    """Draw score on validation rows and losses of every party."""
    with _drawing(3) as (panels, image):
        draw_curves(panels, story)
    return image[0]


def draw_curves(panels: Sequence[Axes], story: Story) -> None:
    """Draw the score and both losses by epoch into three panels."""
    fields = {
        "decisive": f"validation {story.decisive}",
        "train_loss": "train loss",
        "validation_loss": "validation loss",
    }
    for panel, (field, title) in zip(panels, fields.items(), strict=True):
        followed = field == "train_loss" or story.cfg.validation
        for rank, party in enumerate(story.learners if followed else ()):
            quiet = rank and len(story.learners) > len(COLOURS)
            style = QUIET if quiet else {"label": party}
            _line(panel, _epochs(story), story.curve(field, party), **style)
        panel.set_title(title)
        panel.set_xlabel("epoch")
        panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    if story.decides_in_shares:
        panels[0].yaxis.set_major_formatter(PercentFormatter(1))
    _legend(panels[1], len(COLOURS))


def accuracies(story: Story) -> str:
    """Draw every party's test score between the baselines."""
    with _drawing(1, 3.1) as ((panel,), image):
        bars = [story.scored("test", party) for party in story.learners]
        known = [bar for bar in bars if bar is not None]
        panel.bar(
            range(len(known)),
            [bar.mean for bar in known],
            yerr=[bar.std or 0 for bar in known] if story.asked > 1 else None,
            color=[COLOURS[0], *[COLOURS[5]] * (len(known) - 1)],
            width=0.7,
        )
        for name, style in (("central", "--"), ("local", ":")):
            if bound := story.spread("baselines", name):
                panel.axhline(bound.mean, linestyle=style, color="#333a45", label=name)
        _legend(panel, 2)
        name_bars(panel, story.learners)
        panel.set_title(f"test {story.score}")
        panel.set_ylim(min(0, *(bar.mean for bar in known)), 1.02)
        panel.set_yticks([0, 0.2, 0.4, 0.6, 0.8, 1])
        panel.yaxis.set_major_formatter(PercentFormatter(1))
    return image[0]


def predicted(story: Story) -> str:
    """Draw the active party's predictions of test rows, if there are figures."""
    result = story.result or {}
    if not (names := prediction_panels(result)):
        return ""
    with _drawing(len(names), 3.4) as (panels, image):
        draw_predictions(panels, result)
    return image[0]


def traffic(story: Story) -> str:
    """Draw a training's bytes by phase and by party."""
    with _drawing(2, 3.1) as (panels, image):
        result = story.result or {}
        for panel, key in zip(panels, ("bytes_by_phase", "bytes_by_party"), strict=True):
            books = result[key]
            for shift, direction, colour in ((-0.2, "up", COLOURS[0]), (0.2, "down", COLOURS[4])):
                heights = [entry[direction] / MIB for entry in books.values()]
                at = [rank + shift for rank in range(len(books))]
                panel.bar(at, heights, 0.4, label=direction, color=colour)
            name_bars(panel, list(books))
            panel.set_title("training, " + key.replace("bytes", "MiB").replace("_", " "))
        _legend(panels[0], 2)
    return image[0]


def _legend(panel: Axes, columns: int) -> None:
    """Write a panel's legend below all panels, where it covers nothing."""
    handles, labels = panel.get_legend_handles_labels()
    figure = panel.get_figure(root=True)
    if figure and handles:
        figure.legend(handles, labels, loc="outside lower left", ncols=columns)


def _epochs(story: Story) -> list[float]:
    """Return the epochs at each evaluation, (E,), with fractions."""
    return [moment.mean / story.per_epoch for moment in story.curve("step")]


def _line(panel: Axes, x: Sequence[float], y: Sequence[Spread], **style: Any) -> None:  # noqa: ANN401
    """Draw means as a line in a band of one standard deviation."""
    means = [spread.mean for spread in y]
    marker = "o" if len(means) == 1 else None
    (line,) = panel.plot(x, means, marker=marker, **style)
    if y and y[0].std is not None:
        low, high = ([s.mean + sign * (s.std or 0) for s in y] for sign in (-1, 1))
        panel.fill_between(x, low, high, color=line.get_color(), alpha=0.15, linewidth=0)
