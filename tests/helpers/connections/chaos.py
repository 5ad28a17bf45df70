"""A TCP proxy that disturbs its connections."""

import socket
import threading
import time
from contextlib import suppress

from deploy.ports import free_port


class Proxy:
    """Forwards loopback connections to another port, until told to do worse.

    Attributes
    ----------
    delay : float
        Seconds that every piece is held back.
    budget : int
        Bytes that the next connections may carry before they are cut; negative: any number.
    double : bool
        Whether a connection's piece is sent twice once the budget is used up, before the cut.
    connections : int
        How many there were.
    """

    def __init__(self, target: int) -> None:
        self.target, self.port = target, free_port()
        self.delay, self.budget, self.double, self.connections = 0.0, -1, False, 0
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Cut every connection that is open."""
        taken, self._open = self._open, []
        for each in taken:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def close(self) -> None:
        """Stop."""
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                self.connections += 1
                try:
                    far = socket.create_connection(("127.0.0.1", self.target))
                except OSError:
                    near.close()
                    continue
                self._open += [near, far]
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=self._pump, args=pair, daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        carried = 0
        with suppress(OSError):
            while piece := source.recv(1 << 16):
                time.sleep(self.delay)
                carried += len(piece)
                if 0 <= self.budget < carried:
                    sink.sendall(piece * 2 if self.double else piece[: len(piece) // 2])
                    break
                sink.sendall(piece)
        for each in (source, sink):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
