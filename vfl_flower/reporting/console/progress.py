"""Progress bars and log lines of a run."""

from importlib.util import find_spec

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from vfl_flower.protocol.observer import Evaluation, Observer, Stage
from vfl_flower.reporting.console.format import validated
from vfl_flower.reporting.console.lines import out, say


class _Terminal(Observer):
    """Common part of a progress bar and of log lines."""

    def on_baselines(self) -> None:
        """Print that the baselines are trained."""
        out.print("training the baselines: local, then central")


class _Bar(_Terminal):
    """Progress bar with the active party's last loss and accuracy."""

    def __init__(self, title: str) -> None:
        self.bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("loss {task.fields[loss]}  validation {task.fields[accuracy]}"),
            TextColumn("{task.fields[wait]}", markup=False),
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
        self.bar.update(self.task, accuracy=validated(evaluation))

    def on_wait(self, names: list[str]) -> None:
        """Show the parties that an exchange waits for."""
        self.bar.update(self.task, wait=f"waiting for {', '.join(names)}")

    def on_end(self) -> None:
        """Leave the bar as it is."""
        self.bar.stop()


class LineLog(_Terminal):
    """A line per evaluation and per unit of earlier stages."""

    def on_stage(self, stage: Stage) -> None:
        """Print one line."""
        if stage.figures or stage.done:
            say(f"{stage}  {stage.seconds:.1f} s")

    def on_evaluation(self, evaluation: Evaluation) -> None:
        """Print one line."""
        out.print(
            f"epoch {evaluation.epoch}  step {evaluation.step}"
            f"  loss {evaluation.train_loss['active']:.4f}"
            f"  validation {validated(evaluation)}"
            f"  {evaluation.seconds:.1f} s"
        )

    def on_wait(self, names: list[str]) -> None:
        """Print the parties that an exchange waits for."""
        say(f"waiting for {', '.join(names)}")


def watcher(title: str) -> Observer:
    """Return a bar on a terminal and in a notebook, lines elsewhere.

    In a notebook rich draws with ipywidgets; without them there are lines.
    """
    drawn = out.is_terminal or (out.is_jupyter and find_spec("ipywidgets") is not None)
    return _Bar(title) if drawn else LineLog()
