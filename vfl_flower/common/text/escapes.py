"""Escapes of text that would steer a terminal."""

import re

_LINES = re.compile(r"[^\n\t]+")


def escaped(text: str) -> str:
    r"""Write characters that steer a terminal as escapes, such as ``\x1b``.

    Line ends are among them, and marks that turn the direction of writing.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def escaped_lines(text: str) -> str:
    """Escape each line of a text; keep line ends and tabs."""
    return _LINES.sub(lambda line: escaped(line[0]), text)


def escaped_json(text: str) -> str:
    r"""Escape unprintable characters in serialised JSON; its value stays the same."""
    return "".join(c if c.isprintable() or c == "\n" else _in_json(c) for c in text)


def _in_json(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
