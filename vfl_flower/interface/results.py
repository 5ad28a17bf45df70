"""Results of a run: configuration, metrics, history."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from vfl_flower.common.errors import ConfigError, RunError
from vfl_flower.common.layout import CONFIG
from vfl_flower.common.optional.extras import require
from vfl_flower.config.evaluation.metrics import primary, scores_of
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.schema import check_name
from vfl_flower.interface.folders import Place
from vfl_flower.reporting.html.story import read_stories
from vfl_flower.runs.metrics_file import read_metrics
from vfl_flower.runs.run_folder import RunFolder

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


class Results:
    """Results of a run in a folder; see `vfl_flower.Run`."""

    def __init__(self, place: Place, trust_code: bool = False) -> None:
        self._place, self._trust_code = place, trust_code or place.private
        self._folder = RunFolder.reopen(place.path, {}, self._trust_code)
        place.hold(self._folder.cfg.models)

    @property
    def path(self) -> Path:
        """Folder of the run."""
        return self._place.path

    @property
    def config(self) -> RunConfig:
        """Configuration of the run."""
        return self._folder.cfg

    @property
    def complete(self) -> bool:
        """Whether training has ended; a run that was interrupted can be resumed."""
        return self._folder.result() is not None

    @property
    def result(self) -> dict[str, Any]:
        """Content of ``result.json``: metrics, traffic, protections and environment.

        Raises
        ------
        RunError
            If the run is not complete or no longer there, or its result damaged.
        """
        result = self._folder.result()
        if result is None and not (self.path / CONFIG).is_file():
            raise RunError(f"there is no run in {self.path} any more: it was moved or removed")
        if result is None:
            raise RunError(f"the run in {self.path} is not complete; resume it first")
        return result

    @property
    def metrics(self) -> dict[str, dict[str, Any]]:
        """Test metrics by party: ``accuracy``, ``auc``, ``f1`` and more; of numbers ``r2``.

        Of two classes, those of the positive one; see `docs/metrics.md`.

        Raises
        ------
        RunError
            See `result`.
        """
        result = self.result
        score, name = scores_of(result, "test"), primary(result["task"])
        return {p: {name: score[p], **each} for p, each in result["metrics"].items()}

    @property
    def history(self) -> "pd.DataFrame":
        """Evaluations of the validation rows, one a row.

        Columns with a value for each party are named ``validation_accuracy active`` and so on;
        bytes and exchanges are those of training so far.
        """
        # pandas is slow to import
        import pandas as pd

        rows = [_flat(each.as_dict()) for each in read_metrics(self.path)]
        return pd.DataFrame(rows)

    def plot(self, part: str = "training") -> "Figure":
        """Draw the curves of training, or the predictions of test rows.

        Parameters
        ----------
        part : {"training", "test"}
            Validation score and losses of every party; or the active party's ROC,
            precision-recall and calibration curve of two classes, and its confusion matrix.

        Returns
        -------
        matplotlib.figure.Figure
            A notebook shows it; ``savefig`` writes it.

        Raises
        ------
        ConfigError
            If there is no such part, or nothing to draw of test rows.
        ExtraError
            Without matplotlib, which the extra `plots` brings.
        """
        check_name("part", part, ("training", "test"))
        require("matplotlib", "plot")
        # matplotlib is slow to import
        from vfl_flower.reporting.figure_style import styled
        from vfl_flower.reporting.html.figures import draw_curves
        from vfl_flower.reporting.html.prediction_figures import (
            draw_predictions,
            prediction_panels,
        )

        if part == "training":
            (story,) = read_stories([self.path])
            with styled(3) as (figure, panels):
                draw_curves(panels, story)
            return figure
        if not (names := prediction_panels(self.result)):
            raise ConfigError("part is test, and there are no test rows of few classes to draw")
        with styled(len(names), 3.2) as (figure, panels):
            draw_predictions(panels, self.result)
        return figure

    def __repr__(self) -> str:
        cfg = self.config
        state = "" if self.complete else ", not complete"
        return f"Run({cfg.method} on {cfg.dataset}, seed {cfg.seed}{state}, {str(self.path)!r})"


def _flat(evaluation: dict[str, Any]) -> dict[str, Any]:
    """Give each party's value a column of its own."""
    flat: dict[str, Any] = {}
    for name, value in evaluation.items():
        if isinstance(value, dict):
            flat |= {f"{name} {party}": each for party, each in value.items()}
        else:
            flat[name] = value
    return flat
