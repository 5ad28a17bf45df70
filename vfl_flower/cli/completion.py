"""Shell completion of an option's values, from its declaration."""

from click.shell_completion import CompletionItem

from vfl_flower.config.schema import Declaration


def complete(declared: Declaration, incomplete: str) -> list[CompletionItem]:
    """Return the values that begin as typed; of a list, the last."""
    if declared.path:
        return [CompletionItem(incomplete, type=declared.path)]
    before, comma, last = incomplete.rpartition(",") if declared.listed else ("", "", incomplete)
    values = [value for value in declared.offered() if value.startswith(last)]
    return [CompletionItem(f"{before}{comma}{value}") for value in values]
