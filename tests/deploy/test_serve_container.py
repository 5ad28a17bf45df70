"""Container of a scoring service, tried without Docker."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.connections.services import calling, pem_files, service_of, trusting
from tests.helpers.outcomes.attempts import Attempt
from tests.helpers.outcomes.predictions import tiny
from vfl_flower.cli.commands.serving.serve_command import serve
from vfl_flower.config.schema import declared_in
from vfl_flower.serving.options import ServiceOptions

yaml = pytest.importorskip("yaml")  # Flower needs it
DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
CONTAINER: dict[str, Any] = yaml.safe_load((DEPLOY / "serve.yaml").read_text())["services"]["serve"]
PORT = "8443"


def mounted(folder: Path) -> dict[str, Path]:
    """Return a folder of this machine for each that the container has."""
    names = [re.sub(r":ro$", "", each).rpartition(":")[2] for each in CONTAINER["volumes"]]
    return {name: folder / name.strip("/") for name in names}


def test_the_command_is_one_of_the_command_line(tmp_path: Path) -> None:
    """Its words, flags and paths; other machines are served over TLS only."""
    folders = mounted(tmp_path)
    program, name, *words = CONTAINER["command"]
    assert (program, name) == ("vfl-flower", serve.name)
    for at, folder in folders.items():
        folder.mkdir()
        words = [re.sub(rf"(^|=){at}/", rf"\g<1>{folder}/", word) for word in words]
    (folders["/runs"] / "current").mkdir()
    given = serve.make_context("serve", words).params
    own = {each.name for each in declared_in(ServiceOptions)}
    options = ServiceOptions(**{k: v for k, v in given.items() if k in own and v is not None})
    assert given["run"] == folders["/runs"] / "current"
    assert options.address == ("0.0.0.0", int(PORT))  # noqa: S104  within a container
    for path in (options.token, options.certificate, options.key):
        assert Path(path).parent == folders["/secrets"]
    with pytest.raises(Exception, match="would travel in the clear"):
        ServiceOptions(listen=options.listen, token=options.token)


def test_the_container_may_do_little() -> None:
    assert CONTAINER["read_only"]
    assert CONTAINER["cap_drop"] == ["ALL"]
    assert CONTAINER["security_opt"] == ["no-new-privileges:true"]
    (port,) = CONTAINER["ports"]
    assert port == f"${{BIND:-127.0.0.1}}:{PORT}:{PORT}"
    assert next(each for each in CONTAINER["volumes"] if "/secrets" in each).endswith(":ro")


def test_the_end_waits_for_requests_in_hand() -> None:
    seconds = int(CONTAINER["stop_grace_period"].removesuffix("s"))
    assert seconds > ServiceOptions(token="token").timeout + 5  # noqa: S106  a path


def test_the_image_has_what_the_service_needs() -> None:
    build = CONTAINER["build"]
    image = (DEPLOY / build["context"] / build["dockerfile"]).read_text()
    (extras,) = re.findall(r"pip install '\.\[([\w,]+)\]'", image)
    assert "serve" in extras.split(",")


def test_the_health_check_tells_whether_the_service_lives(tmp_path: Path) -> None:
    Attempt(tiny("splitnn"), tmp_path / "run").run()
    kind, program, *words = CONTAINER["healthcheck"]["test"]
    assert (kind, program) == ("CMD", "python")
    files = pem_files(tmp_path)
    service = service_of(tmp_path / "run", tmp_path, **files)
    with calling(service, verify=trusting(files["certificate"])) as caller:
        port = caller.url.rpartition(":")[2]
        command = [sys.executable, *(word.replace(PORT, port) for word in words)]
        assert subprocess.run(command, env=os.environ, check=False).returncode == 0  # noqa: S603
    assert subprocess.run(command, capture_output=True, check=False).returncode  # noqa: S603
