"""Noise on the columns of test rows, by which importance is measured."""

from vfl_flower.common.errors import ConfigError

SIGMA, MOST_SIGMA = 10.0, 1e6


def check_noise(sigma: float) -> None:
    """Refuse a deviation that measures nothing.

    Raises
    ------
    ConfigError
        If it is not above 0, or beyond `MOST_SIGMA`.
    """
    if not 0 < sigma <= MOST_SIGMA:
        raise ConfigError(
            f"noise must be above 0 and up to {MOST_SIGMA:g} standard deviations, not {sigma:g}"
        )
