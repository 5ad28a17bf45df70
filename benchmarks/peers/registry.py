"""All peers by their names on the command line."""

from benchmarks.peers import fate, flower, nvflare
from benchmarks.peers.peer import Peer

PEERS: dict[str, Peer] = {
    "nvflare": nvflare.SIMULATOR,
    "nvflare-processes": nvflare.PROCESSES,
    "fate": fate.HETERO_NN,
    "flower": flower.EXAMPLE,
}
