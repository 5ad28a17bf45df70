"""The example of a method trains, is short and lint-free."""

import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import clients
import strategies.specs
from tests.helpers.outcomes.pages import ROOT, blocks, page
from vfl_flower.cli.main import run as program
from vfl_flower.common.errors import ConfigError
from vfl_flower.config.registry import METHODS
from vfl_flower.config.run_config import RunConfig
from vfl_flower.transport.local import run_amnesiac, run_local
from vfl_flower.workflows.build_parties import build_active, build_passive

SHOWN = blocks(page("add-method"), "python")
EXAMPLE = {block.splitlines()[0].removeprefix("# "): block for block in SHOWN}
REGISTRY = "vfl_flower/config/registry.py"
ENTRY = re.compile(r'^"([\w-]+)": "([\w.:]+)",$', re.M)


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Write the page's files to packages, register the method, return its name."""
    for path, code in EXAMPLE.items():
        if path == REGISTRY:
            continue
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(code)
    for package in (strategies, strategies.specs, clients):
        places = [*package.__path__, str(tmp_path / package.__name__.replace(".", "/"))]
        monkeypatch.setattr(package, "__path__", places)
    importlib.invalidate_caches()
    ((name, reference),) = ENTRY.findall(EXAMPLE[REGISTRY])
    monkeypatch.setitem(METHODS, name, reference)
    yield name
    for path in EXAMPLE:
        parent, _, module = path.removesuffix(".py").replace("/", ".").rpartition(".")
        if path != REGISTRY:
            sys.modules.pop(f"{parent}.{module}", None)
            vars(sys.modules[parent]).pop(module, None)


def test_example_is_complete() -> None:
    assert [str(Path(path).parent) for path in EXAMPLE] == [
        *("strategies/specs", "strategies", "clients", "vfl_flower/config")
    ]


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


def test_examples_option_reaches_its_method_alone(
    example: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert program(["train", "--method", example, "--help"]) == 0
    assert "--sharpness FLOAT" in capsys.readouterr().out
    assert program(["train", "--help"]) == 0
    assert "--sharpness" not in capsys.readouterr().out
    cfg = RunConfig.from_mapping({"method": example, "sharpness": 2})
    assert build_active(cfg).factor == 2 / cfg.parties  # type: ignore[attr-defined]
    assert RunConfig.from_mapping(cfg.to_mapping()) == cfg
    with pytest.raises(ConfigError, match=r"^sharpness must be above 0"):
        cfg.changed(sharpness=0.0)
    with pytest.raises(ConfigError, match=f"^sharpness is {example}'s; easter has no such option$"):
        RunConfig.from_mapping({"sharpness": 1.0})
    assert RunConfig.from_flower({"sharpness": 1.0}) == RunConfig()


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
