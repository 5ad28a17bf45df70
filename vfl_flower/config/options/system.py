"""Options of the machine and of the transport."""

from dataclasses import dataclass

from vfl_flower.config.catalog import DEVICES, FLOAT32, PRECISIONS, TRACKERS, WIRE_PRECISIONS
from vfl_flower.config.schema import option
from vfl_flower.config.transports import TRANSPORTS

LONGEST = 1e9  # seconds; Python cannot wait much longer


@dataclass(frozen=True, kw_only=True)
class SystemOptions:
    """Folders, device and threads."""

    out: str = option("", "run folder; empty: a new one under runs/", path="dir", circumstance=True)
    track: str = option(
        "",
        f"send options and metrics to {', '.join(TRACKERS)}: one, or a list",
        choices=TRACKERS,
        listed=True,
        circumstance=True,
    )
    tensorboard: bool = option(False, "the same as tensorboard in track", circumstance=True)
    profile: bool = option(False, "write where the time goes", circumstance=True)
    checkpoint_every: int = option(1, "epochs between checkpoints", least=1)
    device: str = option(
        "auto",
        "where networks compute",
        choices=DEVICES,
        circumstance=True,
    )
    precision: str = option("float32", "of layers; bf16: autocast", choices=PRECISIONS)
    threads: int = option(1, "torch threads of each party", least=1, most=1024)
    eval_threads: int = option(0, "the same of evaluations; 0: as threads", least=0, most=1024)
    party_timeout: float = option(
        180.0,
        "seconds to wait for all at the start",
        above=0,
        most=LONGEST,
        circumstance=True,
    )


@dataclass(frozen=True, kw_only=True)
class TransportOptions:
    """How parties exchange messages."""

    transport: str = option(
        "auto",
        f"{', '.join(TRANSPORTS)}; auto: local or stream",
        choices=("auto", *TRANSPORTS),
        alias="carrier",
        circumstance=True,
    )
    wire_precision: str = option(
        FLOAT32,
        f"of messages: {', '.join(WIRE_PRECISIONS)}",
        choices=WIRE_PRECISIONS,
    )
    run_name: str = option(
        "", "the run's name at all parties; empty: Flower's id", circumstance=True
    )
    stream_listen: str = option(
        "", "where to dial in, host:port; simulated: loopback", circumstance=True
    )
    stream_advertise: str = option(
        "", "address that parties are told to dial, host:port", circumstance=True
    )
    stream_grace: float = option(
        60.0, "seconds that a connection may be lost", above=0, most=LONGEST, circumstance=True
    )
    answer_timeout: float = option(
        600.0, "seconds that a party may take to answer", above=0, most=LONGEST, circumstance=True
    )
    return_timeout: float = option(
        300.0, "seconds to wait for a restarted party", above=0, most=LONGEST, circumstance=True
    )
    on_leave: str = option(
        "refuse",
        "who does not return: refuse to go on without, or continue",
        choices=("refuse", "continue"),
        circumstance=True,
    )
