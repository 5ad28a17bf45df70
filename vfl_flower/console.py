"""What a person sees: a progress bar or lines, and the tables at the end."""

import logging
import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from vfl_flower.config import RunConfig
from vfl_flower.names import member_log, member_name
from vfl_flower.observer import Evaluation, Observer, Stage
from vfl_flower.registry import METHODS
from vfl_flower.shape import written

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

LARGE = 10_000
"""Errors from which on digits after the point say nothing."""

MOST_CLASSES = 10
"""Of a confusion matrix that is printed."""

ENDINGS = {
    "stop-drop": "the score of the validation rows had fallen",
    "target-epsilon": "one more, with the test rows, would have exceeded target-epsilon",
}
"""What ended a training before its last epoch was over."""


def say(text: str) -> None:
    """Print one line as it is, brackets and all."""
    out.print(text, markup=False, soft_wrap=True)


@contextmanager
def aside() -> Iterator[None]:
    """Print on standard error for a while, where standard output is a program's."""
    out.stderr = True
    try:
        yield
    finally:
        out.stderr = False


def complain(kind: str, text: str) -> None:
    """Print one line on standard error: what kind of trouble, and the text as it is."""
    line = Text.assemble((f"{kind}: ", "bold red"), " ".join(text.split()))
    err.print(line, soft_wrap=True)


class Terminal(Observer):
    """What a person is told either way."""

    def on_bounds(self) -> None:
        """Say what takes time now."""
        out.print("training the bounds: local, then central")


class Bar(Terminal):
    """A progress bar with the last training loss and validation accuracy of the active party."""

    def __init__(self, title: str) -> None:
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("loss {task.fields[loss]}  validation {task.fields[accuracy]}"),
            TextColumn("{task.fields[wait]}"),
            TimeRemainingColumn(elapsed_when_finished=True),
            console=out,
        )
        self.title = title
        self.task = self.bar.add_task(title, total=None, loss="-", accuracy="-", wait="")

    def on_stage(self, stage: Stage) -> None:
        """Show how far it is."""
        text = f"{self.title}: {stage}"
        self.bar.update(self.task, description=text, completed=stage.done, total=stage.total)
        self.bar.start()

    def on_start(self, step: int, steps: int, records: list[Evaluation]) -> None:
        """Show the bar."""
        self.bar.update(self.task, description=self.title, completed=step, total=steps)
        self.bar.start()

    def on_step(self, step: int, losses: list[float]) -> None:
        """Move on."""
        self.bar.update(self.task, completed=step, loss=f"{losses[0]:.4f}", wait="")

    def on_evaluation(self, evaluation: Evaluation) -> None:
        """Show the accuracy."""
        accuracy = evaluation.validation_accuracy["active"]
        self.bar.update(self.task, accuracy=f"{accuracy:.2%}")

    def on_wait(self, names: list[str]) -> None:
        """Show whom the exchange waits for."""
        self.bar.update(self.task, wait=f"waiting for {', '.join(names)}")

    def on_end(self) -> None:
        """Leave the bar as it is."""
        self.bar.stop()


class LineLog(Terminal):
    """A line per evaluation, and per unit of earlier stages, for logs and pipes."""

    def on_stage(self, stage: Stage) -> None:
        """Print one line."""
        if stage.figures or stage.done:
            say(f"{stage}  {stage.seconds:.1f} s")

    def on_evaluation(self, evaluation: Evaluation) -> None:
        """Print one line."""
        out.print(
            f"epoch {evaluation.epoch}  step {evaluation.step}"
            f"  loss {evaluation.train_loss['active']:.4f}"
            f"  validation {evaluation.validation_accuracy['active']:.2%}"
            f"  {evaluation.seconds:.1f} s"
        )

    def on_wait(self, names: list[str]) -> None:
        """Print whom the exchange waits for."""
        say(f"waiting for {', '.join(names)}")


class Voice(logging.Handler):
    """Prints what a party says of its progress; its errors go elsewhere."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print one line."""
        if record.levelno == logging.INFO:
            say(f"{record.name.rpartition('.')[2]}: {record.getMessage()}")


