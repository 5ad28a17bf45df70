"""FATE: Hetero-NN between processes, without its servers."""

from benchmarks.peers.peer import DEPLOYED, DIGITS, IMAGES, Peer

VERSION = "2.2.0"

HETERO_NN = Peer(
    title=f"FATE {VERSION}",
    environment="fate",
    packages=(f"pyfate=={VERSION}",),
    module="fate_trainers",
    way=DEPLOYED,
    runs="two processes, files in place of a network",
    work=IMAGES,
    tiny=DIGITS,
)
