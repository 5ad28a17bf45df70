"""The labels of an active party's table: classes, or numbers."""

import re
from collections.abc import Sequence

from vfl_flower.common.errors import DataError
from vfl_flower.config.catalog import REGRESSION
from vfl_flower.data.columns import NUMBER, Column
from vfl_flower.data.preprocessing.target import positive_of, task_of
from vfl_flower.data.tables.column_profile import Profile
from vfl_flower.data.tables.uses.stated import check_numbers

MOST_CLASSES = 20
"""Of labels that are whole numbers and of which nothing is said; more are a regression's."""

WHOLE = r"[+-]?\d+([.,]0*)?"


def label_of(profile: Profile, learnt: bool = False) -> Column:
    """Describe the labels: classes with sorted values, or numbers.

    Those of a task that was `learnt` already may be alike, or of some of its classes only.

    Unless the description says the task, text, booleans, whole numbers with up to `MOST_CLASSES`
    values, and any two values are classes; other numbers are a regression's.

    Raises
    ------
    DataError
        If they cannot be what the description says, or all are alike.
    """
    where = f"{profile.party}: the label {profile.name}"
    if not profile.usable:
        raise DataError(f"{where} is of type {profile.type}; write numbers or text")
    if not learnt and not profile.many and len(profile.values) < 2:
        raise DataError(f"{where} has {len(profile.values)} values; there is nothing to learn")
    stated = profile.description.task
    positive = profile.description.positive
    if stated == REGRESSION or (not stated and _is_regression(profile)):
        check_numbers(profile)
        if positive and not learnt:
            positive_of((), positive, profile.party)
        return Column(profile.name)
    if profile.many:
        raise DataError(f"{where} has {profile.distinct} classes; is it the label?")
    column = Column(profile.name, _in_order(profile), type=profile.type)
    if stated and not learnt and stated != task_of(column):
        raise DataError(f"{where} has {profile.distinct} values, and task is {stated}")
    if positive and not learnt:
        positive_of(column.values or (), positive, profile.party)
    return column


def labels_of(profiles: Sequence[Profile], learnt: bool = False) -> Column:
    """Describe several labels of a row, each of two values.

    Which of them is found, `found_last` of `vfl_flower.data.preprocessing` says.

    Raises
    ------
    DataError
        If a label has another number of values. Those that are `learnt` already may be alike.
    """
    parts = tuple(_two_values(profile, learnt) for profile in profiles)
    names = tuple(each.name for each in parts)
    return Column(", ".join(names), names, parts=parts)


def _two_values(profile: Profile, learnt: bool) -> Column:
    where = f"{profile.party}: the label {profile.name}"
    if not profile.usable:
        raise DataError(f"{where} is of type {profile.type}; write numbers or text")
    if profile.many or not (learnt or len(profile.values) == 2):
        found = profile.distinct if profile.many else len(profile.values)
        raise DataError(f"{where} has {found} values, and each of several labels has two")
    return Column(profile.name, _in_order(profile), type=profile.type)


def _is_regression(profile: Profile) -> bool:
    if profile.type != NUMBER or profile.text:
        return False
    if profile.many or len(profile.values) > MOST_CLASSES:
        return True
    whole = all(re.fullmatch(WHOLE, value) for value in profile.values)
    return not whole and len(profile.values) > 2


def _in_order(profile: Profile) -> tuple[str, ...]:
    if profile.type != NUMBER:
        return tuple(sorted(profile.values))
    return tuple(sorted(profile.values, key=lambda each: (float(each.replace(",", ".")), each)))
