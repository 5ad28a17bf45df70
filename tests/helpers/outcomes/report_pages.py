"""Pages of reports, parsed."""

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from tests.helpers.outcomes.edits import values_of

SHORT = ["--epochs", "2", "--eval-every", "4"]


class Reader(HTMLParser):
    """Collects a page's text and references."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.sources: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {key: value or "" for key, value in attrs}
        self.tags.append(tag)
        self.sources += [named[key] for key in ("src", "data", "srcset") if key in named]
        self.links += [named["href"]] if "href" in named else []
        self.ids += [named["id"]] if "id" in named else []

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def read(path: Path) -> Reader:
    """Parse a page."""
    reader = Reader()
    reader.feed(path.read_text())
    return reader


def result_of(path: Path) -> dict[str, Any]:
    """Read a result."""
    return values_of(path / "result.json")
