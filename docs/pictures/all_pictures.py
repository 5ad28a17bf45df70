"""All pictures by the names of their files."""

from docs.pictures import (
    accuracy_by_bytes,
    defended_runs,
    example_run,
    leakage_map,
    peer_steps,
    shared_ids,
    tabular_differences,
)

DRAWERS = {
    "tables.svg": shared_ids.draw,
    "run.svg": example_run.draw,
    "methods.svg": accuracy_by_bytes.draw,
    "tabular.svg": tabular_differences.draw,
    "peers.svg": peer_steps.draw,
    "leakage.svg": leakage_map.draw,
    "defences.svg": defended_runs.draw,
}


def drawn() -> dict[str, str]:
    """Draw every picture; return its text by the name of its file."""
    return {name: draw() for name, draw in DRAWERS.items()}
