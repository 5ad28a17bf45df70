"""FATE between processes, without its servers: Hetero-NN and Hetero-SecureBoost.

FATE 2.2.0 refuses what newer versions of pandas send.
"""

from dataclasses import replace

from benchmarks.peers.kind import TREES
from benchmarks.peers.peer import DEPLOYED, DIGITS, FEW_ROWS, IMAGES, SAPLINGS, Peer

VERSION = "2.2.0"

HETERO_NN = Peer(
    title=f"FATE {VERSION}",
    environment="fate",
    packages=(f"pyfate=={VERSION}", "pandas==2.1.4"),
    module="fate_trainers",
    way=DEPLOYED,
    runs="two processes, files in place of a network",
    work=IMAGES,
    tiny=DIGITS,
)

CIPHER = "FATE_CIPHER"
SECURE_BOOST = replace(
    HETERO_NN,
    title=f"FATE {VERSION}, Paillier of 1024 bits, its default",
    module="fate_trees",
    kind=TREES,
    work={**FEW_ROWS, "gradient-encryption": "paillier"},
    tiny=SAPLINGS,
    runs="three processes, files in place of a network",
    variables={CIPHER: "1024"},
)
SECURE_BOOST_2048 = replace(
    SECURE_BOOST,
    title=f"FATE {VERSION}, Paillier of 2048 bits",
    variables={CIPHER: "2048"},
)
SECURE_BOOST_MOCK = replace(
    SECURE_BOOST,
    title=f"FATE {VERSION}, a mock in place of encryption",
    work=FEW_ROWS,
    variables={CIPHER: "mock"},
)