@contextmanager
def voices(parties: int) -> Iterator[None]:
    """Let the active and so many passive parties of this process be heard."""
    logs, voice = [member_log(place) for place in range(parties + 1)], Voice()
    for log in logs:
        log.setLevel(logging.INFO)
        log.addHandler(voice)
    try:
        yield
    finally:
        for log in logs:
            log.removeHandler(voice)
            log.setLevel(logging.NOTSET)


def watcher(title: str) -> Observer:
    """Return a bar on a terminal, lines elsewhere."""
    return Bar(title) if out.is_terminal else LineLog()


def print_result(result: Mapping[str, Any], cfg: RunConfig) -> None:
    """Print what each party reached, what travelled, and what was protected."""
    from vfl_flower.bounds import bound_rows  # torch is heavy, and --help is not
    from vfl_flower.data import DATASETS
    from vfl_flower.metrics import score_name, shown, warnings_of

    table = Table(title=f"{cfg.method} on {cfg.dataset}", title_justify="left")
    for column in ("party", "network", "optimiser"):
        table.add_column(column)
    for column in (f"test {score_name(result['task'])}", *shown(result["task"])):
        table.add_column(column, justify="right")
    for place in range(1 if METHODS[cfg.method].alone else cfg.parties):
        name = member_name(place)
        rate = f"{cfg.optimizer_of(place)} {cfg.rate_of(place):g}"
        table.add_row(name, cfg.model_of(place), rate, *scores_of(result, name))
    if result["bounds"]:
        table.add_section()
        for name, network, what in bound_rows(cfg):
            table.add_row(name, network, what, f"{result['bounds'][name]:.2%}")
    out.print(table)
    if not DATASETS[cfg.dataset].images and 0 < len(result["classes"]) <= MOST_CLASSES:
        print_confusion(result)
    for text in ending(result):
        say(text)
    for text in warnings_of(result):
        out.print(Text.assemble(("warning: ", "bold yellow"), text), soft_wrap=True)
    print_bytes(result)
    for name, value in result["figures"].items():
        say(f"{name.replace('_', ' ')}: {value:.4g}")
    print_protections(result)


def ending(result: Mapping[str, Any]) -> list[str]:
    """Say why training ended, and which weights count, where it is not as always."""
    told = []
    if why := ENDINGS.get(result["ended_by"]):
        told.append(f"training ended at step {result['steps']}: {why}")
    if result["counting_step"] != result["steps"]:
        told.append(f"the weights of step {result['counting_step']} count: the best on validation")
    return told


def scores_of(result: Mapping[str, Any], name: str) -> list[str]:
    """Write how well one party predicts; dashes if it has no model that does."""
    from vfl_flower.metrics import shown

    keys = shown(result["task"]).values()
    if name not in result["test_accuracy"]:
        return ["-", *("-" for _ in keys)]
    more = result["metrics"][name]
    return [f"{result['test_accuracy'][name]:.2%}", *(score(more[key]) for key in keys)]


def score(value: float | None) -> str:
    """Write an AUC, F1 or error, or a dash where there is none."""
    if value is None:
        return "-"
    return f"{value:.4f}" if abs(value) < LARGE else f"{value:,.0f}"


def print_confusion(result: Mapping[str, Any]) -> None:
    """Print how the active party's predictions of the test rows fall into classes."""
    say("test rows of each class, by the active party's prediction")  # wider than most such tables
    table = Table()
    table.add_column("class")
    for name in result["classes"]:
        table.add_column(Text(name), justify="right")
    for name, row in zip(result["classes"], result["metrics"]["active"]["confusion"], strict=True):
        table.add_row(Text(name), *map(str, row))
    out.print(table)


def print_bytes(result: Mapping[str, Any]) -> None:
    """Print bytes by phase and direction, training and evaluation apart."""
    if not result["exchanges"]:
        say(f"no exchanges in {result['seconds']:.1f} s of training")
        return
    table = Table(title="bytes on the wire", title_justify="left")
    table.add_column("phase")
    for direction in ("up", "down"):
        table.add_column(direction, justify="right")
    for phase, n in result["bytes_by_phase"].items():
        table.add_row(phase, readable(n["up"]), readable(n["down"]))
    table.add_section()
    table.add_row("training", readable(result["bytes_up"]), readable(result["bytes_down"]))
    apart = result["evaluation"]
    table.add_row("evaluation", readable(apart["bytes_up"]), readable(apart["bytes_down"]))
    out.print(table)
    times = result["exchange_ms"]
    out.print(
        f"{result['exchanges']} exchanges in {result['seconds']:.1f} s, one takes "
        f"{times['median']:.1f} ms (99 % less than {times['p99']:.1f})"
    )


