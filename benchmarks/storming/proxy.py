"""A TCP proxy on loopback that slows, silences or cuts its connections."""

import socket
import threading
import time
from contextlib import suppress

PIECE = 1 << 14  # bytes; small, so that a slow link is slow all the time
BUFFER = 1 << 16  # bytes that the operating system may hold beside it
PAUSE = 0.05  # seconds between looks at a silenced link


class Proxy:
    """Forwards connections to a port of this machine.

    Parameters
    ----------
    target : int
        Port that connections are forwarded to.
    port : int
        Port to listen on.

    Attributes
    ----------
    delay : float
        Seconds that every piece is held back.
    rate : float
        Bytes a second of each connection and direction; 0 is any number.
    silent : bool
        Whether nothing is carried, on open connections and on new ones.
    closed : bool
        Whether new connections are refused.
    connections : int
        How many there were.
    carried : int
        Bytes in both directions.
    """

    def __init__(self, target: int, port: int = 0) -> None:
        self.target = target
        self.delay, self.rate, self.silent, self.closed = 0.0, 0.0, False, False
        self.connections, self.carried = 0, 0
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", port))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Cut every connection that is open."""
        taken, self._open = self._open, []
        for each in taken:
            _shut(each)

    def cut_for(self, seconds: float) -> None:
        """Cut every connection, and refuse new ones for some time."""
        self.closed = True
        self.cut()
        time.sleep(seconds)
        self.closed = False

    def silence_for(self, seconds: float) -> None:
        """Carry nothing for some time; connections stay open."""
        self.silent = True
        time.sleep(seconds)
        self.silent = False

    def close(self) -> None:
        """Stop."""
        _shut(self._listener)
        self.cut()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                self.connections += 1
                try:
                    if self.closed:
                        raise OSError("cut")
                    far = socket.create_connection(("127.0.0.1", self.target))
                except OSError:
                    near.close()
                    continue
                for each in (near, far):
                    for side in (socket.SO_SNDBUF, socket.SO_RCVBUF):
                        each.setsockopt(socket.SOL_SOCKET, side, BUFFER)
                self._open = [each for each in self._open if each.fileno() >= 0] + [near, far]
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=self._pump, args=pair, daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while piece := source.recv(PIECE):
                time.sleep(self.delay + (len(piece) / self.rate if self.rate else 0.0))
                while self.silent:
                    time.sleep(PAUSE)
                self.carried += len(piece)
                sink.sendall(piece)
        _shut(source)
        _shut(sink)


def _shut(each: socket.socket) -> None:
    with suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
    each.close()
