"""Runs whose feature maps are attacked, and their findings."""

from dataclasses import replace
from functools import cache
from pathlib import Path

from vfl_flower.analysis.audit.feature_reconstruction import Findings, attack, runs_with_maps
from vfl_flower.config.run_config import RunConfig
from vfl_flower.runs.run_folder import RunFolder

SMALL = RunConfig(
    method="adptvfedconv",
    partition="grid:2x2",
    models="vgg16_bn",
    cut="1C",
    width=0.1,
    pretrain_epochs=1,
    local_epochs=1,
    epochs=1,
    baselines="off",
)
RUNS = {"early": SMALL, "late": SMALL.changed(cut="2C+1M")}
NOISED = replace(SMALL, dp_sigma=1.0, dp_clip=10.0)
OTHERWISE = {
    "early": SMALL,
    "coarse": SMALL.changed(compression="quantize:1"),
    "noised": NOISED,
    "noised in training": replace(NOISED, dp_eval="clear"),
}
"""Ways to send the maps of one and the same networks, those of the early cut."""

PASSIVE = ("party-1", "party-2", "party-3")


@cache
def attacked(path: Path) -> Findings:
    [folder] = runs_with_maps([path])
    return attack(folder, epochs=20)[0]


def sent(path: Path, way: str) -> RunFolder:
    """Return a run as if its maps had been sent differently."""
    return RunFolder(path, OTHERWISE[way], fresh=False)
