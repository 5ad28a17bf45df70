"""Rows, repetitions and metric of an explanation."""

from typing import NamedTuple

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.evaluation.metrics import AUTO, METRICS, deciding, metrics_for
from vfl_flower.config.schema import choices

PARTS = ("validation", "test")
REPEATS, MOST_REPEATS = 10, 1000


class How(NamedTuple):
    """How columns are permuted and predictions judged.

    Attributes
    ----------
    rows : {"validation", "test"}
        Among which rows.
    repeats : int
        How often each group of columns is permuted.
    metric : str
        One of `METRICS`, or ``auto`` for the run's.
    """

    rows: str = PARTS[0]
    repeats: int = REPEATS
    metric: str = AUTO

    def check(self) -> None:
        """Refuse unknown rows and metrics, and a wrong number of repetitions.

        Raises
        ------
        ConfigError
            Says which.
        """
        if self.rows not in PARTS:
            raise ConfigError(f"unknown rows '{self.rows}'{choices(self.rows, PARTS)}")
        if not 0 < self.repeats <= MOST_REPEATS:
            raise ConfigError(f"repeats must be 1 to {MOST_REPEATS}, not {self.repeats}")
        known = (AUTO, *METRICS)
        if self.metric not in known:
            raise ConfigError(f"unknown metric '{self.metric}'{choices(self.metric, known)}")

    def metric_of(self, task: str, usual: str) -> str:
        """Return the name of the metric for a kind of labels.

        Parameters
        ----------
        task : str
            What labels they are.
        usual : str
            The metric of the run, or ``auto``.

        Raises
        ------
        ConfigError
            If it judges other labels.
        """
        name = deciding(usual if self.metric == AUTO else self.metric, task)
        known = metrics_for(task)
        if name not in known:
            raise ConfigError(
                f"metric is {name}, and these labels are judged by {', '.join(known)}"
            )
        return name
