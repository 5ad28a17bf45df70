"""Numbers of 16 or 8 bits, against messages rounded on the way.

The reference trains in whole precision and without masks, through clients that round every message
in either direction by arithmetic of their own.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flwr.client import Client
from flwr.common import FitIns, FitRes, GetPropertiesIns, GetPropertiesRes, Parameters

from tests.helpers.contract import (
    CASES,
    Run,
    Tap,
    carry,
    configured,
    differing,
    finished,
    method_of,
    passive_parties,
)
from tests.helpers.joint.rounding import BITS, cut
from tests.helpers.liars import run_with_liar
from vfl_flower.common.codec import Array, from_parameters, to_parameters
from vfl_flower.common.errors import ConfigError, PartyError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.parties.residuals import Residuals
from vfl_flower.protocol.components import UPLOADS, declared_by
from vfl_flower.workflows.build_parties import build_active, build_passive

COMPRESSED = [case for case in CASES if configured(case).method == "c_vfl"]
WEIGHED = ["pravfed"]  # sums with weights are tested apart
WHOLE = ["logistic", "logistic with lasso"]  # refuses fewer bits
RUN = [
    case
    for case in CASES
    if not (method_of(case).alone or "wire_precision" in method_of(case).unused)
    and case not in (*COMPRESSED, *WEIGHED, *WHOLE)
]
SUMMED = [case for case in RUN if method_of(case).blinds]
IN_8_BITS = ["easter", "splitnn", "vimadmm", "adptvfedconv"]
"""Cases with predictions, gradients, heads, and convolutions in messages."""
BOUND = 16.0
STEP = 2.0**-9
"""Of a ring of 16 bits that holds a sum of three rows within the bound: 3 x 16 x 2**9 < 2**15."""


@dataclass
class Rounding(Client):
    """Rounds messages, and masked uploads to the ring's steps."""

    client: Client
    precision: str
    masked: frozenset[str]

    def get_properties(self, ins: GetPropertiesIns) -> GetPropertiesRes:
        return self.client.get_properties(ins)

    def fit(self, ins: FitIns) -> FitRes:
        asked = self.rounded(ins.parameters)
        res = self.client.fit(replace(ins, parameters=asked))
        if str(ins.config["phases"]).split(",")[-1] in self.masked:
            steps = [np.rint(a * np.float32(1 / STEP)) for a in from_parameters(res.parameters)]
            return replace(res, parameters=to_parameters([a * np.float32(STEP) for a in steps]))
        return replace(res, parameters=self.rounded(res.parameters))

    def rounded(self, parameters: Parameters) -> Parameters:
        return to_parameters([cut(a, self.precision) for a in from_parameters(parameters)])


def trained(cfg: RunConfig, **rounding: Any) -> Run:
    active = build_active(cfg)
    parties = passive_parties("local", lambda k: build_passive(cfg, k))
    taps = [Tap(Rounding(c, **rounding) if rounding else c) for c in parties.clients]
    carry("local", active, taps)
    return Run(active, taps, parties.weights())


def masked_phases(cfg: RunConfig) -> frozenset[str]:
    _, client = cfg.spec.load()
    declared = declared_by(client).items()
    return frozenset(n for n, each in declared if each.masked and {*each.sends} & {*UPLOADS})


