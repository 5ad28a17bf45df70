"""Access to a service: token, TLS, sizes and types of requests."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives import serialization

from tests.helpers.connections.services import (
    Caller,
    calling,
    pem_files,
    service_of,
    token_in,
    trusting,
)
from tests.helpers.outcomes.predictions import Finished
from vfl_flower.common.errors import ConfigError
from vfl_flower.crypto.tls_certificate import NAME
from vfl_flower.serving.http.gate import LONGEST_BODY
from vfl_flower.serving.http.secrets import Certificate, Token
from vfl_flower.serving.options import ServiceOptions

SHAPE = 'the body must be JSON such as {"ids": [1, 2]}'


@pytest.fixture
def caller(finished: Finished, tmp_path: Path) -> Iterator[Caller]:
    with calling(service_of(finished("splitnn"), tmp_path, most_ids=50)) as made:
        yield made


@pytest.mark.parametrize(
    "sent", ["", "Bearer", "Bearer no", "Basic {token}", "{token}", "Bearer {token}x"]
)
def test_nothing_is_told_without_the_token(sent: str, caller: Caller) -> None:
    token = caller.http.headers["Authorization"].split()[1]
    headers = {"Authorization": sent.format(token=token)}
    for verb, path in (("POST", "/predict"), ("GET", "/metrics"), ("GET", "/other")):
        response = caller.http.request(verb, path, json={"ids": [1]}, headers=headers)
        assert response.status_code == 401
        assert response.headers["WWW-Authenticate"] == "Bearer"


def test_two_headers_are_none(caller: Caller) -> None:
    sent = caller.http.headers["Authorization"]
    twice = [("Authorization", sent), ("Authorization", sent)]
    response = httpx.post(f"{caller.url}/predict", json={"ids": [1]}, headers=twice)
    assert response.status_code == 401


def test_pages_without_data_need_no_token(caller: Caller) -> None:
    found = {path: httpx.get(f"{caller.url}/{path}") for path in ("health", "ready", "")}
    assert {each.status_code for each in found.values()} == {200}
    assert "POST /predict" in found[""].text
    assert "<script" not in found[""].text
    described = httpx.get(f"{caller.url}/openapi.json").json()
    assert set(described["paths"]) == {"/predict", "/health", "/ready", "/metrics"}


@pytest.mark.parametrize(
    "ids", [None, [], 5, "a", [True], [1.5], [None], [{"a": 1}], [[1]], [["a", None]]]
)
def test_ids_of_another_type_are_refused(ids: Any, caller: Caller) -> None:
    status, line = caller.refusal(ids)
    assert status == 422
    assert line.startswith(SHAPE)


@pytest.mark.parametrize("id_", ["secret-17", ["a", "b"]])
def test_ids_of_another_kind_than_the_tables_are_refused(id_: Any, caller: Caller) -> None:
    told = (422, "ids must be whole numbers, as rows are numbered")
    assert caller.refusal([1, id_]) == told


def test_a_body_that_is_no_request_is_refused(caller: Caller) -> None:
    json = {"Content-Type": "application/json"}
    for content in (
        *(b"", b"{", b"[1]", b'{"ids": [1], "else": 2}', b'{"ids": ["\xff"]}'),
        *(b'{"ids": ["\\ud800"]}', b"[" * 100_000, b'{"ids": [%s]}' % (b"1" * 5000)),
    ):
        response = caller.http.post("/predict", content=content, headers=json)
        assert response.status_code == 422
        assert response.json()["detail"].startswith(SHAPE)
    assert caller.http.post("/predict", content=b'{"ids": [1]}').status_code == 422
    assert caller.http.post("/predict", content=b'{"ids": [1]}', headers=json).status_code == 200


def test_too_many_ids_are_refused(caller: Caller) -> None:
    assert caller.ask(range(50)).status_code == 200
    assert caller.refusal([*range(51)]) == (413, "a request has at most 50 ids; send several")
    response = caller.http.post("/predict", content=b" " * (LONGEST_BODY + 1))
    assert response.status_code == 413
    assert "bytes" in response.json()["detail"]


def test_another_model_is_refused(caller: Caller) -> None:
    number = caller.wait()
    assert caller.ask([1], model=number).json()["model"] == number
    told = f"model {number} predicts, and another one is asked for"
    assert caller.refusal([1], model="0123456789abcdef") == (409, told)


def test_tls_is_spoken_with_the_named_certificate(finished: Finished, tmp_path: Path) -> None:
    files = pem_files(tmp_path)
    context = trusting(files["certificate"])
    with calling(service_of(finished("splitnn"), tmp_path, **files), verify=context) as caller:
        assert caller.url.startswith("https://")
        assert len(caller.predictions([1, 2])) == 2
        with pytest.raises(httpx.TransportError):
            httpx.get(caller.url)


def test_an_expired_certificate_is_told_of(finished: Finished, tmp_path: Path) -> None:
    """At the start an error; later the service is not ready."""
    files = pem_files(tmp_path)
    later = datetime.now(UTC) + timedelta(days=400)
    paths = Path(files["certificate"]), Path(files["key"])
    with pytest.raises(ConfigError, match=r"the certificate expired at 20.* UTC; renew it"):
        Certificate(*paths, now=lambda: later)
    with pytest.raises(ConfigError, match="is not valid yet; compare the clocks"):
        Certificate(*paths, now=lambda: later - timedelta(days=500))
    service = service_of(finished("splitnn"), tmp_path, **files)
    with calling(service, verify=trusting(files["certificate"])) as caller:
        certificate = service._access.certificate
        assert certificate
        certificate._now = lambda: later
        response = caller.http.get("/ready")
        assert response.status_code == 503
        assert response.json()["detail"].startswith("the certificate expired at ")
        assert NAME not in response.text


def test_a_key_with_a_passphrase_is_refused(finished: Finished, tmp_path: Path) -> None:
    """It would be asked for on the terminal."""
    files = pem_files(tmp_path)
    path = Path(files["key"])
    key = serialization.load_pem_private_key(path.read_bytes(), None)
    pem, pkcs8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    path.write_bytes(key.private_bytes(pem, pkcs8, serialization.BestAvailableEncryption(b"word")))
    with pytest.raises(ConfigError, match="or the key has a passphrase"):
        service_of(finished("splitnn"), tmp_path, **files)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"token": ""}, "token is empty"),
        ({"listen": "0.0.0.0:8443"}, "would travel in the clear"),
        ({"listen": "8443"}, "listen must be host:port"),
        ({"listen": "127.0.0.1:65536"}, "listen must be host:port"),
        ({"key": "key.pem"}, "certificate and key belong together"),
        ({"most_ids": 0}, "most-ids must be at least 1"),
        ({"window": -1.0}, "window must be at least 0"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        ServiceOptions(**({"token": "token"} | options))


def test_a_token_file_is_its_owners_alone(tmp_path: Path) -> None:
    path = token_in(tmp_path)
    assert Token(path).opens(b"Bearer " + path.read_bytes())
    path.chmod(0o640)
    with pytest.raises(ConfigError, match="may be read or written by others; chmod 600 it"):
        Token(path)
    path.chmod(0o600)
    path.write_text("short")
    with pytest.raises(ConfigError, match="at least 32 ASCII characters"):
        Token(path)
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        Token(tmp_path / "none")
