"""Numbers in 16 bits: rounding, errors and refusals."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.joint.rounding import BITS, cut
from vfl_flower.common.codec import Array, decode, encode
from vfl_flower.common.errors import ProtocolError
from vfl_flower.learning.wire_precision import ERRORS, STEPS, as_sent, narrowed, widened

each_precision = pytest.mark.parametrize("precision", sorted(BITS))


def numbers(precision: str) -> st.SearchStrategy[float]:
    most = 65504.0 if precision == "float16" else 3e38
    edge = float(np.float32(most))
    return st.floats(-edge, edge, width=32)


@each_precision
@given(st.data())
def test_numbers_lose_their_last_bits(precision: str, data: st.DataObject) -> None:
    given_numbers = data.draw(st.lists(numbers(precision), max_size=20))
    x = np.array(given_numbers, np.float32)
    travelled = narrowed(x, precision)
    assert travelled.nbytes == x.nbytes / 2
    back = widened(decode(encode(travelled)), precision)
    assert back.dtype == np.float32
    assert back.tolist() == cut(x, precision).tolist()
    error = np.abs(back.astype(np.float64) - x)
    assert (error <= ERRORS[precision] * np.abs(x) + STEPS[precision]).all()
    assert (np.abs(back) <= np.abs(x)).all()
    assert widened(narrowed(back, precision), precision).tobytes() == back.tobytes()


@each_precision
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3, 4)])
def test_shapes_are_kept(precision: str, shape: tuple[int, ...]) -> None:
    x = torch.full(shape, 1.5)
    assert torch.equal(as_sent(x, precision), x)
    assert narrowed(x.numpy(), precision).shape == shape


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
def test_what_is_not_finite_is_refused(precision: str, bad: float) -> None:
    with pytest.raises(ProtocolError, match=rf"not finite.* as {precision}"):
        narrowed(np.array([0, bad], np.float32), precision)


@pytest.mark.parametrize("large", [65520.0, -7e4, 1e38])
def test_what_float16_cannot_hold_is_refused_with_the_way_out(large: float) -> None:
    x = np.array(large, np.float32)
    with pytest.raises(ProtocolError, match=r"beyond 65504.*wire-precision = bfloat16"):
        narrowed(x, "float16")
    assert abs(float(widened(narrowed(x, "bfloat16"), "bfloat16")) / large - 1) < 2**-7


@each_precision
@pytest.mark.parametrize("sent", [np.float32, np.float64, np.float16])
def test_numbers_of_another_precision_are_refused(precision: str, sent: type) -> None:
    arrived: Array = np.ones(3, sent)
    if sent is np.float16 and precision == "float16":
        assert widened(arrived, precision).tolist() == [1, 1, 1]
        return
    with pytest.raises(ProtocolError, match=f"wire-precision is {precision}"):
        widened(arrived, precision)
