"""An installed package takes no name but its own."""

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from tests.package.test_sources import asked, image_context
from vfl_flower.common.sources import PACKAGE, write_app
from vfl_flower.common.versions import code_digest

pytestmark = pytest.mark.slow

ENV = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
NAMES = ("strategies", "clients", "deploy", "conf", "examples", "app")


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the image's wheel, install it, return its environment's Python.

    The environment borrows all other packages from that of the tests.
    """
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    write_app(folder / "app")
    source = folder / "source"  # a copy, so that building leaves nothing in a checkout
    image_context(folder / "app", source)
    subprocess.run([*command, "-w", str(folder), str(source)], check=True)  # noqa: S603
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "venv", with_pip=False)
    made = folder / "venv/bin/python"
    site = subprocess.run(  # noqa: S603
        [made, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", site]
    subprocess.run([*pip, str(wheel)], check=True)  # noqa: S603
    (Path(site) / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return made


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """Return a folder with packages that end the process."""
    for name in NAMES:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f'raise SystemExit("{name} was imported")\n')
    return tmp_path


def test_one_name_is_installed(python: Path) -> None:
    place, digest, modules = asked(python.parent, python)
    site = Path(place).parents[1]
    assert python.parents[1] in site.parents
    assert digest == code_digest()
    assert {module.split(".")[1] for module in modules} == {"strategies", "clients"}
    ours = {path.name for path in site.iterdir() if path.suffix not in (".pth", ".dist-info")}
    assert not ours & set(NAMES)
    assert not (PACKAGE / "strategies").exists()


def test_packages_of_a_user_do_not_matter(python: Path, hostile: Path) -> None:
    run = hostile / "run"
    flags = ["--models", "mlp", "--epochs", "1", "--baselines", "off", "--out", str(run)]
    train = [str(python), "-m", "vfl_flower", "train", *flags]
    subprocess.run(train, cwd=hostile, env=ENV, check=True, capture_output=True)  # noqa: S603
    assert (run / "result.json").is_file()


def test_what_is_beside_the_package_comes_with_it(python: Path, hostile: Path) -> None:
    for arguments, made in (
        (["examples", "copy", "app", "made/app"], "made/app/pyproject.toml"),
        (["examples", "copy", "conf", "made/conf"], "made/conf/easter-digits.toml"),
        (["examples", "copy", "systemd", "made/units"], "made/units/vfl-flower-superlink.service"),
        (["examples", "copy", "bank-and-shop", "made/bank"], "made/bank/make_tables.py"),
        (["deploy", "certificates", "made/keys", "localhost"], "made/keys/ca.crt"),
    ):
        command = [str(python), "-m", "vfl_flower", *arguments]
        subprocess.run(command, cwd=hostile, env=ENV, check=True, capture_output=True)  # noqa: S603
        assert (hostile / made).is_file()
    app = hostile / "made/app"
    assert (app / "strategies/easter.py").is_file()
    assert not (app / "vfl_flower/app").exists()
    image_context(app, hostile / "context")
    assert (hostile / "context/setup.py").is_file()
    assert (hostile / "context/vfl_flower/reporting/html/page.html").is_file()