def print_protections(result: Mapping[str, Any]) -> None:
    """Print what hid the parties' columns, and what did not."""
    if result["protections"]:
        say(f"protected by {'; '.join(result['protections'])}")
    if privacy := result["client_privacy"]:
        print_client_privacy(privacy)
    for text in result["unprotected"]:
        out.print(Text.assemble(("UNPROTECTED: ", "bold red"), text), soft_wrap=True)


def print_client_privacy(privacy: Mapping[str, Any]) -> None:
    """Print what each passive party's uploads cost."""
    most = max(sum(counts.values()) for counts in privacy["uploads"].values())
    say(
        f"epsilon {float(privacy['epsilon']):.4g} (of training {privacy['epsilon_training']:.4g}), "
        f"delta {privacy['delta']:g} for a passive party's data: {most} uploads with sigma "
        f"{privacy['sigma']:g}"
    )


def readable(count: int) -> str:
    """Return bytes with a unit of 2**10, 2**20 or 2**30."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count / size:.2f} {unit}"
    return f"{count} B"


def summary_of(results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return mean and standard deviation over seeds, by party.

    Parameters
    ----------
    results : sequence of dict
        Two or more results of one configuration.
    """

    def spread(values: list[float]) -> dict[str, float]:
        return {"mean": statistics.fmean(values), "std": statistics.stdev(values)}

    def judged(name: str, key: str) -> dict[str, float] | None:
        values = [r["metrics"][name][key] for r in results]
        return None if None in values else spread(values)

    first = results[0]
    summary: dict[str, Any] = {
        "method": first["method"],
        "dataset": first["dataset"],
        "task": first["task"],
        "carrier": first["carrier"],
        "seeds": [r["seed"] for r in results],
        "test_accuracy": {
            name: spread([r["test_accuracy"][name] for r in results])
            for name in first["test_accuracy"]
        },
        "metrics": {
            name: {key: judged(name, key) for key in metrics if key != "confusion"}
            for name, metrics in first["metrics"].items()
        },
        "majority_share": spread([r["majority_share"] for r in results]),
        "seconds": spread([r["seconds"] for r in results]),
    }
    if first["label_privacy"]:
        summary["label_privacy"] = first["label_privacy"] | {
            "epsilon": sum(r["label_privacy"]["epsilon"] for r in results)
        }
    if first["client_privacy"]:
        summary["client_privacy"] = first["client_privacy"] | {
            key: written(sum(float(r["client_privacy"][key]) for r in results))
            for key in ("epsilon", "epsilon_training", "delta")
        }
    if first["bounds"]:
        summary["bounds"] = {
            name: spread([r["bounds"][name] for r in results]) for name in first["bounds"]
        }
    return summary


def print_summary(summary: Mapping[str, Any]) -> None:
    """Print mean and standard deviation over seeds."""
    from vfl_flower.metrics import score_name, shown

    others = shown(summary["task"])
    title = f"{summary['method']} on {summary['dataset']}, {len(summary['seeds'])} seeds"
    table = Table(title=title, title_justify="left")
    table.add_column("party")
    for column in (f"test {score_name(summary['task'])}", *others):
        table.add_column(column, justify="right")
    for name, spread in [*summary["test_accuracy"].items(), *summary.get("bounds", {}).items()]:
        more = summary["metrics"].get(name, {})
        scores = [_spread_of_scores(more[key]) for key in others.values()] if more else []
        table.add_row(name, f"{spread['mean']:.2%} ± {spread['std']:.2%}", *scores)
    out.print(table)
    if privacy := summary.get("label_privacy"):
        say(f"epsilon {privacy['epsilon']:g} a label in all: each seed noised the labels anew")
    if privacy := summary.get("client_privacy"):
        say(
            f"epsilon {float(privacy['epsilon']):.4g}, delta {privacy['delta']:g} for a passive "
            "party's data in all: each seed made other uploads of it"
        )


def _spread_of_scores(spread: Mapping[str, float] | None) -> str:
    return f"{score(spread['mean'])} ± {score(spread['std'])}" if spread else score(None)
