"""Random configurations: accepted, or refused in an error of this package.

Some options at a time have values that work or values that cannot; one that is accepted comes back
from its own mapping unchanged.
"""

import warnings
from collections import Counter

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from benchmarks.harness.benchmark import Arguments
from benchmarks.harness.report import Report
from tests.helpers.option_values import BAD, GOOD
from vfl_flower.common.errors import ConfigError
from vfl_flower.config.registry import METHODS
from vfl_flower.config.run_config import RunConfig

MOST = 6  # options of a configuration
OUTCOMES = ("accepted", "refused", "changed", "TRACEBACK")
Values = dict[str, object]

_BY_OPTION: dict[str, list[object]] = {}
for _key, _value in BAD:
    _BY_OPTION.setdefault(_key, []).append(_value)


def values_of(key: str) -> st.SearchStrategy[tuple[str, object]]:
    """Return values of an option, mostly those that work."""
    good = st.sampled_from(sorted(METHODS)) if key == "method" else GOOD[key]
    known = (
        good if key not in _BY_OPTION else st.one_of(good, good, st.sampled_from(_BY_OPTION[key]))
    )
    return known.map(lambda value: (key, value))


def outcome(values: Values) -> str:
    """Return how a configuration is taken."""
    try:
        cfg = RunConfig.from_mapping(values)
        same = RunConfig.from_mapping(cfg.to_mapping()) == cfg
    except ConfigError as error:
        return "refused" if str(error).isprintable() else "TRACEBACK"
    except Exception:
        return "TRACEBACK"
    return "accepted" if same else "changed"


def configurations(given_: Arguments, report: Report) -> None:
    """Try random configurations; report counts, and those that end otherwise."""
    counts, shown = Counter[str](), list[Values]()
    some = st.lists(
        st.sampled_from(sorted(GOOD)).flatmap(values_of), min_size=1, max_size=MOST
    ).map(dict)

    @seed(given_.seed)
    @settings(
        max_examples=given_.configurations,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(some)
    def tried(values: Values) -> None:
        found = outcome(values)
        counts[found] += 1
        shown.extend([values] if found in {"changed", "TRACEBACK"} else [])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tried()
    table = report.table(
        "random configurations", {"configurations": ",", **dict.fromkeys(OUTCOMES, ",")}
    )
    table.add(counts.total(), *(counts[name] for name in OUTCOMES))
    if shown:
        failed = report.table("configurations that end otherwise", {"options": ""})
        for values in shown:
            failed.add(str(values))