def check(cfg: RunConfig, precision: str, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Compare a run with one that is rounded on the way."""
    narrow = trained(replace(cfg, wire_precision=precision))
    masked = masked_phases(cfg) if cfg.blinded else frozenset()
    # Residuals that somebody else rounds are not those of the run's precision.
    monkeypatch.setattr(Residuals, "one_hot", lambda *_: False)
    monkeypatch.setattr(Residuals, "fault", lambda *_: "")
    bound = str(BOUND) if cfg.blinded else "none"
    whole = replace(cfg, blinding="none", embedding_bound=bound)
    reference = trained(whole, precision=precision, masked=masked)
    assert differing(narrow.weights, reference.weights) == []
    assert narrow.active.progress.test == reference.active.progress.test
    return narrow


@pytest.mark.parametrize(
    ("case", "precision"),
    [*((case, "float16") for case in RUN), *((case, "int8") for case in IN_8_BITS)],
)
def test_every_number_is_rounded_once_each_way(
    case: str, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = {"blinding": "none", "embedding_bound": "none", "share_check": "off"}
    cfg = configured(case).changed(**changes)
    check(cfg, precision, monkeypatch)


@pytest.mark.parametrize(
    ("case", "precision"), [*((case, "bfloat16") for case in SUMMED), ("easter", "int8")]
)
def test_sums_under_masks_are_those_of_the_rings_steps(
    case: str, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cfg = replace(configured(case), embedding_bound=str(BOUND), share_check="off")
    narrow = check(cfg, precision, monkeypatch)
    words = [a for tap in narrow.taps for a in tap.replies() if a.dtype.kind == "u" and a.ndim > 1]
    assert words
    assert {a.dtype for a in words} == {np.dtype(np.uint16)}


@pytest.mark.parametrize("precision", sorted(BITS))
def test_weighed_sums_come_close(precision: str) -> None:
    """PraVFed's parties weigh their embeddings in the ring."""
    cfg = configured("pravfed")
    whole, narrow = finished("pravfed", "local"), trained(replace(cfg, wire_precision=precision))
    scores = [run.active.progress.test["score"]["active"] for run in (whole, narrow)]
    assert min(scores) > 0.8
    assert abs(scores[0] - scores[1]) < 0.05


@pytest.mark.parametrize(("case", "width"), [("splitnn", 16), ("agg_vfl", 10)])
@pytest.mark.parametrize("precision", ["float16", "int8"])
def test_numbers_take_half_the_bytes_or_a_quarter(case: str, width: int, precision: str) -> None:
    cfg = replace(configured(case), wire_precision=precision)
    share = Fraction(1, 2) if precision == "float16" else Fraction(width + 1, 4 * width)
    whole, narrow = (run.active.ledger.payload for run in (finished(case, "local"), trained(cfg)))
    assert whole.keys() == narrow.keys()
    for (party, purpose, phase, way), count in whole.items():
        if purpose == "training" and phase == "update":
            assert narrow[party, purpose, phase, way] == share * count, way
        if purpose == "training" and way == "up" and phase == "embed":
            assert narrow[party, purpose, phase, way] == share * count


@pytest.mark.parametrize("label_privacy", ["laplace", "randomized-response"])
@pytest.mark.parametrize("precision", sorted(BITS))
def test_residuals_of_noised_labels_are_admitted(precision: str, label_privacy: str) -> None:
    cfg = replace(configured("easter"), wire_precision=precision, label_privacy=label_privacy)
    assert trained(replace(cfg, class_weights="balanced")).active.progress.step > 0


# Refusals -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("precision", "dtype", "says"),
    [
        ("float16", np.float32, "wire-precision is float16"),
        ("int8", np.float32, "wire-precision is int8"),
        ("float32", np.int8, r"is int8\(.*, not float32"),
        ("float16", np.int8, r"is int8\(.*, not float32"),
    ],
)
def test_a_party_that_answers_in_another_precision_is_named(
    precision: str, dtype: type, says: str
) -> None:
    cfg = replace(configured("splitnn"), wire_precision=precision)
    with pytest.raises(PartyError, match=rf"party-2 .*{says}"):
        run_with_liar(cfg, "embed", lambda arrays: [a.astype(dtype) for a in arrays])


@pytest.mark.parametrize(
    ("lie", "says"),
    [
        (lambda row: row[:, 1:], r"is float32\(200, 15\), not float32\(200, 16\)"),
        (lambda row: row[0], r"garbled .*array of shape \(17,\)"),
        (lambda row: np.full_like(row, 127), "garbled .*no party can have written"),
    ],
)
def test_a_party_with_rows_of_int8_that_nobody_writes_is_named(
    lie: Callable[[Array], Array], says: str
) -> None:
    cfg = replace(configured("splitnn"), wire_precision="int8")
    with pytest.raises(PartyError, match=rf"party-2 .*{says}"):
        run_with_liar(cfg, "embed", lambda arrays: [lie(a) for a in arrays])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"method": "c_vfl"}, "compressed .quantize:8. already"),
        (
            {"method": "agg_vfl", "dp_sigma": 1.0, "dp_noise": "distributed"},
            "in steps of 32 bits",
        ),
        ({"method": "splitnn", "dp_sigma": 1.0}, "may not hold the noise.*bfloat16"),
        ({"method": "local"}, "send no numbers"),
        ({"method": "easter", "embedding_bound": "none"}, "need a range.*embedding-bound"),
        ({"method": "splitnn", "wire_precision": "float8"}, "wire-precision"),
    ],
)
def test_what_16_bits_cannot_hold_is_refused_before_work(
    options: dict[str, Any], says: str
) -> None:
    with pytest.raises(ConfigError, match=says):
        RunConfig(**({"wire_precision": "float16"} | options))


def test_more_parties_than_16_bits_can_hold_are_refused_before_work() -> None:
    many: dict[str, Any] = {"method": "easter", "dataset": "nus-wide", "wire_precision": "float16"}
    assert RunConfig(parties=505, **many).narrow
    with pytest.raises(ConfigError, match=r"more than 504 passive parties needs 32 bits"):
        RunConfig(parties=506, **many)


@pytest.mark.parametrize("method", ["easter", "pravfed"])
def test_a_loose_bound_is_no_obstacle_without_masks(method: str) -> None:
    cfg = replace(configured(method), wire_precision="float16", epochs=1)
    loose = replace(cfg, blinding="none", embedding_bound="40000")
    assert trained(loose).active.progress.test["score"]
