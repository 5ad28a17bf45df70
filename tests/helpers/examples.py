"""Number of a property test's examples, scaled by Hypothesis' profile."""

from typing import Any

from hypothesis import settings

USUAL = 100  # examples that the usual profile takes


def examples(count: int, **options: Any) -> settings:
    """Take so many examples where others take 100."""
    most = settings().max_examples
    return settings(max_examples=max(1, count * most // USUAL), **options)
