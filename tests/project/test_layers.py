"""Layers of the packages: upward, circular and unexplained imports fail."""

import ast
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("vfl_flower", "strategies", "clients")
LINT = "from importlinter.cli import lint_imports; raise SystemExit(lint_imports(no_cache=True))"
FILES = sorted((ROOT / "vfl_flower").rglob("*.py"))
REASON = "slow to import"
BY_CONTRACT = {
    "Imports run from the upper layers to the lower ones": [
        ("vfl_flower/common/codec.py", "from vfl_flower.config import registry"),
        ("vfl_flower/protocol/ledger.py", "def f():\n    from vfl_flower.runs import results"),
        ("vfl_flower/crypto/masking.py", "from vfl_flower.data import splits"),
        ("vfl_flower/server_app.py", "from vfl_flower import client_app"),
    ],
    "No package has a cycle among its modules": [
        ("vfl_flower/common/errors.py", "from vfl_flower.common import codec"),
        ("vfl_flower/transport/stream/frames.py", "from vfl_flower.transport.stream import server"),
        ("strategies/easter.py", "def f():\n    from strategies import vfedmh"),
    ],
    "Methods know nothing of what runs them": [
        ("strategies/easter.py", "from vfl_flower.runs import results"),
        ("clients/splitnn.py", "def f():\n    import vfl_flower.transport.local"),
    ],
    "Methods are loaded by the registry alone": [
        ("vfl_flower/workflows/run.py", "import strategies.easter"),
        ("vfl_flower/config/registry.py", "def f():\n    from clients import fdml"),
    ],
}


def lint(folder: Path) -> tuple[int, str]:
    """Check the contracts of the packages in a folder."""
    done = subprocess.run(  # noqa: S603  its own words
        [sys.executable, "-c", LINT], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def test_imports_run_one_way() -> None:
    code, text = lint(ROOT)
    assert code == 0, text


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a copy of the packages and their contracts."""
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("contract", "file", "line"),
    [(contract, *case) for contract, cases in BY_CONTRACT.items() for case in cases],
)
def test_a_wrong_import_fails(contract: str, file: str, line: str, tree: Path) -> None:
    with (tree / file).open("a") as source:
        source.write(f"\n{line}\n")
    code, text = lint(tree)
    assert code != 0
    assert contract in text.partition("Broken contracts")[2], text


def test_a_module_without_a_layer_fails(tree: Path) -> None:
    (tree / "vfl_flower" / "utils.py").touch()
    code, text = lint(tree)
    assert code != 0
    assert "utils" in text, text


def unexplained(source: str) -> Iterator[int]:
    """Yield lines of unexplained imports inside functions."""
    lines, explained = source.splitlines(), set[int]()
    for at in sorted(set(imports_inside(ast.parse(source)))):
        above = lines[at[0] - 2].strip()
        if at[0] - 1 in explained or (above.startswith("#") and REASON in above):
            explained |= set(range(at[0], at[1] + 1))
        else:
            yield at[0]


def imports_inside(tree: ast.Module) -> Iterator[tuple[int, int]]:
    """Yield first and last line of each import inside a function."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Import | ast.ImportFrom):
                    yield node.lineno, node.end_lineno or node.lineno


def test_imports_inside_functions_are_explained() -> None:
    found = {str(path.relative_to(ROOT)): [*unexplained(path.read_text())] for path in FILES}
    assert {name: lines for name, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("import torch", [2]),
        ("# torch is here\n    import torch", [3]),
        ("# torch is slow to import\n    import torch\n    from a import (\n        b,\n    )", []),
        ("# torch is slow to import\n    import torch\n    a = 1\n    import b", [5]),
    ],
)
def test_an_unexplained_import_is_found(body: str, lines: list[int]) -> None:
    assert [*unexplained(f"def f():\n    {body}\n")] == lines
