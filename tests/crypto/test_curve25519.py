"""Ids as points: published vectors and two other implementations."""

import secrets

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.examples import examples
from tests.helpers.own_data.alignment import mapped
from vfl_flower.common.codec import Array
from vfl_flower.common.errors import ProtocolError
from vfl_flower.crypto.curve25519 import hash_to_field, map_and_multiply, multiply, tags

P, J = 2**255 - 19, 486662
FEWER = examples(50)
NUMBERS = st.lists(st.integers(0, P - 1), min_size=1, max_size=20)
SECRETS = st.binary(min_size=32, max_size=32)

# RFC 9380, appendix J.4.2: (message, u, x of Q = map_to_curve(u), x of 8 Q)
DOMAIN = b"QUUX-V01-CS02-with-curve25519_XMD:SHA-512_ELL2_NU_"
MAPPED = [
    (
        b"",
        0x608D892B641F0328523802A6603427C26E55E6F27E71A91A478148D45B5093CD,
        0x51125222DA5E763D97F3C10FCC92EA6860B9CCBBD2EB1285728F566721C1E65B,
        0x1BB913F0C9DAEFA0B3375378FFA534BDA5526C97391952A7789EB976EDFE4D08,
    ),
    (
        b"abc",
        0x46F5B22494BFEAA7F232CC8D054BE68561AF50230234D7D1D63D1D9ABECA8DA5,
        0x7D56D1E08CB0CCB92BAF069C18C49BB5A0DCD927EFF8DCF75CA921EF7F3E6EEB,
        0x7C22950B7D900FA866334262FCAEA47A441A578DF43B894B4625C9B450F9A026,
    ),
    (
        b"abcdef0123456789",
        0x235FE40C443766CE7E18111C33862D66C3B33267EFA50D50F9E8E5D252A40AAA,
        0x3FBE66B9C9883D79E8407150E7C2A1C8680BEE496C62FABE4619A72B3CABE90F,
        0x31AD08A8B0DEEB2A4D8B0206CA25F567AB4E042746F792F4B7973F3AE2096C52,
    ),
]
LOW_ORDER = [  # x coordinates of orders 1, 2, 4 and 8
    0,
    1,
    P - 1,
    0x00B8495F16056286FDB1329CEB8D09DA6AC49FF1FAE35616AEB8413B7C7AEBE0,
    0x57119FD0DD4E22D8868E1C58C45C44045BEF839C55B1D0B1248C50A3BC959C5F,
]


def points(*numbers: int) -> Array:
    data = b"".join(number.to_bytes(32, "little") for number in numbers)
    return np.frombuffer(data, np.uint8).reshape(-1, 32)


def integers(array: Array) -> list[int]:
    return [int.from_bytes(row.tobytes(), "little") for row in array]


def eight_times(x: int) -> int:
    """Double a point three times, by its x coordinate."""
    for _ in range(3):
        x = (x * x - 1) ** 2 * pow(4 * x * (x * x + J * x + 1), -1, P) % P
    return x


@pytest.mark.parametrize(("message", "u", "q", "cleared"), MAPPED)
def test_the_map_is_that_of_rfc_9380(message: bytes, u: int, q: int, cleared: int) -> None:
    hashed = hash_to_field([message], DOMAIN)
    assert integers(hashed) == [u]
    assert eight_times(q) == cleared
    assert integers(mapped(hashed)) == [cleared]


@FEWER
@given(NUMBERS)
def test_numbers_are_mapped_as_the_rfc_computes_it(numbers: list[int]) -> None:
    """Section 6.7.1, in plain arithmetic; never on the twist."""
    for number, x in zip(numbers, integers(mapped(points(*numbers))), strict=True):
        q = -J * pow(1 + 2 * number**2, -1, P) % P
        if pow(q**3 + J * q**2 + q, (P - 1) // 2, P) == P - 1:
            q = (-q - J) % P
        assert x == (0 if q in LOW_ORDER else eight_times(q))
        assert x == 0 or pow(x**3 + J * x**2 + x, (P - 1) // 2, P) == 1


@FEWER
@given(SECRETS, SECRETS, NUMBERS)
def test_blinding_commutes(a: bytes, b: bytes, numbers: list[int]) -> None:
    """No point is lost: as many points as numbers, all different."""
    distinct = points(*{min(n, P - n) for n in numbers} - {0})  # the map takes u and -u alike
    once, other = map_and_multiply(a, distinct), map_and_multiply(b, distinct)
    both = multiply(b, once, "party-1")
    assert (both == multiply(a, other, "party-1")).all()
    assert len(np.unique(tags(both))) == len(distinct)


@FEWER
@given(SECRETS, SECRETS)
def test_multiples_are_those_of_openssl(secret: bytes, other: bytes) -> None:
    public = X25519PrivateKey.from_private_bytes(other).public_key().public_bytes_raw()
    product = multiply(secret, np.frombuffer(public, np.uint8)[None], "party-1")
    expected = X25519PrivateKey.from_private_bytes(secret).exchange(
        X25519PublicKey.from_public_bytes(public)
    )
    assert product.tobytes() == expected


@pytest.mark.parametrize("x", LOW_ORDER)
def test_points_of_low_order_are_refused(x: int) -> None:
    among = points(MAPPED[0][3], x)
    with pytest.raises(ProtocolError, match="party-3 sent a point of low order"):
        multiply(secrets.token_bytes(32), among, "party-3")


@pytest.mark.parametrize("count", [0, 1, 1023, 1025])
def test_any_number_of_points_keeps_its_order(count: int) -> None:
    """However they are shared out to the cores."""
    secret, hashed = secrets.token_bytes(32), hash_to_field(map(b"%d".__mod__, range(count)), b"t")
    blinded = map_and_multiply(secret, hashed)
    assert blinded.shape == (count, 32)
    assert (multiply(secret, mapped(hashed), "party-1") == blinded).all()
    for i in {0, count - 1} & {*range(count)}:
        assert (map_and_multiply(secret, hashed[i : i + 1]) == blinded[i]).all()


def test_domains_and_messages_give_unrelated_numbers() -> None:
    """Two messages that are one when joined with the domain are two."""
    hashes = [hash_to_field([m], d) for m, d in ((b"a", b"bc"), (b"ab", b"c"), (b"a", b"bd"))]
    assert len({number for each in hashes for number in integers(each)}) == 3
