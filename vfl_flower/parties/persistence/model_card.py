"""Model card: the model, its metrics, and its privacy, for people.

It holds what its own party may know. Metrics come from labels, and are the active party's.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from vfl_flower.common.names import party_name
from vfl_flower.common.versions import versions
from vfl_flower.config.evaluation.metrics import key_of, primary
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.preprocessing.target import Target
from vfl_flower.learning.metrics.names import score_name, shown
from vfl_flower.parties.party import Party
from vfl_flower.privacy.guarantees import noise_level, protections
from vfl_flower.privacy.label_dp.training_labels import label_report

HEAD = """---
library_name: vfl-flower
tags:
- vertical-federated-learning
- {method}
---
"""


def card_of(
    party: Party,
    network: Mapping[str, Any],
    nonce: str,
    epsilon: float | None,
    metrics: Mapping[str, Mapping[str, Any]],
    target: Target | None,
) -> str:
    """Write the card, in Markdown.

    Parameters
    ----------
    party : Party
        The party whose model folder it is for.
    network : mapping
        What its network takes and gives.
    epsilon : float or None
        What client-level privacy has cost so far; None without it.
    nonce, metrics, target
        As for `model.write_model`.
    """
    cfg, name = party.cfg, party_name(party.rank)
    protected, unprotected = protections(cfg, party.data.task)
    weights = sum(each.numel() for each in party.net.parameters())
    facts = {
        "run": nonce,
        "method": cfg.method,
        "data": f"{cfg.dataset}, {len(party.x):,} rows, split by {cfg.partition_text}",
        "parties": f"{cfg.parties}, the active one included; {cfg.holders} hold columns",
        **_joined(cfg),
        "a row of this party": " x ".join(map(str, network["row"])) or "1",
        "network": f"{network['name']}, {weights:,} weights",
        "embedding": f"{network['embedding_dim']} numbers",
        "decides on": network["decide"],
        "outputs": network["classes"],
    }
    sections = [
        HEAD.format(method=cfg.method) + f"# {cfg.method} on {cfg.dataset}: the part of {name}",
        "One party's part of a model. Predictions take all parties' parts and columns, unless "
        "the method trains the active party alone.",
        _table(("", ""), facts.items()),
        *_results(metrics, target),
        "## Privacy\n\nProtected:\n\n" + _listed(protected),
        "Not protected:\n\n" + _listed(unprotected),
        "Guaranteed:\n\n" + _listed(_epsilons(party, epsilon)),
        "## Versions\n\n" + _table(("", ""), versions().items()),
    ]
    return "\n\n".join(sections) + "\n"


def _joined(cfg: RunConfig) -> dict[str, str]:
    """Return the fact of who joined an earlier model, if any did."""
    if not cfg.joins:
        return {}
    names = " and ".join(map(party_name, cfg.newcomers))
    return {"joined": f"{names} joined {Path(cfg.model).name}; the others are as they were there"}


def _results(metrics: Mapping[str, Mapping[str, Any]], target: Target | None) -> list[str]:
    """Return the section of test metrics, where there are some."""
    if not metrics or not target:
        return []
    figures = {score_name(target.task): key_of(primary(target.task)), **shown(target.task)}
    rows = [(name, *(_rounded(m[key]) for key in figures.values())) for name, m in metrics.items()]
    told = []
    if target.told_positive:
        least = f"{target.threshold:.4g}"
        told = [f"{target.told_positive}; predicted from a probability of {least} on"]
    return ["## Test rows", *told, _table(("model of", *figures), rows)]


def _rounded(number: float | None) -> str:
    return "-" if number is None else f"{number:.4f}"


def _epsilons(party: Party, epsilon: float | None) -> list[str]:
    """List the guarantees, and the privacy cost of predictions."""
    said, labels = [], label_report(party.cfg)
    if epsilon is not None:
        said.append(
            f"{noise_level(party.cfg)} epsilon {epsilon:.4g} at delta {party.cfg.dp_delta:g} when "
            "training ended; each prediction adds to it"
        )
    if labels:
        said.append(f"epsilon {labels['epsilon']:g} for each label of a training row")
    return said


def _listed(items: Sequence[str]) -> str:
    return "\n".join(f"- {item}" for item in items) or "- nothing"


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table in Markdown."""
    ruled = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in ruled)
