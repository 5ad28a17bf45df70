"""The command: a process that serves until a signal."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from select import select

import pytest

from tests.helpers.connections.services import PATIENCE, Caller, token_in
from tests.helpers.outcomes.commands import serve
from tests.helpers.outcomes.predictions import Finished


@pytest.mark.slow
def test_sigterm_ends_the_service(finished: Finished, tmp_path: Path) -> None:
    token = token_in(tmp_path)
    words = ["serve", str(finished("splitnn")), "--token", str(token), "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "vfl_flower", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"COLUMNS": "200"},
    )
    try:
        assert process.stdout
        assert select([process.stdout], [], [], PATIENCE)[0], "it does not begin to serve"
        line = process.stdout.readline()
        assert line.startswith("serving on http://127.0.0.1:"), process.communicate(timeout=60)
        caller = Caller(line.split()[-1], token)
        caller.wait()
        assert len(caller.predictions([1, 2])) == 2
        process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 143
    (said,) = told.splitlines()
    assert said == "interrupted: the service was stopped; requests in hand were answered"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "token is empty; name a file with the bearer token"),
        (["--token", "none"], "token none cannot be read: No such file or directory"),
        (["--token", "none", "--listen", "0.0.0.0:1"], "would travel in the clear"),
        (["--token", "{token}", "--tables", "a.csv,b.csv"], "is a run of digits"),
        (
            ["--token", "{token}", "--listen", "127.0.0.1:1", "--certificate", "x"],
            "belong together",
        ),
    ],
)
def test_the_command_refuses(
    words: list[str],
    says: str,
    finished: Finished,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = [word.format(token=token_in(tmp_path)) for word in words]
    assert serve([str(finished("splitnn")), *given]) == 2
    assert says in " ".join(capsys.readouterr().err.split())
