"""In a Jupyter kernel: progress, silence, and resumable interrupts."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.helpers.outcomes.notebooks import NOTEBOOKS

pytest.importorskip("ipykernel")
manager = pytest.importorskip("jupyter_client.manager")

TRAIN = "run = vfl.train('digits', method='splitnn', models='mlp', baselines='off', "
WAIT = 120  # seconds, on a busy machine


class Kernel:
    """A kernel, with all outputs of the last cell."""

    def __init__(self, kernel: Any, client: Any) -> None:
        self.kernel, self.client = kernel, client

    def run(self, code: str, interrupt: bool = False) -> list[dict[str, Any]]:
        """Run a cell; return its outputs.

        An interrupt comes after the first output.
        """
        found: list[dict[str, Any]] = []
        asked = self.client.execute(code)
        while True:
            message = self.client.get_iopub_msg(timeout=WAIT)
            if message["parent_header"].get("msg_id") != asked:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "status" and content["execution_state"] == "idle":
                return found
            if kind in {"display_data", "stream", "execute_result", "error"}:
                found.append({"kind": kind, **content})
                if interrupt and kind == "display_data":
                    self.kernel.interrupt_kernel()
                    interrupt = False


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    """Start one kernel for all tests."""
    started, client = manager.start_new_kernel(kernel_name="python3", startup_timeout=WAIT)
    try:
        found = Kernel(started, client)
        assert found.run("import vfl_flower as vfl") == []
        yield found
    finally:
        client.stop_channels()
        started.shutdown_kernel(now=True)


@pytest.mark.slow
def test_progress_is_shown_unless_it_is_unwanted(kernel: Kernel) -> None:
    shown = kernel.run(TRAIN + "epochs=1)")
    assert any("epoch 1" in each["data"]["text/plain"] for each in shown)
    assert kernel.run(TRAIN + "epochs=1, progress=False)") == []


@pytest.mark.slow
def test_an_interrupted_cell_leaves_a_run_that_is_resumed(kernel: Kernel) -> None:
    *_, error = kernel.run(TRAIN + "epochs=60)", interrupt=True)
    assert error["ename"] == "KeyboardInterrupt"
    told = re.search(r"vfl_flower\.load\('([^']+)'\)\.resume\(\)", "".join(error["traceback"]))
    assert told, error["traceback"]

    (state,) = kernel.run(f"run = vfl.load({told[1]!r}); run.complete")
    assert state["data"]["text/plain"] == "False"
    (last,) = kernel.run("run.resume(progress=False).history['epoch'].iloc[-1].item()")
    assert last["data"]["text/plain"] == "60"
    kernel.run("import shutil; shutil.rmtree(run.path)")


@pytest.mark.slow
def test_a_notebook_runs_in_it(kernel: Kernel) -> None:
    nbformat = pytest.importorskip("nbformat")
    book = nbformat.read(NOTEBOOKS[0], as_version=4)
    for cell in book.cells:
        if cell.cell_type == "code":
            found = kernel.run(cell.source)
            assert not [each for each in found if each["kind"] == "error"], found
