"""All peers by their names on the command line."""

from benchmarks.peers.peer import Peer
from benchmarks.peers.systems import fate, flower, nvflare, pravfed, vfl_admm

PEERS: dict[str, Peer] = {
    "nvflare": nvflare.SIMULATOR,
    "nvflare-processes": nvflare.PROCESSES,
    "nvflare-trees": nvflare.TREES_SIMULATOR,
    "nvflare-trees-processes": nvflare.TREES_PROCESSES,
    "fate": fate.HETERO_NN,
    "fate-trees": fate.SECURE_BOOST_MOCK,
    "fate-trees-1024": fate.SECURE_BOOST,
    "fate-trees-2048": fate.SECURE_BOOST_2048,
    "flower": flower.EXAMPLE,
    "vfl-admm": vfl_admm.VIMADMM,
    "vfl-admm-split": vfl_admm.SPLIT_LEARNING,
    "vfl-admm-fedbcd": vfl_admm.FEDBCD,
    "pravfed": pravfed.PRAVFED,
}
