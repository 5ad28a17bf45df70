"""Scoring services on loopback, and callers of them."""

import secrets
import ssl
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from numpy.typing import NDArray

from vfl_flower.crypto.tls_certificate import make_certificate
from vfl_flower.serving.here import RunHere
from vfl_flower.serving.options import ServiceOptions
from vfl_flower.serving.service import Service

PATIENCE = 60.0  # seconds: a busy machine takes long to load parties


def token_in(folder: Path) -> Path:
    """Write a token file."""
    path = folder / "token"
    if not path.exists():
        path.touch(mode=0o600)
        path.write_text(secrets.token_hex(32) + "\n")
    return path


def pem_files(folder: Path) -> dict[str, str]:
    """Write a certificate and its key; return options."""
    paths = {name: folder / f"{name}.pem" for name in ("key", "certificate")}
    for path, content in zip(paths.values(), make_certificate(), strict=True):
        path.touch(mode=0o600)
        path.write_bytes(content)
    return {name: str(path) for name, path in paths.items()}


def trusting(certificate: str) -> ssl.SSLContext:
    """Return the context of a client that trusts one certificate."""
    context = ssl.create_default_context(cafile=certificate)
    context.check_hostname = False  # it names no address
    return context


class Caller:
    """Client of a service, with its token.

    Parameters
    ----------
    url : str
        The service's.
    token : Path
        File with the token.
    """

    def __init__(self, url: str, token: Path, **options: Any) -> None:
        headers = {"Authorization": f"Bearer {token.read_text().strip()}"}
        self.url = url
        self.http = httpx.Client(base_url=url, headers=headers, timeout=PATIENCE, **options)

    def ask(self, ids: Sequence[Any], **more: Any) -> httpx.Response:
        """Ask for predictions."""
        return self.http.post("/predict", json={"ids": list(ids), **more})

    def predictions(self, ids: Sequence[Any]) -> list[dict[str, Any]]:
        """Return predictions, which there must be."""
        response = self.ask(ids)
        assert response.status_code == 200, response.text
        found: list[dict[str, Any]] = response.json()["predictions"]
        return found

    def refusal(self, ids: Any, **more: Any) -> tuple[int, str]:
        """Return status and line of a request that is refused."""
        response = self.http.post("/predict", json={"ids": ids, **more})
        line = response.json()["detail"]
        assert "\n" not in line
        return response.status_code, line

    def figure(self, name: str) -> float:
        """Return a metric's value."""
        page = self.http.get("/metrics").text
        (found,) = [
            line.rsplit(" ", 1)[1] for line in page.splitlines() if line.startswith(f"{name} ")
        ]
        return float(found)

    def wait(self, patience: float = PATIENCE) -> str:
        """Wait until the service is ready; return the model's number."""
        deadline = time.monotonic() + patience
        while (response := self.http.get("/ready")).status_code != 200:
            assert time.monotonic() < deadline, response.text
            time.sleep(0.05)
        number: str = response.json()["model"]
        return number


@contextmanager
def calling(service: Service, **options: Any) -> Iterator[Caller]:
    """Run a service, and call it once it is ready."""
    with service.running():
        caller = Caller(service.http.url, Path(service.options.token), **options)
        with caller.http:
            caller.wait()
            yield caller


def service_of(
    run: Path, folder: Path, tables: str = "", without: str = "", **options: Any
) -> Service:
    """Build the service of a run here, at a free port."""
    given = {"listen": "127.0.0.1:0", "token": str(token_in(folder))}
    return Service(
        RunHere(run, tables, trust_code=False, without=without), ServiceOptions(**(given | options))
    )


def shares_of(predictions: Sequence[dict[str, Any]]) -> NDArray[np.float32]:
    """Return probabilities, (n, C), as float32."""
    rows = [[*each["probabilities"].values()] for each in predictions]
    return np.array(rows, np.float32)
