"""Contract of every method: traffic equals its header, to the byte."""

from collections import Counter

import pytest
from flwr.common import FitRes

from tests.helpers.contract import BATCH, CASES, EPOCHS, IN_TURNS, Run, finished, method_of
from tests.helpers.formulas import BEFORE, DATA_DEPENDENT, FORMULAS, K

TRAIN = 1294  # digits: 1797 rows, a fifth of them test, a tenth of the rest validation
SIZES = [BATCH] * (TRAIN // BATCH) + [TRAIN % BATCH]

CONTROL = {"public_key", "count_columns", "seal_variances", "check_share"}
"""Phases of control traffic that a party answers with arrays."""

pytestmark = pytest.mark.parametrize("method", [c for c in CASES if c not in DATA_DEPENDENT])


def sizes_of(method: str, run: Run, k: int) -> list[int]:
    """Return the rows of every batch of a party.

    All training rows, where they are asked once.
    """
    if method in IN_TURNS:
        return [len(rows) for rows in run.batches(k)]
    if method_of(method).full_batch:
        return [TRAIN] * EPOCHS
    return SIZES * EPOCHS if run.active.ledger.exchanges["training"] != 2 else [TRAIN]


def formulas_of(method: str, run: Run, k: int) -> list[dict[tuple[str, str], list[int]]]:
    """Return the header's bytes of every batch, and before the first."""
    before = [BEFORE[method](TRAIN)] if method in BEFORE else []
    return before + [FORMULAS[method](b) for b in sizes_of(method, run, k)]


def tensors_of(res: FitRes) -> list[bytes]:
    """Return a reply's arrays, encoded."""
    return res.parameters.tensors


def booked(books: Counter[tuple[str, str, str, str]], k: int) -> dict[tuple[str, str], int]:
    """Return a party's training bytes, by phase and direction."""
    return {
        (phase, direction): count
        for (party, purpose, phase, direction), count in books.items()
        if (party, purpose) == (f"party-{k + 1}", "training") and count
    }


def test_payload_equals_the_header_formula(method: str) -> None:
    assert sum(SIZES) == TRAIN
    run = finished(method, "local")
    for k in range(K):
        expected: Counter[tuple[str, str]] = Counter()
        for formula in formulas_of(method, run, k):
            expected.update({rank: sum(arrays) for rank, arrays in formula.items()})
        assert booked(run.active.ledger.payload, k) == expected


def test_framing_is_headers_and_config(method: str) -> None:
    """128 bytes an npy header; a record's keys, text and numbers."""
    run = finished(method, "local")
    keys = 8 + len("exchange") + len("phases") + len("arrays")
    _, told = run.phases()

    def framing(phase: str, direction: str, count: int) -> int:
        if direction == "up":
            return 128 * count
        if phase in told:  # it rides along, whatever on
            return 128 * count + len(f"{phase},{count},")
        return 128 * count + keys + len(f"{phase}{count}")

    for k in range(K):
        expected: Counter[tuple[str, str]] = Counter()
        for formula in formulas_of(method, run, k):
            expected.update({rank: framing(*rank, len(formula[rank])) for rank in formula})
        assert booked(run.active.ledger.framing, k) == expected


def test_uploads_are_replies_of_columns_and_not_of_keys(method: str) -> None:
    """Control traffic is no upload: a public key says nothing of columns."""
    run = finished(method, "local")
    sent = [
        [res for ins, res in tap.sent if ins.config["phases"] not in CONTROL and tensors_of(res)]
        for tap in run.taps
    ]
    uploads = {f"party-{k}": len(each) for k, each in enumerate(sent, 1) if each}
    assert bool(uploads) == (not method_of(method).alone)
    assert dict(run.active.ledger.uploads) == uploads
