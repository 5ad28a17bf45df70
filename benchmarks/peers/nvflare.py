"""NVFlare: split learning in its simulator and between processes."""

from dataclasses import replace

from benchmarks.peers.peer import DEPLOYED, DIGITS, IMAGES, SIMULATED, Peer

VERSION = "2.9.0"
SIMULATOR = Peer(
    title=f"NVFlare {VERSION}",
    environment="nvflare",
    packages=(f"nvflare=={VERSION}",),
    module="nvflare_sites",
    way=SIMULATED,
    runs="simulator",
    work=IMAGES,
    tiny=DIGITS,
)
PROCESSES = replace(
    SIMULATOR, way=DEPLOYED, runs="server and two sites (POC), HTTP with mutual TLS"
)
