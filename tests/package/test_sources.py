"""A checkout, Flower's bundle and an installed package find the same code."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from io import BytesIO
from pathlib import Path

import pytest
from flwr.cli.build import build_fab_from_disk

from vfl_flower.cli.main import run
from vfl_flower.common import sources
from vfl_flower.common.errors import ConfigError
from vfl_flower.common.versions import code_digest
from vfl_flower.config.registry import METHODS

ROOT = Path(__file__).resolve().parents[2]
ASKED = """
import json, sys
import vfl_flower
from vfl_flower.config.registry import METHODS, spec_of
from vfl_flower.common.versions import code_digest
classes = {name: [each.__module__ for each in spec_of(name).load()] for name in METHODS}
print(json.dumps([vfl_flower.__file__, code_digest(), classes]))
"""


def asked(
    folder: Path, python: str | Path = sys.executable, **env: str
) -> tuple[str, str, set[str]]:
    """Ask a new process for its package, digest and methods' modules."""
    command = [str(python), "-c", ASKED]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)  # noqa: S603
    assert not done.returncode, done.stderr
    place, digest, classes = json.loads(done.stdout)
    return place, digest, {module for pair in classes.values() for module in pair}


def image_context(source: Path, target: Path) -> None:
    """Copy a source as the COPY lines of its Dockerfile do."""
    copied = re.findall(r"(?m)^COPY (.+) (\S+)$", (source / "deploy/Dockerfile").read_text())
    for names, place in copied:
        for name in names.split():
            if (source / name).is_dir():
                shutil.copytree(source / name, target / place)
            else:
                target.mkdir(exist_ok=True)
                shutil.copy(source / name, target / place)


@pytest.fixture(scope="module")
def bundle() -> zipfile.ZipFile:
    """Return the project as Flower bundles it."""
    return zipfile.ZipFile(BytesIO(build_fab_from_disk(ROOT)))


def test_the_bundle_has_licence_and_readme_and_no_other_files_than_code(
    bundle: zipfile.ZipFile,
) -> None:
    names = set(bundle.namelist())
    code = {name for name in names if name.endswith(".py")}
    assert names - code == {"pyproject.toml", "LICENSE", "README.md", ".info/CONTENT"}
    assert {name.split("/")[0] for name in code} == {"vfl_flower", "strategies", "clients"}
    assert code == {name for name, _ in sources.sources()}


def test_the_bundle_says_for_which_flower_it_is(bundle: zipfile.ZipFile) -> None:
    declared = tomllib.loads(bundle.read("pyproject.toml").decode())
    app = declared["tool"]["flwr"]["app"]
    assert (app["fab-format-version"], app["flwr-version-target"]) == (1, "1.41.0")
    assert declared["project"]["license"] == {"file": "LICENSE"}
    assert 0 < len(declared["project"]["description"]) <= 200  # for publishing


@pytest.mark.slow
def test_a_bundle_runs_its_own_code(bundle: zipfile.ZipFile, tmp_path: Path) -> None:
    bundle.extractall(tmp_path)
    place, digest, modules = asked(tmp_path, PYTHONPATH=str(tmp_path))
    assert (Path(place).parents[1], digest) == (tmp_path, code_digest())
    assert {module.split(".")[0] for module in modules} == {"strategies", "clients"}


def test_an_app_that_is_copied_has_the_bundles_files(
    bundle: zipfile.ZipFile, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "app"
    assert run(["examples", "copy", "app", str(target)]) == 0
    assert run(["examples", "copy", "app", str(target)]) == 2
    assert "is there already" in capsys.readouterr().err
    again = zipfile.ZipFile(BytesIO(build_fab_from_disk(target)))
    assert set(again.namelist()) == set(bundle.namelist())


def test_an_app_that_is_copied_has_what_its_image_needs(tmp_path: Path) -> None:
    app, context = tmp_path / "app", tmp_path / "context"
    sources.write_app(app)
    image_context(app, context)
    needed = {*sources.INNER, "vfl_flower", "setup.py", "pyproject.toml", "README.md", "LICENSE"}
    assert {path.name for path in context.iterdir()} == needed - {"app"}
    assert (context / "vfl_flower/reporting/html/page.html").is_file()  # data of a package
    assert not list(context.rglob("__pycache__"))


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("bank-and-shop", "make_tables.py"),
        ("conf", "easter-mnist.toml"),
        ("systemd", "vfl-flower-superlink.service"),
    ],
)
def test_examples_are_copied(
    name: str, file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["examples", "list"]) == 0
    assert f"\n{name} " in capsys.readouterr().out
    assert run(["examples", "copy", name, str(tmp_path / name)]) == 0
    assert (tmp_path / name / file).is_file()
    assert not list((tmp_path / name).rglob("__*"))


def test_an_unknown_example_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["examples", "copy", "bank", str(tmp_path / "x")]) == 2
    assert "no example is called 'bank'" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_deploy_makes_certificates(tmp_path: Path) -> None:
    assert run(["deploy", "certificates", str(tmp_path), "localhost", "--nodes", "1"]) == 0
    assert {"ca.crt", "server.key", "node1", "node1.pub"} <= {p.name for p in tmp_path.iterdir()}


def test_a_package_that_hides_the_checkouts_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "strategies").mkdir()
    (tmp_path / "strategies" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    finders = [each for each in sys.meta_path if "Editable" not in getattr(each, "__name__", "")]
    monkeypatch.setattr(sys, "meta_path", finders)  # it would find what is missing there
    for name in [name for name in sys.modules if name.split(".")[0] == "strategies"]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ConfigError, match=f"'strategies' in {tmp_path}.* hides"):
        sources.load_ours(METHODS["easter"])
    with pytest.raises(ModuleNotFoundError):
        sources.load_ours("no_such_package:x")
