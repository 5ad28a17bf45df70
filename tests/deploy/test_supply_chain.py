"""Lock file, bill of materials and audit of releases."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from deploy.audit import verdict
from deploy.lock import LOCK, ROOT, dependencies, line_of, outside, pinned

TEXT = LOCK.read_text()
GOOD = f"flwr==1.41.0 --hash=sha256:{'0' * 64}"


def test_the_lock_has_every_dependency_within_its_range() -> None:
    versions = pinned(TEXT)
    assert not outside(versions, dependencies())
    assert len(versions) > 2 * len(dependencies())  # what these need, too


def test_the_lock_names_no_index() -> None:
    assert not re.search(r"://|index|\bhost", TEXT)


@pytest.mark.parametrize(
    "wanted", ["flwr>=1.42", "flwr[simulation]>=1.40,<1.41", "no-such-package>=1"]
)
def test_another_range_is_noticed(wanted: str) -> None:
    assert outside(pinned(TEXT), [Requirement(wanted)]) == [str(Requirement(wanted))]


@pytest.mark.parametrize(
    "line",
    [
        "flwr>=1.41 --hash=sha256:" + "0" * 64,
        "flwr==1.41.0",
        "flwr==1.41.0 --hash=sha256:" + "0" * 63,
        "flwr @ file:///flwr.whl",
        "--index-url somewhere",
    ],
)
def test_a_line_without_version_and_hash_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="no version with its hash"):
        pinned(f"# head\n{line}\n")


def test_a_package_comes_once() -> None:
    assert pinned(GOOD) == {"flwr": "1.41.0"}
    with pytest.raises(ValueError, match="one more of a package"):
        pinned(f"{GOOD}\n{GOOD}\n")


def test_pips_report_becomes_lines() -> None:
    archive = {"hashes": {"sha256": "0" * 64}}
    install = {
        "metadata": {"name": "Flwr", "version": "1.41.0"},
        "download_info": {"url": "somewhere", "archive_info": archive},
    }
    assert line_of(install) == GOOD


@pytest.mark.slow  # continuous integration makes one before it
def test_the_bill_of_materials_lists_the_lock(tmp_path: Path) -> None:
    """It is made as continuous integration makes it."""
    (command,) = re.findall(r'step "\$venv/bin/cyclonedx-py" (.*)', (ROOT / ".ci/run").read_text())
    words = command.replace('"$work/sbom.json"', str(tmp_path / "sbom.json")).split()
    subprocess.run([sys.executable, "-m", "cyclonedx_py", *words], cwd=ROOT, check=True)  # noqa: S603
    made = json.loads((tmp_path / "sbom.json").read_bytes())
    assert (made["bomFormat"], made["specVersion"]) == ("CycloneDX", "1.6")
    assert made["metadata"]["component"]["name"] == "vfl-flower"
    assert {each["name"]: each["version"] for each in made["components"]} == pinned(TEXT)
    for each in made["components"]:
        assert each["type"] == "library"
        assert each["purl"] == f"pkg:pypi/{each['name']}@{each['version']}"
        (source,) = each["externalReferences"]
        assert [known["alg"] for known in source["hashes"]] == ["SHA-256"]


def audited(*vulnerabilities: str) -> dict[str, object]:
    return {"name": "a", "version": "1", "vulns": [{"id": each} for each in vulnerabilities]}


UNKNOWN = {"name": "b", "version": "2", "skip_reason": "not found"}


@pytest.mark.parametrize(
    ("packages", "text", "code"),
    [
        ([audited(), UNKNOWN], "1 of 2 packages audited, 0 vulnerable", 0),
        (
            [audited("CVE-1", "CVE-2")],
            "1 of 1 packages audited, 1 vulnerable\na 1: CVE-1, CVE-2",
            1,
        ),
        ([UNKNOWN], "skipped: the source", 0),
    ],
)
def test_a_vulnerability_fails_the_audit(
    packages: list[dict[str, object]], text: str, code: int
) -> None:
    said, ended = verdict(json.dumps({"dependencies": packages}), "")
    assert said.startswith(text)
    assert ended == code


@pytest.mark.parametrize(
    ("said", "text", "code"),
    [
        ("requests.exceptions.ConnectionError: no route", "skipped: no source", 0),
        ("usage: pip-audit [-h]", "pip-audit failed: usage", 1),
    ],
)
def test_an_audit_is_skipped_without_network_alone(said: str, text: str, code: int) -> None:
    found = verdict("", said)
    assert found[0].startswith(text)
    assert found[1] == code
