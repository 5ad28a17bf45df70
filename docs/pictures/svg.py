"""Elements of SVG pictures, coloured for light and dark pages."""

from html import escape

FONT = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, 'DejaVu Sans', sans-serif"
LIGHT = {
    "ink": "#1f2328",
    "soft": "#59636e",
    "rule": "#d1d9e0",
    "paper": "#ffffff",
    "head": "#eef1f5",
    "one": "#006aa6",
    "two": "#b34d00",
    "three": "#007a57",
    "shared": "#d7ebf8",
}
DARK = {
    "ink": "#e6edf3",
    "soft": "#9aa5b1",
    "rule": "#3d444d",
    "paper": "#0d1117",
    "head": "#1c232b",
    "one": "#58b4ea",
    "two": "#ff9a57",
    "three": "#3fc79a",
    "shared": "#12384f",
}
"""Colours by role; one, two and three are after Okabe and Ito, for any colour vision."""


def document(width: int, height: int, label: str, *elements: str) -> str:
    """Return a whole picture.

    Parameters
    ----------
    width, height : int
        Size in pixels.
    label : str
        Description for readers who do not see it.
    *elements : str
        Elements, the lowest first.
    """
    dark = f"@media (prefers-color-scheme: dark) {{ {_rules(DARK)} }}"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" role="img" aria-label="{escape(label)}">',
            f"<title>{escape(label)}</title>",
            f"<style>text {{ font-family: {FONT}; }} {_rules(LIGHT)} {dark}</style>",
            *elements,
            "</svg>\n",
        ]
    )


def text(
    x: float,
    y: float,
    words: str,
    colour: str = "ink",
    *,
    size: int = 14,
    anchor: str = "start",
    bold: bool = False,
    halo: bool = False,
) -> str:
    """Return a line of text.

    y is its base line; a halo sets it off from lines below.
    """
    weight = ' font-weight="600"' if bold else ""
    classes = f"{colour} paper-edge" if halo else colour
    rim = ' stroke-width="4" stroke-linejoin="round" paint-order="stroke"' if halo else ""
    return (
        f'<text class="{classes}" x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}"'
        f"{weight}{rim}>{escape(words)}</text>"
    )


def box(
    x: float, y: float, width: float, height: float, colour: str, edge: str = "", corner: int = 0
) -> str:
    """Return a filled rectangle, with or without an edge."""
    classes = f"{colour} {edge}-edge" if edge else colour
    return (
        f'<rect class="{classes}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" '
        f'rx="{corner}"/>'
    )


def path(points: str, colour: str, *, wide: float = 1, more: str = "") -> str:
    """Return an open path, from the text that SVG calls ``d``."""
    return f'<path class="{colour}-line" d="{points}" stroke-width="{wide:g}"{more}/>'


def dot(x: float, y: float, radius: float, colour: str) -> str:
    """Return a disc with a rim in the colour of the page."""
    return (
        f'<circle class="{colour} paper-edge" cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" '
        'stroke-width="1.5"/>'
    )


def _rules(colours: dict[str, str]) -> str:
    return " ".join(
        f".{name} {{ fill: {colour}; }} .{name}-edge {{ stroke: {colour}; }} "
        f".{name}-line {{ stroke: {colour}; fill: none; }}"
        for name, colour in colours.items()
    )
