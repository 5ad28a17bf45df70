"""Limits on the connections and file descriptors of the stream.

A connection is served by gRPC from its first byte on, long before anybody is asked for a token. So
the limits are gRPC's own: a number of connections at once, whoever they are from, and deadlines for
those that say nothing.
"""

import resource

from vfl_flower.common.errors import ConfigError

JOINING = 256
"""Connections that may be open beside those that the parties need."""

DEADLINE = 5.0
"""Seconds for the handshake, and again until a call; then an idle connection is closed."""

LIVES = 12
"""Deadlines after which a connection without a session is closed, whatever it calls."""

RESERVE = 256
"""File descriptors that no connection may take: of checkpoints, logs, data and Flower."""

_IDENTITY_ONLY = 1  # bit 0 of the algorithms is no compression at all


def streams_of(parties: int) -> int:
    """Return the number of calls served at once."""
    return 4 * parties + 16


def server_options(parties: int) -> tuple[tuple[str, int], ...]:
    """Return the gRPC options that limit strangers."""
    milliseconds = round(DEADLINE * 1000)
    return (
        ("grpc.max_allowed_incoming_connections", streams_of(parties) + JOINING),
        ("grpc.server_handshake_timeout_ms", milliseconds),
        ("grpc.max_connection_idle_ms", milliseconds),
        ("grpc.max_connection_age_ms", LIVES * milliseconds),  # a call that is served goes on
        ("grpc.max_concurrent_streams", streams_of(parties)),
    )


REFUSE_COMPRESSED = (("grpc.compression_enabled_algorithms_bitset", _IDENTITY_ONLY),)
"""gRPC's option that ends a call with compressed messages before any is expanded."""


def reserve_descriptors(parties: int) -> None:
    """Raise the soft limit of file descriptors to the number needed.

    Raises
    ------
    ConfigError
        If the hard limit is lower: connections could then take the descriptors of checkpoints.
    """
    needed = streams_of(parties) + JOINING + RESERVE
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise ConfigError(
            f"active: this process may open {hard} files at most, and the stream needs {needed}: "
            f"{needed - RESERVE} for connections, {RESERVE} for checkpoints and data; set "
            "LimitNOFILE in the unit, ulimits in compose, or ulimit -n"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
