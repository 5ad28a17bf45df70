"""Text of a policy file, with a comment for each key."""

import json
import math
from typing import Any

from vfl_flower.config.policy.record import DataPolicy, Key, Policy, keys_of


def text_of(policy: Policy) -> str:
    """Return a policy file's text, which `read_policy` reads.

    Keys without a value stand there as comments.
    """
    blocks = [
        _lines(keys_of(Policy), policy),
        *([f'[data."{each.name}"]', *_lines(keys_of(DataPolicy), each)] for each in policy.data),
    ]
    return "\n\n".join("\n".join(lines) for lines in blocks) + "\n"


def _lines(keys: dict[str, Key], record: Policy | DataPolicy) -> list[str]:
    """Return help text, key and value, two lines a key."""
    found = []
    for name, declared in keys.items():
        value = getattr(record, name.replace("-", "_"))
        line = f"# {name} =" if value in (None, "") else f"{name} = {_toml(value)}"
        found += [f"# {declared.text}", line]
    return found


def _toml(value: Any) -> str:  # noqa: ANN401
    """Format a value as toml: as JSON, but for inf."""
    if value == math.inf:
        return "inf"
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)
