"""Words: short summaries of docstrings, and no private dialect."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MOST_WORDS = 12  # of a docstring's summary

CODE = [
    "vfl_flower",
    "strategies",
    "clients",
    "benchmarks",
    "deploy",
    "docs",
    "tests",
    "run_simulation.py",
]
PAGES = ["README.md", "SECURITY.md", "CHANGELOG.md", "docs", "examples", "conf", "pyproject.toml"]

# Unwanted words, and the field's words for them. Identifiers are read as the words they hold.
INSTEAD = {
    r"guests?": "stream client, passive party",
    r"knobs?": "option, hyperparameter",
    r"sittings?": "attempt",
    r"(go|goes|going|went) ?down(hill)?": "descends, is sent to the passive parties",
    r"upkeep": "control traffic",
    r"(deal|deals|dealing|dealt)( \w+)? out": "split, partition",
    r"(leave|leaves|leaving|left)( \w+)? away": "remove, omit",
    r"(the|no|both|two|these) bounds": "baselines",
    r"hubs?": "stream server",
    r"blinders?": "masker",
    r"keepers?": "checkpoint component",
    r"last ?known": "latest embedding, embedding cache",
    r"members?": "party",
}
GAP = r"(?:[\s#]+)"  # phrases go on over the end of a line, in comments too
UNWANTED = re.compile(rf"\b({'|'.join(INSTEAD)})\b".replace(" ", GAP), re.IGNORECASE)
SEAMS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_")  # between the words of an identifier
NAMES = re.compile(r"github|flower\s+hub", re.IGNORECASE)  # of others

# Where an unwanted word has to stand, and why.
ALLOWED = {
    ("docs/conf.py", "member"): "Sphinx's word for methods and attributes",
    ("docs/generated.py", "members"): "Sphinx's word for methods and attributes",
    ("docs/glossary.md", "guest"): "the active party's name in FATE",
    ("benchmarks/peers/inside/fate_trainers.py", "guest"): "the active party's name in FATE",
    ("benchmarks/peers/inside/fate_trees.py", "guest"): "the active party's name in FATE",
    ("tests/project/test_terms.py", "guest"): "the active party's name in FATE",
    ("examples/bank-and-shop/make_tables.py", "members"): "a column of the shop: loyalty cards",
    ("vfl_flower/protocol/ledger.py", "upkeep"): "former name, read from earlier checkpoints",
    ("tests/protocol/test_ledger.py", "upkeep"): "former name, read from earlier checkpoints",
    ("vfl_flower/runs/results.py", "upkeep"): "former name, read from earlier results",
    ("tests/runs/test_earlier_versions.py", "upkeep"): "former name, read from earlier results",
}


def summaries(text: str) -> Iterator[tuple[int, str]]:
    """Yield line and summary of every docstring in a module's source."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if docstring := ast.get_docstring(node):
            yield node.body[0].lineno, " ".join(docstring.split("\n\n")[0].split())


def wanting(summary: str) -> bool:
    """Tell whether a summary is too long or too vague."""
    return len(summary.split()) > MOST_WORDS or bool(re.search(r"\bwhat\b", summary, re.I))


def unwanted(text: str) -> Iterator[tuple[int, str]]:
    """Yield line and wording of every unwanted word."""
    text = NAMES.sub(lambda name: "\n" * name[0].count("\n"), text)
    text = SEAMS.sub(" ", text)
    for found in UNWANTED.finditer(text):
        yield text.count("\n", 0, found.start()) + 1, " ".join(re.findall(r"\w+", found[0].lower()))


def files(places: list[str], *endings: str) -> list[Path]:
    """List files, and files of folders, that have given endings."""
    found = {each for place in places for each in [ROOT / place, *(ROOT / place).rglob("*")]}
    return sorted(each for each in found if each.is_file() and each.suffix in endings)


def read(path: Path) -> str:
    """Read a file; of the changelog only unreleased prose.

    Code in it may be an old name.
    """
    text = path.read_text()
    if path.name == "CHANGELOG.md":
        text = re.sub(r"`[^`\n]+`", "", text.split("\n## [")[1])
    return text


def found_words() -> list[tuple[str, int, str]]:
    """List file, line and wording of every unwanted word in the tree."""
    places = files([*CODE, *PAGES], ".py", ".md", ".toml", ".html", ".yaml", ".service")
    return [
        (str(path.relative_to(ROOT)), line, word)
        for path in places
        if path != Path(__file__).resolve()
        for line, word in unwanted(read(path))
    ]


def test_summaries_are_short_and_name_their_object() -> None:
    faults = [
        f"{path.relative_to(ROOT)}:{line} {summary}"
        for path in files(CODE, ".py")
        for line, summary in summaries(path.read_text())
        if wanting(summary)
    ]
    assert not faults, f"more than {MOST_WORDS} words, or 'what':\n" + "\n".join(faults)


def test_unwanted_words_do_not_come_back() -> None:
    faults = [
        f"{path}:{line} {word}" for path, line, word in found_words() if (path, word) not in ALLOWED
    ]
    assert not faults, "see INSTEAD for better words:\n" + "\n".join(faults)


def test_every_exception_is_used() -> None:
    assert set(ALLOWED) <= {(path, word) for path, _, word in found_words()}


@pytest.mark.parametrize(
    ("source", "bad"),
    [
        ('"""Optimizers and learning-rate schedules."""', []),
        ('"""Return what a party sends."""', ["Return what a party sends."]),
        ('def f():\n    """One.\n\n    What follows is no summary.\n    """', []),
        (f'class A:\n    """{"word " * 13}"""', [("word " * 13).strip()]),
        (f'class A:\n    """{"word " * 7}\n    {"word " * 5}"""', []),
        (f'async def f():\n    """{"word " * 7}\n    {"word " * 6}"""', [("word " * 13).strip()]),
    ],
)
def test_the_check_of_summaries_finds_bad_ones(source: str, bad: list[str]) -> None:
    assert [summary for _, summary in summaries(source) if wanting(summary)] == bad


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A party, an option, an attempt, the stream server.", []),
        ("GitHub, Flower\nHub, norms that are bounds, remember, beekeepers", []),
        ("one\nA Guest", [(2, "guest")]),
        ("class StreamGuest", [(1, "guest")]),
        ("MANY_KNOBS = told.knobs", [(1, "knobs"), (1, "knobs")]),
        ("# columns dealt\n    # out", [(1, "dealt out")]),
        ("a party goes downhill; v goes down", [(1, "goes downhill"), (1, "goes down")]),
        ("leave it away, left away", [(1, "leave it away"), (1, "left away")]),
        ("lastknown\nLastKnown", [(1, "lastknown"), (2, "last known")]),
        ("the hub of a sitting", [(1, "hub"), (1, "sitting")]),
    ],
)
def test_the_check_of_words_finds_unwanted_ones(text: str, found: list[tuple[int, str]]) -> None:
    assert list(unwanted(text)) == found
