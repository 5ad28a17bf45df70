"""Templates of pages: whatever they show is escaped."""

from jinja2 import Environment, PackageLoader, StrictUndefined


def environment() -> Environment:
    """Return an environment that escapes, and knows no undefined name."""
    return Environment(
        loader=PackageLoader("vfl_flower.reporting.html", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
