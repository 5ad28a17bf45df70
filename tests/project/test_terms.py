"""The field's standard terms are found in documentation and code."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text()
NOUNS = (
    *("ActiveParty", "PassiveParty", "Party", "Protocol", "Replies"),
    *("Component", "RunConfig", "MethodSpec", "Transport", "PartyData"),
)

# Terms, and the part of the code whose docstrings must use them.
TERMS = {
    "secure aggregation": "vfl_flower/privacy",
    "pairwise mask": "vfl_flower/privacy",
    "semi-honest": "strategies",
    "bottom model": "vfl_flower/parties",
    "top model": "vfl_flower/parties",
    "label differential privacy": "vfl_flower/privacy/label_dp",
    "client-level differential privacy": "vfl_flower/privacy/client_dp",
    "adjacency": "vfl_flower/privacy",
    "early stopping": "vfl_flower/training",
    "entity alignment": "vfl_flower/alignment",
    "private set intersection": "vfl_flower/alignment",
    "label inference": "vfl_flower/analysis/audit",
    "feature reconstruction": "vfl_flower/analysis/audit",
    "macro": "vfl_flower/learning",
}
ON_PAGES = (
    *("hyperparameter", "cut layer", "split learning", "guest", "host", "arbiter"),
    *("label holder", "task party", "SecretFlow", "NVFlare", "PyVertical", "FATE"),
)


def holds(text: str, term: str) -> bool:
    """Tell whether a text has a term, in any case.

    Terms may go on over the end of a line.
    """
    pattern = term.replace("-", r"[-\s]").replace(" ", r"[\s#]+")
    return bool(re.search(pattern, text, re.IGNORECASE))


@pytest.mark.parametrize("term", [*TERMS, *ON_PAGES])
def test_terms_are_found_in_the_documentation(term: str) -> None:
    assert any(holds(page.read_text(), term) for page in PAGES)


@pytest.mark.parametrize(("term", "folder"), TERMS.items())
def test_terms_are_found_in_docstrings(term: str, folder: str) -> None:
    assert any(holds(path.read_text(), term) for path in (ROOT / folder).rglob("*.py"))


@pytest.mark.parametrize("noun", NOUNS)
def test_the_glossary_has_every_noun_in_a_sentence(noun: str) -> None:
    (row,) = re.findall(rf"^\| `{noun}` \| ([^|]+) \|", GLOSSARY, re.MULTILINE)
    assert row.strip().endswith(".")


def test_a_term_that_nobody_uses_is_missed() -> None:
    assert holds("Secure\n# aggregation", "secure aggregation")
    assert not holds("secure sums", "secure aggregation")
