"""All pictures by the names of their files."""

from docs.pictures import shared_ids

DRAWERS = {"tables.svg": shared_ids.draw}


def drawn() -> dict[str, str]:
    """Draw every picture; return its text by the name of its file."""
    return {name: draw() for name, draw in DRAWERS.items()}
