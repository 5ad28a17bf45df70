"""``python -m tests.helpers.connections.visitor``: a passive party in its own process."""

import json
import sys

from vfl_flower.config.run_config import RunConfig
from vfl_flower.transport.endpoint import Endpoint
from vfl_flower.transport.stream.client import StreamClient
from vfl_flower.transport.stream.invitation import Invitation
from vfl_flower.workflows.build_parties import build_passive


def main() -> None:
    """Keep one session."""
    told = json.load(sys.stdin)
    for key in ("certificate", "token"):
        told["invitation"][key] = bytes.fromhex(told["invitation"][key])
    party = build_passive(RunConfig.from_mapping(told["options"]), told["rank"])
    StreamClient(Invitation(**told["invitation"]), Endpoint(party)).serve()


if __name__ == "__main__":
    main()
