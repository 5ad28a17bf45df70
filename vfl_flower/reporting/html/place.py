"""Place of a report's page."""

from pathlib import Path

from vfl_flower.common.errors import ConfigError


def check_page(page: Path) -> None:
    """Refuse a page that would take another kind of file's place.

    Raises
    ------
    ConfigError
        If it is no .html file.
    """
    if page.suffix not in (".html", ".htm"):
        raise ConfigError(f"page must name an .html file, not {page}")
