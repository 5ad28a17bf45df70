"""Pictures of the documentation, in light and dark."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from docs.pictures.all_pictures import drawn
from docs.pictures.example_run import drawn_by
from docs.pictures.svg import DARK, LIGHT
from tests.helpers.outcomes.pages import DOCS, PAGES

FOLDER = DOCS / "pictures"
PICTURES = drawn()
SHOWN = re.compile(r"!\[([^\]]*)\]\(([^)\s]+\.svg)\)")


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour, as WCAG defines it."""
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return sum(share * c for share, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("name", PICTURES)
def test_picture_is_as_drawn(name: str) -> None:
    """If not: python -m docs.pictures."""
    kept = (FOLDER / name).read_text()
    if "Matplotlib" in kept and not drawn_by(kept):
        pytest.skip("another Matplotlib drew it")
    assert kept == PICTURES[name]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.svg")), ids=lambda path: path.name)
def test_picture_is_drawn_shown_and_suits_both_schemes(path: Path) -> None:
    assert path.name in PICTURES
    shown = [
        alt
        for page in PAGES
        for alt, target in SHOWN.findall(page.read_text())
        if (page.parent / target).resolve() == path
    ]
    assert shown and all(len(alt) > 30 for alt in shown)  # described for those who do not see it
    root = ElementTree.fromstring(path.read_text())  # noqa: S314
    assert root.get("viewBox") and root.get("role") == "img" and root.get("aria-label")
    assert "prefers-color-scheme: dark" in path.read_text()


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_words_can_be_read(colours: dict[str, str]) -> None:
    for word in ("ink", "soft", "one", "two", "three"):
        for below in ("paper", "head", "shared"):
            if below == "paper" or word in ("ink", "one", "soft"):
                assert contrast(colours[word], colours[below]) > 4.5, (word, below)
