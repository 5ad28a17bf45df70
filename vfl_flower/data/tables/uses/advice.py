"""Lines that say how a column could be used better."""

import json
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from vfl_flower.data.columns import DATE, TEXT
from vfl_flower.data.tables.column_profile import Profile
from vfl_flower.data.tables.reading.booleans import as_booleans
from vfl_flower.data.tables.reading.candidate import Candidate
from vfl_flower.data.tables.reading.dates import DAY_FIRST, MONTH_FIRST
from vfl_flower.data.tables.reading.marked_numbers import marked_numbers
from vfl_flower.data.tables.reading.texts import MOST

_TOLD = 5
"""Words that are named."""


class Advice(NamedTuple):
    """How a column could be used, or used better.

    Attributes
    ----------
    text : str
        Without anything that a cell says; empty for nothing to say.
    words : str
        In toml, what stands among numbers or dates: for its own party's eyes only.
    """

    text: str = ""
    words: str = ""

    @property
    def quoted(self) -> str:
        """The text with the words in it."""
        return self.text.replace("[...]", self.words) if self.words else self.text


NOTHING = Advice()
"""No advice."""


def advice_of(profile: Profile, use: str) -> Advice:
    """Say how a column could be used, or used better.

    Parameters
    ----------
    profile : Profile
        Of all rows.
    use : str
        The inferred use.
    """
    if use == "ignored" and not profile.usable:
        return Advice(_of_type(profile.type) if profile.type != DATE else "")
    if profile.type != TEXT or not profile.values:
        return NOTHING
    return next(_advices(profile, use), NOTHING)


def _of_type(type_: str) -> str:
    if type_.startswith(("list", "large_list", "fixed_size_list", "struct", "map")):
        return "write one column for each part of it"
    return "write it as numbers or text"


def _advices(profile: Profile, use: str) -> Iterator[Advice]:
    """Yield advice, the best first."""
    if use in ("categorical", "grouped", "hashed", "ignored"):
        yield from _numbers(profile)
        yield from _dates(profile)
        yield from _booleans(profile)
    if use == "ignored":
        if len(profile.values) <= 2 or profile.many:
            yield Advice('if values come again, "hashed" would use it')
        else:
            yield Advice('if values come again, "categorical", "grouped" or "hashed" would use it')


def _numbers(profile: Profile) -> Iterator[Advice]:
    texts = profile.texts
    if texts.numbers.fits and texts.mixed:
        yield Advice(f"numbers, with {texts.mixed}: written alike they could be numeric")
    elif texts.numbers.fits and texts.doubt:
        yield Advice(
            'numbers whose commas may be decimal marks: set decimal = ",", or, if they separate '
            'thousands, say "numeric"'
        )
    elif texts.numbers.fits and (texts.marked or not profile.coded):
        yield Advice('all are numbers: "numeric" would use them as such')
    yield from _nearly(profile, [texts.numbers], "numbers", "numeric")
    other = "," if profile.description.decimal == "." else "."
    read = marked_numbers(pa.array(sorted(profile.values), pa.string()), other)
    if not np.isnan(read).any():
        yield Advice(f'numbers if decimal = "{other}"')


def _dates(profile: Profile) -> Iterator[Advice]:
    texts = profile.texts
    if len(texts.orders) == 2 and texts.either:
        yield Advice(
            "dates that do not tell whether the day or the month comes first: say "
            f'"date:{DAY_FIRST}" or "date:{MONTH_FIRST}"'
        )
    elif texts.orders:
        yield Advice('all are dates: "date" would make parts and an age of them')
    yield from _nearly(profile, texts.dates.values(), "dates", "a date")


def _booleans(profile: Profile) -> Iterator[Advice]:
    if not profile.many and 2 < len(profile.values) < 20:
        read = as_booleans(pa.array(sorted(profile.values), pa.string()))
        if not np.isnan(read).any():
            yield Advice(
                'true and false, in several spellings: "boolean" would make one column of them'
            )


def _nearly(
    profile: Profile, candidates: Iterable[Candidate], noun: str, use: str
) -> Iterator[Advice]:
    """Name the few words among numbers or dates."""
    best = max(candidates, key=lambda each: each.share)
    if MOST <= best.share < 1:
        told = [word for word, _ in best.words.most_common(_TOLD)]
        words = json.dumps([*told, *profile.description.missing], ensure_ascii=False)
        more = " and others" if len(best.words) > _TOLD else ""
        share = f"{min(100 * best.share, 99.9):.3g} % of this column are {noun}"
        yield Advice(f"{share}; missing = [...]{more} would make it {use}", words)
