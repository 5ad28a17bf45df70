"""Measured numbers in the documentation: tables between two comments, pages, and figures.

    python -m docs.numbers

All of them are read from the results in ``benchmarks/results``.
"""

import re
from collections.abc import Callable
from pathlib import Path

from docs import (
    benchmark_numbers,
    leakage_numbers,
    method_numbers,
    page_numbers,
    party_numbers,
    peer_numbers,
    tabular_numbers,
    tree_numbers,
)
from docs.fault_numbers import OUTCOMES
from docs.reproducing import pages
from vfl_flower.common.files import write_atomically

HERE = Path(__file__).parent
BLOCK = re.compile(r"(<!-- numbers: ([a-z_-]+) -->\n).*?(<!-- numbers end -->)", re.DOTALL)
PAGES = (
    *("choosing.md", "tabular.md", "reliability.md", "reproduction.md", "peers.md"),
    *("label-privacy.md", "client-privacy.md", "reconstruction.md", "leakage.md", "explain.md"),
    *("metrics.md", "missing-parties.md", "leaving-and-joining.md"),
    *method_numbers.METHOD_PAGES,
    "../benchmarks/results.md",
)
MADE: dict[str, Callable[[], str]] = {
    **tabular_numbers.MADE,
    **method_numbers.MADE,
    **OUTCOMES,
    **benchmark_numbers.MADE,
    **page_numbers.MADE,
    **leakage_numbers.MADE,
    **peer_numbers.MADE,
    "images": method_numbers.images,
    "rounding": method_numbers.rounding,
    "joining": party_numbers.joining,
    "missing-parties": party_numbers.missing_parties,
    "papers": pages.summary,
    "trees": tree_numbers.trees,
    "paillier": tree_numbers.paillier,
    "trees-scale": tree_numbers.scale,
}


def filled(page: str) -> str:
    """Return a page with its tables made anew."""
    return BLOCK.sub(lambda found: f"{found[1]}\n{MADE[found[2]]()}\n{found[3]}", page)


if __name__ == "__main__":
    pages.write()
    leakage_numbers.write()
    for path in map(HERE.joinpath, PAGES):
        write_atomically(path, filled(path.read_text()).encode())
