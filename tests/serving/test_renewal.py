"""Renewal of a service while it runs: model, token, certificate."""

import secrets
import shutil
import ssl
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import httpx
import pytest

from tests.helpers.connections.services import (
    PATIENCE,
    Caller,
    calling,
    pem_files,
    service_of,
    trusting,
)
from tests.helpers.outcomes.attempts import Attempt
from tests.helpers.outcomes.predictions import Finished, tiny
from vfl_flower.common.layout import WEIGHTS, model_of


@pytest.fixture
def link(finished: Finished, tmp_path: Path) -> Path:
    """Return a link to a run."""
    path = tmp_path / "current"
    path.symlink_to(finished("easter"))
    return path


def point(link: Path, run: Path) -> None:
    """Let a link name another run, in one step."""
    new = link.with_name("next")
    new.symlink_to(run)
    new.replace(link)


def asked_meanwhile(caller: Caller, done: Event) -> set[str]:
    """Ask again and again; return the models that answered."""
    models = set()
    while not done.is_set():
        response = caller.ask([1, 2, 3])
        assert response.status_code == 200, response.text
        models.add(response.json()["model"])
    return models


def test_a_new_model_is_taken_up_without_a_dropped_request(link: Path, tmp_path: Path) -> None:
    second = tmp_path / "second"
    Attempt(tiny("easter"), second).run()
    service = service_of(link, tmp_path)
    with calling(service) as caller, ThreadPoolExecutor(4) as pool:
        first, done = caller.wait(), Event()
        asking = [pool.submit(asked_meanwhile, caller, done) for _ in range(4)]
        try:
            point(link, second)
            service.look()
            until = time.monotonic() + PATIENCE
            while caller.ask([0]).json()["model"] == first:
                assert time.monotonic() < until
        finally:
            done.set()
        answered = set().union(*(each.result() for each in asking))
        assert answered == {first, caller.wait()}


def test_a_model_that_cannot_be_used_is_not_taken_up(
    link: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    second = tmp_path / "second"
    Attempt(tiny("easter"), second).run()
    (model_of(second / "party-2") / WEIGHTS).write_bytes(b"damaged")
    service = service_of(link, tmp_path)
    with calling(service) as caller:
        first = caller.wait()
        point(link, second)
        service.look()
        assert "the model cannot be taken up, and the former stays: " in caplog.text
        assert caller.ask([1]).json()["model"] == first
        service.look()
        assert caplog.text.count("cannot be taken up") == 1


def test_a_new_token_is_taken_up(finished: Finished, tmp_path: Path) -> None:
    service = service_of(finished("splitnn"), tmp_path)
    with calling(service) as caller:
        path, token = Path(service.options.token), secrets.token_hex(32)
        path.write_text("short")
        service.look()
        assert caller.ask([1]).status_code == 200
        path.write_text(token)
        service.look()
        assert caller.ask([1]).status_code == 401
        caller.http.headers["Authorization"] = f"Bearer {token}"
        assert caller.ask([1]).status_code == 200


def test_a_run_that_is_away_is_told_of_once(
    link: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is taken up again when it is back."""
    service = service_of(link, tmp_path)
    with calling(service) as caller:
        run = link.readlink()
        link.unlink()
        for _ in range(3):
            service.look()
        assert caplog.text.count("the model cannot be taken up, and the former stays: ") == 1
        assert caller.ask([1]).status_code == 200
        link.symlink_to(run)
        service.look()
        assert caller.wait()
        assert caplog.text.count("cannot be taken up") == 1


def test_a_new_certificate_is_taken_up(finished: Finished, tmp_path: Path) -> None:
    """Until its key is there, the former serves new connections."""
    files = pem_files(tmp_path)
    (tmp_path / "new").mkdir()
    new = pem_files(tmp_path / "new")
    service = service_of(finished("splitnn"), tmp_path, **files)
    old, renewed = trusting(files["certificate"]), trusting(new["certificate"])
    with calling(service, verify=old) as caller:
        shutil.copy(new["certificate"], files["certificate"])
        service.look()
        assert health(caller.url, old) == 200
        shutil.copy(new["key"], files["key"])
        service.look()
        assert health(caller.url, renewed) == 200
        with pytest.raises(httpx.ConnectError):
            health(caller.url, old)


def test_a_token_is_renewed_while_the_certificate_cannot_be(
    finished: Finished, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever has seen a token is kept out, whatever else is wrong."""
    files = pem_files(tmp_path)
    service = service_of(finished("splitnn"), tmp_path, **files)
    with calling(service, verify=trusting(files["certificate"])) as caller:
        Path(files["certificate"]).write_text("damaged")
        Path(service.options.token).write_text(secrets.token_hex(32))
        service.look()
        assert "the certificate cannot be taken up, and the former stays: " in caplog.text
        assert caller.ask([1]).status_code == 401


def health(url: str, context: ssl.SSLContext) -> int:
    """Ask over a new connection."""
    return httpx.get(f"{url}/health", verify=context, timeout=PATIENCE).status_code
