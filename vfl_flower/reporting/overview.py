"""Overview of a run: configuration, progress and result."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from vfl_flower.common.files import refused
from vfl_flower.config.run_config import RunConfig
from vfl_flower.reporting.console.format import readable, validated
from vfl_flower.reporting.console.leakage_table import print_leakage, print_usual_leakage
from vfl_flower.reporting.console.lines import out, say
from vfl_flower.reporting.console.seed_table import print_summary
from vfl_flower.reporting.console.tables import print_bytes, print_protections, print_result
from vfl_flower.reporting.html.story import Story
from vfl_flower.reporting.usual_leakage import usual_leakage
from vfl_flower.runs.seed_summary import summary_of

_MODELS = "model*"
"""What a party's folder has of its network once training is over."""
_REPEATED = "*-[0-9]*"
"""Folders of a run's seeds or folds."""


def overview(story: Story) -> dict[str, Any]:
    """Return a run's configuration and result as JSON values.

    Of several seeds, the configuration is the first's. The result is None as long as the run is not
    complete, and the leakage card is None unless the run was audited. `leakage_of_method` is that
    of another run of the method, on digits.
    """
    whole = summary_of(story.results) if story.asked > 1 and story.complete else story.result
    result = whole if story.complete else None
    usual = [asdict(each) for each in usual_leakage(story.cfg.method)]
    return {
        "config": story.cfg.to_mapping(),
        "result": result,
        "leakage": story.leakage,
        "leakage_of_method": usual,
    }


def print_overview(story: Story, path: Path) -> None:
    """Print a run; of several, means and the first one's traffic.

    Raises
    ------
    RunError
        If its folder cannot be read.
    """
    say(f"{path}: {story.state}")
    _print_settings(story.cfg)
    if not story.complete:
        _print_progress(story, path)
    if story.result:
        _print_stages(story.result)
    if len(story.results) > 1:
        print_summary(summary_of(story.results))
        say(f"{story.name_of(story.results[0])}:")
        print_bytes(story.results[0])
        print_protections(story.results[0])
    elif story.result:
        print_result(story.result, story.cfg)
    if story.leakage:
        print_leakage(story.leakage)
    else:
        print_usual_leakage(story.cfg.method, path)
    _print_models(path)


def _print_settings(cfg: RunConfig) -> None:
    """Print the options that differ from their defaults."""
    usual = RunConfig(method=cfg.method).to_mapping() | {"method": RunConfig().method}
    table = Table(title="settings that are not the default's", title_justify="left")
    for column in ("option", "value", "default"):
        table.add_column(column)
    for key, value in cfg.to_mapping().items():
        if value != usual[key]:
            table.add_row(key, Text(str(value)), Text(str(usual[key])))
    out.print(table)


def _print_progress(story: Story, path: Path) -> None:
    """Print the progress of all seeds, and how to resume."""
    for name, evaluations in zip(story.names, story.metrics, strict=False):
        last = evaluations[-1]
        say(
            f"{name}: epoch {last.epoch} of {story.cfg.epochs}, step {last.step}, validation "
            f"{validated(last)}"
        )
    say(f"train --resume {path} goes on with it")


def _print_stages(result: dict[str, Any]) -> None:
    """Print the stages before the training in steps, if there were any."""
    if not result["stages"]:
        return
    table = Table(title="stages", title_justify="left")
    table.add_column("stage")
    table.add_column("done", justify="right")
    table.add_column("last figures")
    for each in result["stages"]:
        figures = "  ".join(f"{name} {value:.4f}" for name, value in each["figures"].items())
        table.add_row(Text(each["name"]), f"{each['done']}/{each['total']}", Text(figures))
    out.print(table)


def _print_models(path: Path) -> None:
    """Print the parties' networks from their model folders."""
    table = Table(title="models", title_justify="left")
    table.add_column("in the run's folder")
    table.add_column("size", justify="right")
    with refused(path):
        for model in sorted([*path.glob(f"*/{_MODELS}"), *path.glob(f"{_REPEATED}/*/{_MODELS}")]):
            table.add_row(Text(str(model.relative_to(path))), readable(_size(model)))
    if table.row_count:
        out.print(table)


def _size(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())
