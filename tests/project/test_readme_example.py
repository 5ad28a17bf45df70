"""The method that README adds as an example trains, is short and passes the linter."""

import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import clients
import strategies
from tests.helpers.pages import README, ROOT, blocks
from vfl_flower.config.registry import METHODS, Method
from vfl_flower.config.run_config import RunConfig
from vfl_flower.transport.local import run_amnesiac, run_local
from vfl_flower.workflows.build_parties import build_active, build_passive

SECTION = README.split("\n## Add a method\n")[1].split("\n## ")[0]
EXAMPLE = {block.splitlines()[0].removeprefix("# "): block for block in blocks(SECTION, "python")}
REGISTRY = "vfl_flower/config/registry.py"
ENTRY = re.compile(r'^"([\w-]+)": Method\("([\w.:]+)", "([\w.:]+)", blinds=(True|False)\),$', re.M)


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Put README's files into packages of their own, register the method, and name it."""
    for path, code in EXAMPLE.items():
        if path == REGISTRY:
            continue
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(code)
    for package in (strategies, clients):
        monkeypatch.setattr(package, "__path__", [str(tmp_path / package.__name__)])
    importlib.invalidate_caches()
    ((name, strategy, client, blinds),) = ENTRY.findall(EXAMPLE[REGISTRY])
    monkeypatch.setitem(METHODS, name, Method(strategy, client, blinds == "True"))
    yield name
    for path in EXAMPLE:
        folder, module = Path(path).parts[0], Path(path).stem
        sys.modules.pop(f"{folder}.{module}", None)
        vars(sys.modules[folder]).pop(module, None)


def test_example_is_complete() -> None:
    assert [Path(path).parts[0] for path in EXAMPLE] == ["strategies", "clients", "vfl_flower"]


def test_example_trains_alike_on_both_carriers(example: str, tmp_path: Path) -> None:
    cfg = RunConfig(method=example, epochs=1)
    live, rebuilt = tmp_path / "live", tmp_path / "rebuilt"

    active = build_active(cfg, live)
    run_local(active, [build_passive(cfg, k, live) for k in range(1, cfg.parties)])
    run_amnesiac(build_active(cfg, rebuilt), lambda k: build_passive(cfg, k, rebuilt))

    weights = sorted(path.relative_to(live) for path in live.rglob("weights.safetensors"))
    assert len(weights) == cfg.parties
    for path in weights:
        assert (live / path).read_bytes() == (rebuilt / path).read_bytes(), path
    (record,) = active.progress.records
    assert record.validation_accuracy["active"] > 0.3  # ten classes, one epoch


def test_example_is_short() -> None:
    for path, code in EXAMPLE.items():
        assert len(code.splitlines()) <= 60, path
        assert "noqa" not in code
        assert "type: ignore" not in code


@pytest.mark.parametrize("check", ["check", "format --check"])
def test_example_passes_the_linter(check: str, example: str, tmp_path: Path) -> None:
    ruff = [sys.executable, "-m", "ruff", *check.split(), "--no-cache"]
    config = ["--config", str(ROOT / "pyproject.toml")]
    subprocess.run([*ruff, *config, str(tmp_path)], cwd=ROOT, check=True)  # noqa: S603
