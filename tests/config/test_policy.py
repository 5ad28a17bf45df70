"""Rules of policies: each key refuses runs that break it."""

from typing import Any

import pytest

from vfl_flower.common.errors import PolicyError
from vfl_flower.config.policy.record import OPEN, SAFE, DataPolicy, Policy, keys_of
from vfl_flower.config.policy.rules import RULES, check
from vfl_flower.config.run_config import RunConfig

OURS, THEIRS = "SHA256:" + "a" * 43, "SHA256:" + "b" * 43
MASKED: dict[str, Any] = {"method": "easter", "party_randomness": "private", "run_name": "first"}
BOUNDED: dict[str, Any] = MASKED | {"embedding_bound": "16"}
OWN: dict[str, Any] = MASKED | {"dataset": "own", "tables": "/srv/bank/table.toml"}
UNPENALISED: dict[str, Any] = MASKED | {"method": "logistic", "ridge": 0.0}
NOISED: dict[str, Any] = MASKED | {"method": "splitnn", "dp_sigma": 2.0}
LOOSE: dict[str, Any] = {"require_secure_aggregation": False, "require_private_weights": False}
DIGITS = DataPolicy(name="d", dataset="digits", least_sigma=1.0)
BUDGET = DataPolicy(name="d", dataset="digits", largest_epsilon=1.0)
UNBOUND: dict[str, Any] = {"require_embedding_bound": False}
CASES: list[tuple[str, dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    # the rule, what the policy says, a run that keeps to it, and what breaks it
    ("run-names", {"run_names": ("first*",)}, MASKED, {"run_name": "second"}),
    ("methods", {"methods": ("easter",)}, MASKED, {"method": "vfedmh"}),
    ("require-secure-aggregation", {}, MASKED, {"blinding": "none"}),
    ("require-secure-aggregation", {}, MASKED, {"method": "splitnn"}),
    ("require-secure-aggregation", {}, MASKED, {"method": "splitnn", "dp_sigma": 1.0}),
    ("least-colluding-share", {}, MASKED, {"colluding_share": 0.9}),
    ("least-colluding-share", {"least_colluding_share": 0.5}, MASKED | {"colluding_share": 0.5},
     {"colluding_share": 0.4}),
    ("allow-distributed-noise", {}, MASKED | {"dp_sigma": 2.0}, {"dp_noise": "distributed"}),
    ("allow-missing-parties", {}, BOUNDED, {"missing_parties": "use"}),
    ("allow-gradient-defence", {}, BOUNDED, {"gradient_defence": "top-k:0.5"}),
    ("allow-cross-products", {"require_private_weights": False}, UNPENALISED,
     {"standard_errors": True}),
    ("allow-single-embeddings", LOOSE | {"data": (DIGITS,)}, NOISED, {"dp_sigma": 0.0}),
    ("allow-single-embeddings", LOOSE | {"data": (BUDGET,)}, NOISED, {"dp_eval": "clear"}),
    ("allow-single-embeddings", LOOSE, MASKED, {"blinding": "none"}),
    ("allow-single-embeddings", LOOSE, MASKED, {"method": "splitnn", "dp_sigma": 0.1}),
    ("allow-single-embeddings", LOOSE | {"data": (DataPolicy(name="d", dataset="digits"),)}, MASKED,
     {"method": "splitnn", "dp_sigma": 8.0}),
    ("require-private-weights", {}, MASKED, {"party_randomness": "public"}),
    ("require-private-weights", {"require_secure_aggregation": False, "data": (DIGITS,)},
     NOISED, {"method": "adptvfedconv"}),
    ("require-embedding-bound", {"require_embedding_bound": True},
     MASKED | {"embedding_bound": "16"}, {"embedding_bound": "none"}),
    ("largest-embedding-bound", {"largest_embedding_bound": 8.0},
     MASKED | {"embedding_bound": "8"}, {"embedding_bound": "8.5"}),
    ("largest-embedding-bound", {"largest_embedding_bound": SAFE.largest_embedding_bound},
     MASKED | {"embedding_bound": "16"}, {"embedding_bound": "1e6"}),
    ("embedding-defences", {"embedding_defences": ("nopeek:2", "mid:0.01")},
     MASKED | {"embedding_defence": "mid:0.01"}, {"embedding_defence": "mid:0.005"}),
    ("embedding-defences", {"embedding_defences": ("nopeek:2",)},
     MASKED | {"embedding_defence": "nopeek:3"}, {"embedding_defence": "none"}),
    ("largest-share", {}, MASKED, {"share_check": "on"}),
    ("largest-share", {"largest_share": 0.5}, MASKED | {"share_check": "on"},
     {"share_check": "off"}),
    ("largest-learning-rate", {}, MASKED | {"learning_rates": "1e8,10,1e8,1e8"},
     {"learning_rates": "0.1,1e8,0.1,0.1"}),
    ("largest-learning-rate", LOOSE | {"data": (DIGITS,)},
     NOISED | {"method": "adptvfedconv"}, {"decoder_rate": 11.0}),
    ("largest-learning-rate", LOOSE | {"data": (DIGITS,)},
     NOISED | {"method": "adptvfedconv"}, {"extractor_rate": 11.0}),
    ("largest-weight", {}, MASKED | {"largest_weight": 100.0}, {"largest_weight": 101.0}),
    ("accept-labels", {"accept_labels": False}, MASKED, {"method": "fdml"}),
    ("label-privacy", {"label_privacy": ("alibi",)}, MASKED | {"label_privacy": "alibi"},
     {"label_privacy": "laplace"}),
    ("label-privacy", {"label_privacy": ("alibi",)}, MASKED | {"label_privacy": "alibi"},
     {"label_privacy": "none"}),
    ("largest-label-epsilon", {"largest_label_epsilon": 2.0},
     MASKED | {"label_privacy": "laplace"}, {"label_epsilon": 2.5}),
    ("largest-label-epsilon", {"largest_label_epsilon": 2.0},
     MASKED | {"label_privacy": "laplace"}, {"label_privacy": "none"}),
    ("largest-label-epsilon", {"largest_label_epsilon": 2.0},
     MASKED | {"label_privacy": "laplace", "label_epsilon": 1.5},
     {"label_sensitivity": 1.0, "force_sensitivity": True}),
    ("least-batch-size", {"least_batch_size": 16}, MASKED, {"batch_size": 15}),
    ("most-batch-size", {"most_batch_size": 256}, MASKED, {"batch_size": 257}),
    ("largest-embedding-dim", {}, MASKED | {"embedding_dim": 4096}, {"embedding_dim": 4097}),
    ("largest-embedding-dim", {"largest_embedding_dim": 64}, OWN, {"embedding_dim": 65,
     "task": "predict", "model": "first"}),
    ("most-threads", {}, MASKED | {"threads": 64}, {"threads": 65}),
    ("most-threads", {}, MASKED | {"eval_threads": 64}, {"eval_threads": 65}),
    ("most-predictions-a-day", {"most_predictions_a_day": 0}, OWN, {"task": "predict",
     "model": "first"}),
    ("modules", {"modules": ("ours.*",)}, MASKED | {"models": "ours.nets:Net"},
     {"models": "theirs.nets:Net"}),
    ("data", {"data": (DataPolicy(name="d", tables=("/srv/bank/table.toml",)),)}, OWN,
     {"tables": "/srv/bank/other.toml"}),
    ("data", {"data": (DataPolicy(name="d", dataset="digits"),)}, MASKED, {"dataset": "wine",
     "models": "mlp"}),
    ("adjacency", LOOSE | {"data": (DIGITS,)}, NOISED, {"dp_adjacency": "row"}),
    ("least-sigma", LOOSE | {"data": (DIGITS,)}, NOISED, {"dp_sigma": 0.5}),
    ("least-sigma", LOOSE | {"data": (DIGITS,)}, NOISED, {"method": "easter", "dp_sigma": 0.0}),
    ("largest-epsilon", LOOSE | {"data": (BUDGET,)}, NOISED, {"method": "easter",
     "dp_sigma": 0.0}),
    ("largest-epsilon", LOOSE | {"data": (BUDGET,), "allow_single_embeddings": True}, NOISED,
     {"dp_eval": "clear"}),
]  # fmt: skip
COUNTED = {"most-rows", "most-requests"}
"""Keys that no configuration can break, but the requests of a run."""


@pytest.mark.parametrize(
    ("rule", "says", "kept", "broken"), CASES, ids=[f"{n}-{c[0]}" for n, c in enumerate(CASES)]
)
def test_a_run_that_breaks_a_rule_is_refused(
    rule: str, says: dict[str, Any], kept: dict[str, Any], broken: dict[str, Any]
) -> None:
    policy = Policy(name="bank", **UNBOUND | says)
    check(policy, RunConfig(**kept), 1)
    with pytest.raises(PolicyError) as caught:
        check(policy, RunConfig(**kept | broken), 1)
    text = str(caught.value)
    assert text.startswith(f"policy 'bank' refuses this run by its rule {rule}: ")
    assert len(text.splitlines()) == 1


def test_every_key_has_a_rule_and_every_rule_a_case() -> None:
    keys = {*keys_of(Policy), *keys_of(DataPolicy), "data"}
    told = {"name", "tables", "dataset", "delta"}
    assert set(RULES) == keys - told - COUNTED
    assert set(RULES) - {"peers"} == {rule for rule, *_ in CASES}


def test_peers_must_be_pinned_and_listed() -> None:
    policy, cfg = Policy(name="bank", peers=(OURS, THEIRS)), RunConfig(**BOUNDED)
    check(policy, cfg, 1, [OURS, THEIRS])
    with pytest.raises(PolicyError, match="rule peers: this node's configuration names no"):
        check(policy, cfg, 1)
    with pytest.raises(PolicyError, match="rule peers: the identity pinned for party-2 is not"):
        check(policy, cfg, 1, [OURS, "SHA256:" + "c" * 43])


@pytest.mark.parametrize(
    "changes",
    [
        {"method": "splitnn"},
        {"models": "os:system"},
        {"embedding_bound": "1e6"},
        {"embedding_bound": "16", "learning_rates": "1e30"},
    ],
)
def test_an_open_policy_allows_all_and_the_default_does_not(changes: dict[str, Any]) -> None:
    cfg = RunConfig(**MASKED | changes)
    check(OPEN, cfg, 1)
    with pytest.raises(PolicyError, match="policy 'default' refuses"):
        check(SAFE, cfg, 1)


def test_an_alignment_is_judged_by_name_peers_and_data_only() -> None:
    cfg = RunConfig(method="splitnn", task="align", run_name="rows", dataset="own", tables="/a")
    check(SAFE, cfg, 1)
    with pytest.raises(PolicyError, match="rule run-names"):
        check(Policy(run_names=("runs-*",)), cfg, 1)
    with pytest.raises(PolicyError, match="rule data"):
        check(Policy(data=(DataPolicy(name="d", tables=("/b",)),)), cfg, 1)


def test_modules_of_the_nodes_own_configuration_are_its_choice() -> None:
    check(Policy(own_modules=("mine",)), RunConfig(**BOUNDED, models="mine:Net"), 1)
    assert Policy(own_modules=("mine",)).digest == SAFE.digest


def test_another_partys_network_is_not_this_partys_affair() -> None:
    check(SAFE, RunConfig(**BOUNDED, parties=3, models="theirs:Net,mlp,theirs:Net"), 1)


def test_the_refusal_tells_no_path_of_the_node() -> None:
    policy = Policy(data=(DataPolicy(name="d", tables=("/secret/table.toml",)),))
    with pytest.raises(PolicyError) as caught:
        check(policy, RunConfig(**OWN), 1)
    assert "/" not in str(caught.value)
