"""Flower ClientApp: a passive party on a node."""

import logging

from flwr.app import Context
from flwr.client import Client
from flwr.clientapp import ClientApp

from vfl_flower.common.names import party_log
from vfl_flower.config.node_config import simulated
from vfl_flower.workflows.flower_node import Node

log = logging.getLogger("flwr")


def client_fn(context: Context) -> Client:
    """Return the passive party of this node, for every message anew."""
    node = Node(context)
    if not simulated():  # where a party has a log of its own, and says there how far it is
        logging.getLogger("vfl_flower").parent = log
        party_log(node.rank).setLevel(logging.INFO)
    return node


client = ClientApp(client_fn=client_fn)
