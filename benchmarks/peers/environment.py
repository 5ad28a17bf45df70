"""Virtual environments of the peers."""

import sys
import venv
from importlib.metadata import version
from pathlib import Path

from benchmarks.peers.errors import PeerError
from benchmarks.peers.inside.authors.source import SOURCE
from benchmarks.peers.peer import Peer
from benchmarks.peers.processes import run

DONE, LOG, CLONE_LOG = "packages.txt", "pip.log", "git.log"
INSTALLATION = 1800.0
"""Seconds that an installation may take."""

NEVER_ASK = {"GIT_TERMINAL_PROMPT": "0"}
"""Git fails where it would ask for a password."""


def interpreter(peer: Peer, environments: Path | None) -> str:
    """Return the Python that has a peer; install the peer if missing.

    Parameters
    ----------
    peer : Peer
        The peer.
    environments : Path or None
        Folder of all environments; None: nothing is installed.

    Raises
    ------
    PeerError
        If it cannot be installed here.
    """
    if not peer.packages:
        return sys.executable
    if environments is None:
        raise PeerError("not installed; --environments names a folder to install it in")
    folder = environments.absolute() / peer.environment
    python, done = folder / "bin" / "python", folder / DONE
    wanted = [*packages(peer), *filter(None, [peer.repository, peer.commit])]
    if not done.exists() or done.read_text().split() != wanted:
        _install(folder, python, packages(peer))
        if peer.repository:
            _clone(peer, folder)
        done.write_text("\n".join(wanted))
    return str(python)


def packages(peer: Peer) -> list[str]:
    """Return the pinned packages of a peer, with this environment's PyTorch."""
    return [*peer.packages, f"torch=={version('torch').split('+')[0]}"]


def _install(folder: Path, python: Path, wanted: list[str]) -> None:
    try:
        venv.create(folder, with_pip=True, clear=True)
        command = [str(python), "-m", "pip", "install", "--no-input", *wanted]
        run(command, {}, folder / LOG, INSTALLATION)
    except (OSError, PeerError) as error:
        raise PeerError(f"cannot be installed here: {error}") from error


def _clone(peer: Peer, folder: Path) -> None:
    """Put the files of a peer's commit into its environment."""
    source = str(folder / SOURCE)
    commands = (
        ["git", "clone", "--quiet", "--no-checkout", peer.repository, source],
        ["git", "-C", source, "checkout", "--quiet", peer.commit],
    )
    try:
        for command in commands:
            run(command, NEVER_ASK, folder / CLONE_LOG, INSTALLATION)
    except (OSError, PeerError) as error:
        raise PeerError(
            f"{peer.repository} cannot be cloned at {peer.commit[:12]}: {error}"
        ) from error
