"""Figures of the methods' messages, drawn from the declarations of their phases.

    python -m vfl_flower.reporting.message_figures [docs/methods]

writes the figure of each method into its page, between two comments.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from vfl_flower.common.files import write_atomically
from vfl_flower.config.registry import METHODS, spec_of
from vfl_flower.protocol.automaton.declaration import Phase
from vfl_flower.protocol.automaton.rules import Declared, shown_path
from vfl_flower.protocol.components import UPLOADS, declared_by

WIDTH = 66
BEGIN, END = "<!-- messages: drawn from the declarations of phases -->", "<!-- messages end -->"
_BLOCK = re.compile(f"{BEGIN}\n.*?{END}\n", re.DOTALL)


def figure(method: str) -> str:
    """Draw a method's messages with one passive party, if any."""
    _, client = spec_of(method).load()
    phases = sorted(_declared_in_order(client).items(), key=lambda each: _place(each[1]))
    if not phases:
        return ""
    blinds, uploads = spec_of(method).blinds, spec_of(method).options().upload_compression
    lines = [f" active party{' ' * (WIDTH - 14)}passive party k"]
    for name, declared in phases:
        lines += _request(name, declared)
        lines += _answer(declared, blinds, uploads != "none")
    return "\n".join([BEGIN, "```text", *lines, "```", END]) + "\n"


def write(folder: Path) -> None:
    """Write the figure of every method into its page."""
    for method in METHODS:
        page = folder / f"{method}.md"
        write_atomically(page, drawn_into(page.read_text(), figure(method)).encode())


def drawn_into(page: str, drawn: str) -> str:
    """Return a page with another figure."""
    return _BLOCK.sub(lambda _: drawn, page)


def _declared_in_order(client: type) -> dict[str, Phase]:
    """Return the phases of a class in the order of their definitions."""
    found = declared_by(client)
    names = [name for base in reversed(client.__mro__) for name in vars(base)]
    return {name: found[name] for name in dict.fromkeys(names) if name in found}


def _place(declared: Phase) -> int:
    """Place requests of limited number first, then steps, then evaluations."""
    return 0 if declared.most is not None else 1 if declared.training else 2


def _request(name: str, declared: Phase) -> Iterator[str]:
    """Draw a request: its arrays, and when it may come."""
    arrays = [_text(each) for each in declared.takes]
    yield from _lines(f"{name}: {arrays[0]}" if arrays else name)
    for each in arrays[1:]:
        yield from _lines(f"{' ' * len(name)}  {each}")
    when = [f"after {' or '.join(declared.after)}"] if declared.after else []
    if declared.most is not None:
        most = declared.most
        often = "once" if most == 1 else f"{most if isinstance(most, int) else shown_path(most)}"
        when.append(often if often == "once" else f"at most {often} times")
    if not declared.gives:
        when.append("no answer, so it waits for the next request")
    if when:
        yield from _lines(f"({'; '.join(when)})")
    yield f"      |{'-' * (WIDTH - 1)}>|"


def _answer(declared: Phase, blinds: bool, compressed: bool) -> Iterator[str]:
    """Draw the answer of a phase, if it has one."""
    for kind, each in zip(declared.sends, declared.gives, strict=True):
        said = f"{kind} {_text(each)}"
        if kind in UPLOADS and declared.masked and blinds:
            said = said.replace("float32", "uint32") + ", masked"
        elif kind in UPLOADS and compressed:
            said += ", compressed"
        yield f"      |{said.rjust(WIDTH - 2)}  |"
    if declared.gives:
        yield f"      |<{'-' * (WIDTH - 1)}|"


def _text(declared: Declared) -> str:
    return declared.text()


def _lines(text: str) -> Iterator[str]:
    yield f"      |  {text.ljust(WIDTH - 2)}|"


if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/methods"))
