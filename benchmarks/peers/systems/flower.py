"""Flower's vertical example: all rows in each round, in its simulation."""

from importlib.metadata import version

from benchmarks.peers.peer import SIMULATED, Peer

EXAMPLE = Peer(
    title=f"Flower {version('flwr')}, as its vertical example",
    environment="flower",
    packages=(),
    module="flower_apps",
    way=SIMULATED,
    runs="simulation on Ray",
    work={"dataset": "digits", "parties": 3, "epochs": 60, "batch-size": 0},
    tiny={"dataset": "digits", "parties": 3, "epochs": 4, "batch-size": 0},
    warm_up=10,
    variables={"FLWR_TELEMETRY_ENABLED": "0", "RAY_USAGE_STATS_ENABLED": "0"},
)
