"""Vertical learning as Flower's example does it.

After ``examples/vertical-fl`` of Flower's repository, on Flower's simulation: each round asks all
clients for embeddings of all rows, and sends gradients back as messages. A client keeps network and
optimizer in its node's state, since every message may meet another process.
"""

import io
import os
import time
from functools import cache
from pathlib import Path

import numpy as np
import torch
from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.simulation import run_simulation
from torch import Tensor, nn

from benchmarks.peers.inside.work import FOLDER, Clock, Figures, Rows, Work

client, server = ClientApp(), ServerApp()
NETWORK, OPTIMIZER = "network", "optimizer"


@cache
def work() -> Work:
    """Read the work, once a process."""
    return Work(Path(os.environ[FOLDER]))


def rank_of(context: Context) -> int:
    """Return a client's rank."""
    return int(context.node_config["partition-id"]) + 1


def network_of(context: Context) -> nn.Module:
    """Return a client's network as it is by now."""
    network = work().network(f"bottom-{rank_of(context)}")
    if NETWORK in context.state:
        network.load_state_dict(context.state.array_records[NETWORK].to_torch_state_dict())
    return network


def columns_of(message: Message, context: Context) -> Tensor:
    """Return the rows that a message names."""
    rows = message.content.array_records["rows"]["rows"].numpy()
    return work().columns(rank_of(context))(rows)


@client.query("embed")
def embed(message: Message, context: Context) -> Message:
    """Answer with embeddings."""
    with torch.no_grad():
        E = network_of(context)(columns_of(message, context))
    content = {"E": ArrayRecord({"E": Array(E.numpy())})}
    rank = {"rank": ConfigRecord({"rank": rank_of(context)})}
    return Message(RecordDict({**content, **rank}), reply_to=message)


@client.train("learn")
def learn(message: Message, context: Context) -> Message:
    """Step the network by the gradient of its embeddings."""
    network = network_of(context)
    optimizer = work().optimizer(network)
    if OPTIMIZER in context.state:
        kept = context.state.config_records[OPTIMIZER]["state"]
        assert isinstance(kept, bytes)  # noqa: S101
        optimizer.load_state_dict(torch.load(io.BytesIO(kept)))
    E = network(columns_of(message, context))
    E.backward(torch.from_numpy(message.content.array_records["g"]["g"].numpy().copy()))
    optimizer.step()
    context.state[NETWORK] = ArrayRecord(network.state_dict())
    torch.save(optimizer.state_dict(), kept_now := io.BytesIO())
    context.state[OPTIMIZER] = ConfigRecord({"state": kept_now.getvalue()})
    return Message(RecordDict(), reply_to=message)


def ask(grid: Grid, nodes: dict[int, int], rows: Rows) -> list[Tensor]:
    """Return all clients' embeddings in order of rank; fill in their nodes."""
    record = ArrayRecord({"rows": Array(rows)})
    asked = [
        Message(RecordDict({"rows": record}), dst_node_id=node, message_type="query.embed")
        for node in grid.get_node_ids()
    ]
    found = dict[int, Tensor]()
    for reply in grid.send_and_receive(asked):
        rank = int(reply.content.config_records["rank"]["rank"])  # type: ignore[arg-type]
        nodes[rank] = reply.metadata.src_node_id
        found[rank] = torch.from_numpy(reply.content.array_records["E"]["E"].numpy().copy())
    return [found[rank] for rank in sorted(found)]


def tell(grid: Grid, nodes: dict[int, int], rows: Rows, leaves: list[Tensor]) -> None:
    """Send the gradients; wait until all have learnt."""
    record, told = ArrayRecord({"rows": Array(rows)}), []
    for rank, leaf in enumerate(leaves, 1):
        assert leaf.grad is not None  # noqa: S101
        content = RecordDict({"rows": record, "g": ArrayRecord({"g": Array(leaf.grad.numpy())})})
        told += [Message(content, dst_node_id=nodes[rank], message_type="train.learn")]
    list(grid.send_and_receive(told))


@server.main()
def train(grid: Grid, context: Context) -> None:
    """Train, judge, and write the outcome."""
    here = work()
    while len(list(grid.get_node_ids())) < here.passive:
        time.sleep(0.1)
    top, y = here.network("top"), here.labels()
    optimizer, clock, nodes = here.optimizer(top), Clock(here.warm_up), dict[int, int]()
    sent = 0
    for rows in here.batches():
        leaves = [E.requires_grad_() for E in ask(grid, nodes, rows)]
        optimizer.zero_grad()
        nn.functional.cross_entropy(top(torch.cat(leaves, 1)), y[rows]).backward()
        tell(grid, nodes, rows, leaves)
        optimizer.step()
        sent += sum(2 * leaf.nbytes for leaf in leaves) + 2 * len(nodes) * rows.nbytes
        clock.step()
    with torch.no_grad():
        said = top(torch.cat(ask(grid, nodes, here.test), 1)).argmax(1).numpy()
    accuracy = float(np.mean(said == y[here.test].numpy()))
    told: Figures = {"bytes": sent / len(here.batches()), "score": accuracy}
    here.write(clock.outcome() | told)


def main(folder: Path, way: str) -> None:
    """Run the simulation."""
    run_simulation(
        server,
        client,
        Work(folder).passive,
        backend_config={"client_resources": {"num_cpus": 1, "num_gpus": 0.0}},
    )
