"""Run folders of strangers that name code.

No command imports it unless the user trusts it. ``python -m`` puts the working directory on the
path, so a folder that lies there can name its own modules as networks.
"""

import json
import shutil
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from tests.helpers.outcomes.attempts import Attempt
from tests.helpers.outcomes.edits import edit, values_of
from tests.helpers.outcomes.predictions import tiny
from vfl_flower.cli.main import run
from vfl_flower.common.errors import ConfigError, TrustError
from vfl_flower.common.layout import CONFIG, MODEL, NETWORK
from vfl_flower.config.run_config import RunConfig
from vfl_flower.learning.networks.trusted_code import check_trusted, trusted_modules
from vfl_flower.parties.persistence.model_folder import trained_with
from vfl_flower.runs.run_folder import RunFolder

PAYLOAD = """
from pathlib import Path
Path("executed").write_text(__name__)
from vfl_flower.learning.networks.small import mlp as Net
"""
METHOD, FOLDER, MODULE = "vimadmm_j", "shared_run", "shared_run.payload"
COMMANDS = {
    "predict": ["predict", FOLDER, "--out", "predictions.csv"],
    "explain": ["explain", FOLDER],
    "audit labels": ["audit", "labels", FOLDER, "--at-most", "1"],
    "audit card": ["audit", FOLDER, "--at-most", "1"],
    "resume": ["train", "--resume", FOLDER],
    "config": ["train", "--config", f"{FOLDER}/{CONFIG}", "--out", "mine", "--epochs", "1"],
}


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a complete run whose parties all have one built-in network."""
    out = tmp_path_factory.mktemp("runs") / "run"
    Attempt(tiny(METHOD).changed(models="mlp"), out).run()
    return out


@pytest.fixture
def here(honest: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Lay a stranger's folder into the working directory."""
    shared = Path(shutil.copytree(honest, tmp_path / FOLDER))
    for path in shared.rglob(CONFIG):
        edit(path, '"mlp"', f'"{MODULE}:Net"')
    for path in shared.rglob(NETWORK):
        about = values_of(path)
        about["network"]["name"] = f"{MODULE}:Net"
        config = (path.parent / CONFIG).read_bytes()
        about["files"][CONFIG] = sha256(config).hexdigest()
        path.write_text(json.dumps(about))
    (shared / "payload.py").write_text(PAYLOAD)
    (shared / "__init__.py").write_text(PAYLOAD)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("VFL_FLOWER_HOME", str(tmp_path / "home"))
    yield tmp_path
    for name in [each for each in sys.modules if each.partition(".")[0] == FOLDER]:
        del sys.modules[name]


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_runs_the_code_of_a_folder(
    command: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if command == "resume":
        (here / FOLDER / "result.json").unlink()
    assert run(COMMANDS[command]) == 2
    assert not (here / "executed").exists()
    said = " ".join(capsys.readouterr().err.split())
    assert f"names the module '{MODULE}', in {here / FOLDER / 'payload.py'}" in said
    assert "--trust-code" in said


@pytest.mark.parametrize("command", ["inspect", "report"])
def test_looking_at_a_folder_imports_nothing_of_it(command: str, here: Path) -> None:
    assert run([command, FOLDER]) == 0
    assert not (here / "executed").exists()


def test_a_users_own_word_is_enough(here: Path) -> None:
    assert run([*COMMANDS["predict"], "--trust-code"]) == 0
    assert (here / "executed").exists()
    assert (here / "predictions.csv").exists()


def test_networks_of_the_command_line_need_no_more(here: Path) -> None:
    told = ["--dataset", "wine", "--models", f"{MODULE}:Net", "--baselines", "off", "--epochs", "1"]
    assert run(["train", *told, "--out", "own", "--seeds", "2"]) == 0


def listed(here: Path, text: str, mode: int = 0o600) -> Path:
    path = here / "home" / CONFIG
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


@pytest.mark.parametrize(("entry", "trusted"), [(MODULE, True), (FOLDER, True), ("shared", False)])
def test_a_users_own_configuration_lists_modules(entry: str, trusted: bool, here: Path) -> None:
    listed(here, f'trusted-modules = ["{entry}"]')
    assert run(COMMANDS["predict"]) == (0 if trusted else 2)
    assert (here / "executed").exists() == trusted


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_a_list_that_others_may_write_is_refused(mode: int, here: Path) -> None:
    listed(here, f'trusted-modules = ["{MODULE}"]', mode)
    with pytest.raises(ConfigError, match="may be written by others"):
        trusted_modules()
    assert run(COMMANDS["predict"]) == 2
    assert not (here / "executed").exists()


@pytest.mark.parametrize(
    "text", ["trusted-modules = 1", 'trusted = ["a"]', "[", "trusted-modules = ['']"]
)
def test_a_damaged_list_is_refused(text: str, here: Path) -> None:
    listed(here, text)
    with pytest.raises(ConfigError, match=CONFIG):
        trusted_modules()


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("nowhere.at.all", "which is not found here"),
        ("sys", "built-in"),
        ("spread.inner.deep", "in a package of several folders"),
    ],
)
def test_any_module_is_refused_without_an_import(name: str, place: str, here: Path) -> None:
    (here / "spread" / "inner").mkdir(parents=True)
    (here / "spread" / "inner" / "deep.py").write_text(PAYLOAD)
    path = here / FOLDER / CONFIG
    path.write_text(path.read_text().replace(MODULE, name))
    with pytest.raises(TrustError, match=f"'{name}', (in )?{place}"):
        check_trusted(RunFolder.reopen(here / FOLDER, {}).cfg)
    assert not (here / "executed").exists()


def test_a_model_folder_is_asked_for_itself(here: Path) -> None:
    """Trust in a run's configuration is none in another party's model folder."""
    cfg = trained_with(here / FOLDER / "party-1", RunConfig())[0]
    with pytest.raises(TrustError, match=f"party-1/{MODEL}/{CONFIG} names the module '{MODULE}'"):
        check_trusted(cfg)
    check_trusted(trained_with(here / FOLDER / "party-1", RunConfig(), trust_code=True)[0])
