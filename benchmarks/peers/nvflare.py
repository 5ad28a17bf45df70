"""NVFlare: split learning in its simulator and between processes."""

from benchmarks.peers.peer import DEPLOYED, DIGITS, IMAGES, SIMULATED, Peer

VERSION = "2.9.0"
PACKAGES = (f"nvflare=={VERSION}",)

SIMULATOR = Peer(
    title=f"NVFlare {VERSION}",
    environment="nvflare",
    packages=PACKAGES,
    module="nvflare_sites",
    way=SIMULATED,
    runs="simulator",
    work=IMAGES,
    tiny=DIGITS,
)
PROCESSES = Peer(
    title=f"NVFlare {VERSION}",
    environment="nvflare",
    packages=PACKAGES,
    module="nvflare_sites",
    way=DEPLOYED,
    runs="server and two sites (POC), HTTP with mutual TLS",
    work=IMAGES,
    tiny=DIGITS,
)
