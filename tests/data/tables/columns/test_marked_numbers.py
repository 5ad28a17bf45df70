"""Numbers with units, separators, or a few words in between."""

import re
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.own_data.own_tables import FEWER, Read, fitted, lines, uses
from vfl_flower.common.errors import DataError
from vfl_flower.data.tables.reading.marked_numbers import marked_numbers

SEPARATORS = {".": [",", " ", "\u00a0", "\u202f", "'", "’", ""], ",": [".", " ", "'", ""]}


@FEWER
@given(
    amounts=st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=5),
    decimal=st.sampled_from(".,"),
    data=st.data(),
)
def test_what_is_written_is_read(amounts: list[int], decimal: str, data: st.DataObject) -> None:
    group = data.draw(st.sampled_from(SEPARATORS[decimal]))
    unit = data.draw(st.sampled_from(["€ {}", "{} EUR", "${}", "{}%", "{}", "CHF {}", "{} kr"]))
    sign = data.draw(st.sampled_from(["-{}", "\u2212{}", "({})", "{}-"]))

    def written(cents: int) -> str:
        size = f"{abs(cents) / 100:,.2f}".translate({ord(","): group, ord("."): decimal})
        return sign.format(unit.format(size)) if cents < 0 else unit.format(size)

    text = pa.array([written(each) for each in amounts])
    np.testing.assert_array_equal(marked_numbers(text, decimal), np.array(amounts) / 100)


@pytest.mark.parametrize(
    "text",
    ["€", "1,23", "12,3456", "0,123", "1,,234", "--5", "(5", "5)", "007", "€ 007", "€$", "1 2",
     "inf", "1e400", "5 apples", "1.234.567", "Fr", "+-1"],
)  # fmt: skip
def test_other_text_is_no_number(text: str) -> None:
    assert np.isnan(marked_numbers(pa.array([text]), ".")).all()


def test_amounts_and_shares_are_numeric(table: Read) -> None:
    read = table(lines("id;a;b;c", lambda n: f"{n};€ {n + 1},234.50;{n / 4} %;{n + 1}'000'000"))
    assert uses(read) == {"a": "numeric", "b": "numeric", "c": "numeric"}
    assert read.features[1].tolist() == [2234.5, 0.25, 2_000_000]
    assert [each.why for each in read.looked] == [
        "numbers in € and with separators of thousands",
        "numbers in %",
        "numbers with separators of thousands",
    ]
    encoder = fitted(read)
    new = table("id;a;b;c\n1;7;-3%;\n", encoder)
    np.testing.assert_array_equal(new.features, [[7, -3, np.nan]])
    assert np.isnan(table("id;a;b;c\n1;;;\n", encoder).features).all()
    for row, wrong in (("1;$ 7;3 %;1", "a was .* number in €.* number in \\$ now"),
                       ("1;7;0.03;1", "b was of type number in %")):  # fmt: skip
        with pytest.raises(DataError, match=wrong):
            table(f"id;a;b;c\n{row}\n", encoder)


def test_decimal_commas_with_units(table: Read) -> None:
    content = lines("id;a", lambda n: f"{n};{n + 1}.234,5{n} EUR")
    assert table(content, decimal=",").features[1, 0] == 2234.51
    with pytest.raises(DataError, match="no column that can be used") as error:
        table(content)
    assert error.value.detail == 'a: numbers if decimal = ","'


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (lambda n: f"€ {n + 1},234", "commas may be decimal marks"),
        (lambda n: f"{'€$'[n % 2]} {n}", r"several units \(\$, €\)"),
        (lambda n: f"{n}{' %' * (n % 2)}", "with and without a percent sign"),
    ],
)
def test_numbers_in_doubt_are_left_out_with_a_line(
    row: Callable[[int], str], told: str, table: Read
) -> None:
    read = table(lines("id;k;a", lambda n: f"{n};{n};{row(n)}"))
    assert uses(read) == {"k": "numeric", "a": "ignored"}
    assert re.search(told, read.looked[1].advice.text)


def test_a_few_words_among_numbers_are_named(table: Read) -> None:
    def row(n: int) -> str:
        return f"{n},{n if n % 40 else '?'},{n % 2 if n % 40 else '?'}"

    content = lines("id,a,few", row, 400)
    read = table(content)
    assert uses(read) == {"a": "ignored", "few": "categorical"}
    text = "97.5 % of this column are numbers; missing = [...] would make it numeric"
    assert [each.advice.text for each in read.looked] == [text, text]
    assert read.looked[0].advice.quoted == text.replace(
        "...", '"?", "NA", "N/A", "NaN", "nan", "null", "NULL"'
    )
    assert uses(table(content, missing=("?",))) == {"a": "numeric", "few": "numeric"}


def test_words_in_a_later_batch_are_named(table: Read) -> None:
    last = 199_999
    content = lines("id,k,a", lambda n: f"{n},1,{'none' if n == last else n}", last + 1)
    advice = table(content).looked[1].advice
    assert advice.quoted.startswith('99.9 % of this column are numbers; missing = ["none", "NA"')


def test_stated_numbers_name_the_first_row_that_is_none(table: Read) -> None:
    with pytest.raises(DataError, match="column a is no number in row 2; mend it") as error:
        table("id;a\n1;€ 5\n2;five\n3;$5\n", columns={"a": "numeric"})
    assert error.value.detail == "five"
    with pytest.raises(DataError, match="column a has several units"):
        table("id;a\n1;€ 5\n3;$5\n", columns={"a": "numeric"})
    assert table("id;a\n1;1,500\n2;2\n", columns={"a": "numeric"}).features[0, 0] == 1500


def test_codes_with_zeros_are_no_numbers(table: Read) -> None:
    read = table(lines("id,k,a", lambda n: f"{n},1,{n:05}", 300))
    assert uses(read) == {"k": "numeric", "a": "ignored"}
    assert "numbers" not in read.looked[1].advice.text
