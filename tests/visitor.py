"""``python -m tests.visitor``: a passive party in its own process, invited on standard input."""

import json
import sys

from vfl_flower.build import build_passive
from vfl_flower.config import RunConfig
from vfl_flower.stream.guest import Guest
from vfl_flower.stream.hub import Invitation


def main() -> None:
    """Keep one session."""
    told = json.load(sys.stdin)
    for key in ("certificate", "token"):
        told["invitation"][key] = bytes.fromhex(told["invitation"][key])
    party = build_passive(RunConfig.from_mapping(told["knobs"]), told["index"])
    Guest(Invitation(**told["invitation"]), party.to_client()).serve()


if __name__ == "__main__":
    main()
