"""Positive class of two, and why it is that one."""

STATED, RARER, ORDER = "stated", "rarer", "order"
"""Why a class is the positive one."""

_WHY = {
    STATED: "",
    RARER: " (the rarer of two; set positive to choose)",
    ORDER: " (the second of two; set positive to choose)",
}


def positive_text(name: str, why: str) -> str:
    """Say which class is positive, and why; nothing without one."""
    return f"positive class: {name}{_WHY.get(why, '')}" if name else ""
