"""Effect of fixed-point rounding on weights: masked against unmasked runs.

    python -m benchmarks.rounding [--steps 50]

Both are trained by the joint program, which the protocol equals bit for bit, on digits.
"""

import argparse

from rich.console import Console
from rich.table import Table

from tests.helpers.reference import joint_easter
from vfl_flower.config.catalog import OPTIMIZERS
from vfl_flower.config.run_config import RunConfig
from vfl_flower.learning.losses import loss_of


def distance(optimizer: str, steps: int) -> tuple[float, float]:
    """Return the largest difference of any weight, and the largest weight.

    Over all parties.
    """
    cfg = RunConfig(device="cpu", optimizers=optimizer, epochs=1 + steps // 11)
    loss = loss_of("binary-cross-entropy")
    runs = [joint_easter(cfg, loss, steps, rounded=rounded) for rounded in (True, False)]
    pairs = [
        (p, q)
        for a, b in zip(*runs, strict=True)
        for p, q in zip(a.net.parameters(), b.net.parameters(), strict=True)
    ]
    largest = max(p.abs().max().item() for p, _ in pairs)
    return max((p - q).abs().max().item() for p, q in pairs), largest


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--steps", type=int, default=50)
    steps = options.parse_args().steps
    table = Table(title=f"distance of blinded to unblinded weights after {steps} steps, digits")
    for column in ("optimiser", "largest difference", "largest weight"):
        table.add_column(column, justify="right")
    for optimizer in OPTIMIZERS:
        difference, largest = distance(optimizer, steps)
        table.add_row(optimizer, f"{difference:.1e}", f"{largest:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
