"""Effect of fixed-point rounding on weights: masked against unmasked runs.

    python -m benchmarks.rounding [--steps 50]

Both are trained by the joint program, which the protocol equals bit for bit, on digits.
"""

from benchmarks.harness.benchmark import Arguments, Benchmark, Option
from benchmarks.harness.report import Report
from tests.helpers.joint.reference import joint_easter
from vfl_flower.config.optimization.optimizers import OPTIMIZERS
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


def measure(given: Arguments, report: Report) -> None:
    """Measure every optimizer."""
    table = report.table(
        f"distance of masked to unmasked weights after {given.steps} steps, digits",
        {"optimizer": "", "largest difference": ".1e", "largest weight": ".2f"},
    )
    for optimizer in OPTIMIZERS:
        table.add(optimizer, *distance(optimizer, given.steps))


BENCHMARK = Benchmark(measure, {"steps": Option(50, tiny=2, help="training steps")})

if __name__ == "__main__":
    BENCHMARK.run()
