"""Frames round-trip, and malformed ones are refused."""

import json
import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vfl_flower.common.errors import ProtocolError
from vfl_flower.transport.stream.frames import (
    HEAD,
    LARGEST,
    LONGEST_RECORD,
    MOST_TENSORS,
    Frame,
    FrameEncoder,
    Kind,
    decode_frame,
)

finite = st.floats(allow_nan=False, allow_infinity=False)
scalars = st.booleans() | st.integers(-(2**63), 2**63) | finite | st.text()
frames = st.builds(
    Frame,
    st.sampled_from(Kind),
    st.integers(0, 2**64 - 1),
    st.dictionaries(st.text(), scalars, max_size=5),
    st.lists(st.binary(max_size=50), max_size=5),
)


@given(frames)
def test_a_frame_comes_out_as_it_went_in(frame: Frame) -> None:
    assert decode_frame(frame.encode()) == frame


@pytest.mark.parametrize("value", [float("inf"), -float("inf"), float("nan")])
def test_a_number_that_is_not_finite_is_not_sent(value: float) -> None:
    """Nobody would read it."""
    with pytest.raises(ProtocolError, match="not finite"):
        Frame(Kind.ROLL_CALL, 0, {"share": value}, []).encode()


@given(st.lists(frames, max_size=5), st.lists(st.integers(0, 4), max_size=8))
def test_an_encoder_writes_what_each_frame_is(made: list[Frame], order: list[int]) -> None:
    encoder = FrameEncoder()
    for each in (made[place] for place in order if place < len(made)):
        assert encoder.encode(each) == each.encode()


def test_frames_of_the_same_objects_in_a_row_are_encoded_once() -> None:
    encoder, record, arrays = FrameEncoder(), {"a": 1}, [bytes(50)]
    first = encoder.encode(Frame(Kind.EXCHANGE, 3, record, arrays))
    assert encoder.encode(Frame(Kind.EXCHANGE, 3, record, arrays)) is first
    for other in (
        Frame(Kind.ROLL_CALL, 3, record, arrays),
        Frame(Kind.EXCHANGE, 4, record, arrays),
        Frame(Kind.EXCHANGE, 3, {"a": True}, arrays),  # equal to 1, and written otherwise
        Frame(Kind.EXCHANGE, 3, record, [bytes(50)]),  # another object
        Frame(Kind.EXCHANGE, 3, record, arrays * 2),
    ):
        assert encoder.encode(other) == other.encode()
        assert encoder.encode(other) is not first


@given(st.binary(max_size=200))
def test_anything_else_is_refused(content: bytes) -> None:
    with pytest.raises(ProtocolError, match="cannot be read"):
        decode_frame(content)


@given(frames, st.data())
def test_a_damaged_frame_is_refused_or_another_frame(frame: Frame, data: st.DataObject) -> None:
    content = bytearray(frame.encode())
    at = data.draw(st.integers(0, len(content) - 1))
    content[at] ^= data.draw(st.integers(1, 255))
    with suppress(ProtocolError):
        assert isinstance(decode_frame(bytes(content)), Frame)


@given(frames, st.data())
def test_a_frame_cut_short_is_refused(frame: Frame, data: st.DataObject) -> None:
    content = frame.encode()
    with pytest.raises(ProtocolError):
        decode_frame(content[: data.draw(st.integers(0, len(content) - 1))])


def test_a_frame_that_claims_more_than_it_holds_is_refused() -> None:
    """No memory is allocated for the claimed size."""
    record = b"{}"
    head = HEAD.pack(b"VFS", 1, Kind.REPLY, 1, len(record), 1)
    with pytest.raises(ProtocolError):
        decode_frame(head + record + struct.pack("!Q", 4 << 30) + b"x")
    with pytest.raises(ProtocolError):
        decode_frame(HEAD.pack(b"VFS", 1, Kind.REPLY, 1, len(record), 2**32 - 1) + record)


@pytest.mark.parametrize("record", [[], {"a": None}, {"a": [1]}, {"a": {}}, "text", 3])
def test_a_record_of_anything_but_scalars_is_refused(record: object) -> None:
    content = json.dumps(record).encode()
    with pytest.raises(ProtocolError):
        decode_frame(HEAD.pack(b"VFS", 1, Kind.REPLY, 1, len(content), 0) + content)


def test_a_record_or_a_list_without_end_is_refused_before_it_is_read() -> None:
    long = b"{" + b" " * LONGEST_RECORD + b"}"
    with pytest.raises(ProtocolError):
        decode_frame(HEAD.pack(b"VFS", 1, Kind.REPLY, 1, len(long), 0) + long)
    with pytest.raises(ProtocolError, match="session carries 4096"):
        Frame(Kind.REPLY, 1, {}, [b""] * (MOST_TENSORS + 1)).encode()


def test_too_much_is_refused_with_a_way_out() -> None:
    with pytest.raises(ProtocolError, match="256 MiB that a session carries; lower batch-size"):
        Frame(Kind.EXCHANGE, 1, {}, [bytes(LARGEST)]).encode()
