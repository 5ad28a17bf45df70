"""Learning-rate schedules by name, with their warm-up.

As in ``cosine:warmup=5%``, a share of the run's steps, or ``cosine:warmup=100``, steps.
"""

import re
from typing import NamedTuple

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.schema import check_name

_SCHEDULE = "vfl_flower.learning.optimizer"
SCHEDULES = {
    "constant": f"{_SCHEDULE}:constant",
    "cosine": f"{_SCHEDULE}:cosine",
    "linear": f"{_SCHEDULE}:linear",
}
"""Learning-rate factors by the share of the steps after the warm-up that is done."""


class ScheduleSpec(NamedTuple):
    """A schedule as it is written.

    Attributes
    ----------
    factor : str
        ``module:function`` from the share of steps that is done to a factor of the learning rate.
    warmup_share : float
        Share of the run's steps in which the rate rises to its full height.
    warmup_steps : int
        Such steps, if they are counted.
    """

    factor: str
    warmup_share: float = 0.0
    warmup_steps: int = 0

    @property
    def needs_steps(self) -> bool:
        """Whether it depends on how many steps the run has."""
        return self.factor != SCHEDULES["constant"] or self.warmup_share > 0


def read_schedule(text: str) -> ScheduleSpec:
    """Read a schedule.

    Raises
    ------
    ConfigError
        For an unknown name, or a warm-up that is none.
    """
    name, colon, argument = text.partition(":")
    check_name("schedule", name, SCHEDULES)
    if not colon:
        return ScheduleSpec(SCHEDULES[name])
    if found := re.fullmatch(r"warmup=(?:(\d{1,9})|(\d{1,3}(?:\.\d{1,6})?)%)", argument):
        steps, percent = found.groups()
        if steps:
            return ScheduleSpec(SCHEDULES[name], warmup_steps=int(steps))
        if float(percent) <= 100:
            return ScheduleSpec(SCHEDULES[name], warmup_share=float(percent) / 100)
    raise ConfigError(
        f"schedule: '{text}': {name} takes a warm-up in steps or in percent of the run's, as in "
        f"{name}:warmup=100 or {name}:warmup=5%"
    )
