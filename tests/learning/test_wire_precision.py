"""Numbers in 16 and 8 bits: rounding, errors and refusals."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.helpers.joint.rounding import BITS, cut
from vfl_flower.common.codec import Array, decode, encode
from vfl_flower.common.errors import ProtocolError
from vfl_flower.learning.wire_precision import PRECISIONS, as_sent, narrowed, widened

each_precision = pytest.mark.parametrize("precision", sorted(BITS))
SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=6)


def numbers(precision: str) -> st.SearchStrategy[float]:
    most = 65504.0 if precision == "float16" else 3.4e38
    edge = float(np.float32(most))
    return st.floats(-edge, edge, width=32)


@each_precision
@given(st.data())
def test_numbers_lose_their_last_bits(precision: str, data: st.DataObject) -> None:
    x = data.draw(hnp.arrays(np.float32, SHAPES, elements=numbers(precision)))
    form = PRECISIONS[precision]
    back = widened(decode(encode(narrowed(x, precision))), precision)
    assert back.dtype == np.float32
    assert back.tolist() == cut(x, precision).tolist()
    size = abs(x).max(-1, keepdims=True, initial=0) if form.by_row and x.ndim else abs(x)
    error = np.abs(back.astype(np.float64) - x)
    assert (error <= form.error * size + form.step).all()
    assert (np.abs(back) <= np.abs(x)).all()
    assert widened(narrowed(back, precision), precision).tobytes() == back.tobytes()


@pytest.mark.parametrize("shape", [(), (5,), (0, 3), (4, 0), (7, 10), (2, 3, 4)])
def test_bytes_are_a_half_or_a_quarter_and_one_a_row(shape: tuple[int, ...]) -> None:
    x = np.ones(shape, np.float32)
    for precision in ("float16", "bfloat16"):
        assert narrowed(x, precision).nbytes == x.nbytes / 2
    whole = len(shape) < 2  # no matrix
    expected = x.nbytes if whole else x.nbytes / 4 + np.prod(shape[:-1])
    assert narrowed(x, "int8").nbytes == expected


@each_precision
@pytest.mark.parametrize("shape", [(), (2,), (0, 3), (3, 0), (2, 3, 4)])
def test_shapes_are_kept(precision: str, shape: tuple[int, ...]) -> None:
    x = torch.full(shape, 1.5)
    assert torch.equal(as_sent(x, precision), x)


@pytest.mark.parametrize("precision", ["float32", *BITS])
@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.uint32, np.uint16])
def test_other_arrays_travel_as_they_are(precision: str, dtype: type) -> None:
    x: Array = np.arange(5, dtype=dtype)
    assert narrowed(x, precision) is x
    assert widened(x, precision) is x


def test_in_whole_precision_nothing_changes() -> None:
    x = np.array([1 / 3, np.nan], np.float32)
    assert narrowed(x, "float32") is x
    assert widened(x, "float32") is x


@each_precision
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_what_is_not_finite_is_refused(precision: str, bad: float, shape: tuple[int, ...]) -> None:
    with pytest.raises(ProtocolError, match=rf"not finite.* as {precision}"):
        narrowed(np.full(shape, bad, np.float32), precision)


@pytest.mark.parametrize("large", [65520.0, -7e4, 1e38])
def test_what_float16_cannot_hold_is_refused_with_the_way_out(large: float) -> None:
    x = np.array(large, np.float32)
    with pytest.raises(ProtocolError, match=r"beyond 65504.*wire-precision = bfloat16"):
        narrowed(x, "float16")
    assert abs(float(widened(narrowed(x, "bfloat16"), "bfloat16")) / large - 1) < 2**-7


@each_precision
@pytest.mark.parametrize("sent", [np.float32, np.float64, np.float16])
def test_numbers_of_another_precision_are_refused(precision: str, sent: type) -> None:
    arrived: Array = np.ones((1, 3), sent)
    if sent is np.float16 and precision == "float16":
        assert widened(arrived, precision).tolist() == [[1, 1, 1]]
        return
    with pytest.raises(ProtocolError, match=f"wire-precision is {precision}"):
        widened(arrived, precision)


@pytest.mark.parametrize("sent", [np.float64, np.float16])
def test_numbers_without_rows_are_float32_beside_int8(sent: type) -> None:
    assert widened(np.ones(3, np.float32), "int8").tolist() == [1, 1, 1]
    with pytest.raises(ProtocolError, match="wire-precision is int8"):
        widened(np.ones(3, sent), "int8")


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([[1, 2, 122]], "no party can have written"),
        ([[1, 2, -127]], "no party can have written"),
        ([[1, 2, 0], [-128, 2, 0]], "no party can have written"),
        ([1, 2, 0], r"shape \(3,\)"),
        (3, r"shape \(\)"),
        ([[], []], r"shape \(2, 0\)"),
    ],
)
def test_rows_of_int8_that_nobody_writes_are_refused(rows: object, says: str) -> None:
    with pytest.raises(ProtocolError, match=says):
        widened(np.array(rows, np.int8), "int8")


def test_a_row_is_as_fine_as_its_own_largest_number() -> None:
    x = np.array([[1000, 1, 0.1], [1, 0.1, -0.001]], np.float32)
    assert as_sent(torch.from_numpy(x), "int8").tolist() == [
        [1000, 0, 0],
        [1, 0.09375, 0],
    ]
