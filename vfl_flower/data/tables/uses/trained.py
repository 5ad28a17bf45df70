"""Uses of columns as a fitted encoder has them."""

from collections.abc import Mapping

from vfl_flower.data.columns import BOOLEAN, DATE, NUMBER, TEXT
from vfl_flower.data.preprocessing.encoder import Encoder, type_of_reading
from vfl_flower.data.tables.column_profile import Profile
from vfl_flower.data.tables.uses.stated import check_numbers, detail_of
from vfl_flower.data.tables.uses.use import Use, use_of


def check_trained(trained: Encoder | None, profiles: Mapping[str, Profile], party: str) -> None:
    """Refuse columns other than those that the encoder was fitted on.

    Raises
    ------
    DataError
        Names the column.
    """
    if trained is None:
        return
    used = trained.uses
    types = {name: _type(each, used.get(name, "")) for name, each in profiles.items()}
    trained.check(types, party)


def _type(profile: Profile, use: str) -> str:
    """Return the type of a column as a fitted encoder reads it."""
    kind, texts = use.partition(":")[0], profile.texts
    blank = not profile.values and profile.usable
    if kind == "numeric" and blank:
        return type_of_reading(use)
    if kind == "numeric" and profile.usable and profile.text is None:
        return NUMBER
    if kind == "numeric" and texts.numbers.fits and not texts.mixed:
        return f"{NUMBER} in {texts.unit}" if texts.unit else NUMBER
    if kind == "date" and (texts.orders or blank):
        return DATE
    if kind == "boolean" and (texts.booleans.fits or blank):
        return BOOLEAN
    as_text = kind in ("categorical", "grouped", "hashed") and profile.declared is None
    return TEXT if as_text else profile.type


def chosen(profile: Profile, trained: Encoder | None) -> Use:
    """Return a column's use: inferred, stated, or of training.

    Raises
    ------
    DataError
        If it cannot be used so.
    """
    if trained is None:
        return use_of(profile)
    use, _, detail = profile.stated.partition(":")
    if use == "numeric":
        check_numbers(profile)
    if use == "date" and profile.values:
        detail = detail_of(profile)
    return Use(use, "as at training", detail)
