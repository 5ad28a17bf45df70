"""Facts of a split's agreement, equal at all parties."""

from flwr.common import Scalar

from vfl_flower.common.versions import code_facts


def split_facts(rows: int) -> dict[str, Scalar]:
    """Return facts that must be equal everywhere before a split is told."""
    return {**code_facts(), "task": "split", "rows": rows}
