"""Self-contained HTML page of several stories."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from vfl_flower.common.files import write_atomically
from vfl_flower.config.evaluation.metrics import key_of, metrics_for
from vfl_flower.config.run_config import CIRCUMSTANCES, RunConfig
from vfl_flower.config.schema import Scalar
from vfl_flower.reporting.console.format import readable
from vfl_flower.reporting.console.leakage_table import baseline, estimate
from vfl_flower.reporting.console.tables import MOST_CLASSES, baseline_rows
from vfl_flower.reporting.html.figures import (
    accuracies,
    comparison,
    curves,
    predicted,
    traffic,
)
from vfl_flower.reporting.html.prediction_figures import prediction_panels
from vfl_flower.reporting.html.story import Spread, Story
from vfl_flower.reporting.html.templates import environment
from vfl_flower.reporting.profile_rows import WORK, profile_rows
from vfl_flower.reporting.usual_leakage import usual_leakage, usual_setting

BLANK = "–"
_ALWAYS = ("method", "dataset")
"""Settings that are shown although they are the defaults."""

_PLACES = frozenset(CIRCUMSTANCES) - {"tables"}
"""Settings that are no reason to show them: where a run's files were."""


def write_page(stories: Sequence[Story], page: Path) -> None:
    """Write the page into a file; see `render`.

    Raises
    ------
    RunError
        If it cannot be written.
    """
    write_atomically(page, render(stories).encode())


def render(stories: Sequence[Story]) -> str:
    """Write the page.

    Parameters
    ----------
    stories : sequence of Story
        One or more; they are numbered in this order.

    Returns
    -------
    str
        HTML, images and style included. Its policy forbids it to load anything.
    """
    templates = environment()
    templates.filters |= {
        "readable": readable,
        "percent": percent,
        "score": score,
        "number": number,
        "estimate": estimate,
        "baseline": baseline,
    }
    return templates.get_template("page.html").render(
        stories=stories,
        baseline_rows=baseline_rows,
        usual_leakage=usual_leakage,
        usual_setting=usual_setting,
        most_classes=MOST_CLASSES,
        written=datetime.now().astimezone().strftime("%Y-%m-%d %H:%M"),
        comparisons=[(name, comparison(those)) for name, those in _by_data(stories).items()],
        curves=[curves(story) if story.metrics else "" for story in stories],
        accuracies=[accuracies(story) if _tested(story) else "" for story in stories],
        predictions=[predicted(story) if _tested(story) else "" for story in stories],
        panels=prediction_panels,
        judged=_judged_in_full,
        profile_rows=profile_rows,
        work=WORK,
        traffic=[traffic(story) if _trained(story) else "" for story in stories],
        options=_settings_of(stories),
        environments=_environments_of(stories),
    )


def _judged_in_full(story: Story) -> list[tuple[str, str]]:
    """Return all metrics of the active party's model, with their titles."""
    known = {spec.title: key_of(name) for name, spec in metrics_for(story.task).items()}
    spreads = {title: story.spread("metrics", "active", key) for title, key in known.items()}
    return [(title, score(spread)) for title, spread in spreads.items() if spread]


def _tested(story: Story) -> bool:
    """Whether a story has metrics; without test rows it has none."""
    return bool(story.result and story.result["metrics"])


def _trained(story: Story) -> bool:
    """Whether a story has traffic; a run of no epochs has none."""
    return bool(story.result and story.result["bytes_by_phase"])


def percent(spread: Spread | None) -> str:
    """Format an accuracy, with its standard deviation over several seeds."""
    if spread is None:
        return BLANK
    return f"{spread.mean:.2%}" + (f" ± {spread.std:.2%}" if spread.std is not None else "")


def score(spread: Spread | None) -> str:
    """Format an AUC or F1, with its deviation over several seeds."""
    if spread is None:
        return BLANK
    return f"{spread.mean:.4f}" + (f" ± {spread.std:.4f}" if spread.std is not None else "")


def number(spread: Spread | None, unit: str = "") -> str:
    """Write a number: whole, or with a digit after the point."""
    if spread is None:
        return BLANK
    whole = spread.mean == int(spread.mean)
    return (f"{spread.mean:,.0f}" if whole else f"{spread.mean:,.1f}") + unit


def _by_data(stories: Sequence[Story]) -> dict[str, dict[int, Story]]:
    """Group the evaluated stories by data, each by its number."""
    groups: dict[str, dict[int, Story]] = {}
    for number, story in enumerate(stories, 1):
        if story.metrics and story.cfg.validation:
            groups.setdefault(story.data, {})[number] = story
    return groups


class Setting(NamedTuple):
    """One option of all stories.

    Attributes
    ----------
    key : str
    values : list
        By story.
    differs : bool
        Whether the stories differ in it.
    changed : bool
        Whether it is another than the default in some story.
    """

    key: str
    values: list[Scalar]
    differs: bool
    changed: bool


def _settings_of(stories: Sequence[Story]) -> list[Setting]:
    """Return all settings by story: those that differ, other changed ones, defaults."""
    settings = [story.cfg.to_mapping() for story in stories]
    usual = [RunConfig(method=story.cfg.method).to_mapping() for story in stories]
    keys = dict.fromkeys(key for setting in settings for key in setting if key != "out")
    made = []
    for key in keys:
        values = [setting.get(key, BLANK) for setting in settings]
        changed = key in _ALWAYS or any(
            key in theirs and theirs[key] != default[key] and key not in _PLACES
            for theirs, default in zip(settings, usual, strict=True)
        )
        made.append(Setting(key, values, len(set(values)) > 1, changed))
    return sorted(made, key=lambda row: (not row.differs, not row.changed))


def _environments_of(stories: Sequence[Story]) -> list[tuple[str, list[object]]]:
    """Return the environments of the runs, a row for each fact."""
    known = [_environment(story.result) for story in stories]
    facts = dict.fromkeys(fact for each in known for fact in each)
    return [(fact, [each.get(fact, BLANK) for each in known]) for fact in facts]


def _environment(result: Mapping[str, Any] | None) -> dict[str, object]:
    """Return the facts of one run's environment."""
    if not result:
        return {}
    memory = result["peak_memory"]
    return {
        "device": result["device"],
        "threads a party": result["threads"],
        "threads in evaluations": result["eval_threads"],
        "peak memory": readable(memory) if memory else BLANK,
        **result["environment"],
    }
