"""NVFlare in its simulator and between processes: split learning and vertical XGBoost."""

from dataclasses import replace

from benchmarks.peers.kind import TREES
from benchmarks.peers.peer import DEPLOYED, DIGITS, FOREST, IMAGES, SAPLINGS, SIMULATED, Peer

VERSION = "2.9.0"
SIMULATOR = Peer(
    title=f"NVFlare {VERSION}",
    environment="nvflare",
    packages=(f"nvflare=={VERSION}",),
    module="nvflare_sites",
    way=SIMULATED,
    runs="simulator",
    work=IMAGES,
    tiny=DIGITS,
)
PROCESSES = replace(
    SIMULATOR, way=DEPLOYED, runs="server and two sites (POC), HTTP with mutual TLS"
)

XGBOOST = "3.2.0"
"""Version; NVFlare's recipe imports TensorBoard besides."""
TREES_SIMULATOR = replace(
    SIMULATOR,
    title=f"NVFlare {VERSION} with XGBoost {XGBOOST}",
    environment="nvflare-xgboost",
    packages=(f"nvflare=={VERSION}", f"xgboost=={XGBOOST}", "tensorboard==2.21.0"),
    module="nvflare_trees",
    kind=TREES,
    work=FOREST,
    tiny=SAPLINGS,
)
TREES_PROCESSES = replace(
    TREES_SIMULATOR, way=DEPLOYED, runs="server and three sites (POC), HTTP with mutual TLS"
)
