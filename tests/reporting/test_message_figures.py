"""Pages of methods show the messages that the phases declare."""

from pathlib import Path

import pytest

import vfl_flower
from vfl_flower.config.registry import METHODS, spec_of
from vfl_flower.reporting.message_figures import drawn_into, figure

PAGES = Path(vfl_flower.__file__).parents[1] / "docs" / "methods"


@pytest.mark.parametrize("method", METHODS)
def test_pages_are_as_drawn(method: str) -> None:
    """If not: python -m vfl_flower.reporting.message_figures."""
    page = (PAGES / f"{method}.md").read_text()
    assert page == drawn_into(page, figure(method))
    assert spec_of(method).alone == (figure(method) not in page or not figure(method))


def test_a_figure_has_order_count_arrays_and_masks() -> None:
    drawn = figure("pravfed")
    for part in (
        "pretrain: all training rows (N,) int32",
        "labels (N,) uint8",
        "(after pretrain; once)",
        "all ACC (K,) float32 in [0, 1]",
        "embedding W_k E_k (B, D) uint32, masked",
    ):
        assert part in drawn
    assert "at most local-epochs times" in figure("adptvfedconv")
    assert all(len(line) == len("      |") + 67 for line in drawn.splitlines()[3:-2])
    assert figure("local") == figure("central") == ""
