"""Policy files and rules: each key refuses runs that break it."""

import os
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from vfl_flower.common.errors import PolicyError
from vfl_flower.config.policy.file import policy_of, read_policy
from vfl_flower.config.policy.record import OPEN, SAFE, DataPolicy, Policy, keys_of
from vfl_flower.config.policy.rules import RULES, check
from vfl_flower.config.run_config import RunConfig

OURS, THEIRS = "SHA256:" + "a" * 43, "SHA256:" + "b" * 43
MASKED: dict[str, Any] = {"method": "easter", "party_randomness": "private", "run_name": "first"}
BOUNDED: dict[str, Any] = MASKED | {"embedding_bound": "16"}
OWN: dict[str, Any] = MASKED | {"dataset": "own", "tables": "/srv/bank/table.toml"}
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
    ("allow-gradient-defence", {}, BOUNDED, {"gradient_defence": "top-k:0.5"}),
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


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "policy.toml"
    path.write_text('name = "bank"\n')
    path.chmod(0o600)
    return path


def test_a_file_is_read_with_all_its_keys(file: Path) -> None:
    noise: dict[str, Any] = {"least_sigma": 1.5, "largest_epsilon": 3.0, "delta": 1e-6}
    rules: dict[str, Any] = {"largest_share": 0.5, "largest_learning_rate": 0.5, "most_threads": 7}
    entry = DataPolicy(name="customers", tables=("/a.toml",), **noise)
    policy = Policy(
        name="bank",
        run_names=("a*", "b?"),
        methods=("easter",),
        require_secure_aggregation=False,
        allow_single_embeddings=True,
        least_colluding_share=0.5,
        require_private_weights=False,
        require_embedding_bound=False,
        largest_embedding_bound=8.0,
        accept_labels=False,
        label_privacy=("none", "alibi"),
        largest_label_epsilon=1.0,
        least_batch_size=2,
        most_batch_size=3,
        largest_embedding_dim=128,
        **rules,
        most_rows=4,
        most_requests=5,
        most_predictions_a_day=6,
        modules=("nets",),
        peers=(OURS,),
        data=(entry, DataPolicy(name="digits", dataset="digits")),
    )
    file.write_text(tomli_w.dumps(policy.as_file()))
    assert read_policy(file) == policy
    assert {*keys_of(Policy), "data"} == set(policy.as_file())


def test_a_file_without_keys_is_the_default(file: Path) -> None:
    assert read_policy(file) == Policy(name="bank")


def test_the_digest_is_of_the_rules_not_of_the_text(file: Path) -> None:
    first = read_policy(file)
    file.write_text('# the bank\nname = "bank"\nmethods = []\n')
    assert read_policy(file).digest == first.digest
    file.write_text('name = "bank"\nmethods = ["easter"]\n')
    assert read_policy(file).digest != first.digest


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "name is missing"),
        ('name = "a b"', "name must be up to 64 letters"),
        ('method = "easter"', "unknown key 'method'; did you mean 'methods'"),
        ("methods = 3", "methods must be a list of texts, not 3"),
        ('methods = ["eester"]', "methods: unknown 'eester'; known are easter, .*'easter'"),
        ("accept-labels = 1", "accept-labels must be true or false, not 1"),
        ("most-rows = 1.5", "most-rows must be a whole number, not 1.5"),
        ("most-rows = -1", "most-rows must be 0 to"),
        ("largest-label-epsilon = nan", "largest-label-epsilon must be 0 to"),
        ("largest-learning-rate = nan", "largest-learning-rate must be 0 to inf, not nan"),
        ("largest-label-epsilon = true", "must be a number, not True"),
        ("largest-label-epsilon = 1" + "0" * 400, "largest-label-epsilon must be 0 to"),
        ('label-privacy = ["lapace"]', "did you mean 'laplace'"),
        ('peers = ["AAAA"]', "peers must be fingerprints"),
        ("least-batch-size = 9\nmost-batch-size = 8", "less than least-batch-size"),
        ("data = 3", "data must be tables"),
        ("[data.a]", "must have either tables or dataset"),
        ('[data.a]\ntables = ["/a"]\ndataset = "wine"', "must have either tables or dataset"),
        ('[data.a]\ntables = ["a.toml"]', "tables must be absolute paths"),
        ('[data.a]\ndataset = "win"', "did you mean 'wine'"),
        ('[data.a]\ndataset = "own"', "unknown 'own'"),
        ('[data.a]\nsigma = 1.0', "unknown key 'sigma'"),
        ('[data."../a"]\ndataset = "wine"', r"\[data\.\.\./a\] must be up to 64 letters"),
        ('[data.a]\ndataset = "wine"\n[data.b]\ndataset = "wine"', "stands in another entry"),
        ("name = ", "cannot be read as toml"),
        ("name = " + "[" * 5000, "cannot be read as toml"),
    ],
)  # fmt: skip
def test_a_bad_file_is_refused_in_one_line(file: Path, text: str, says: str) -> None:
    named = "" if "name" in text or not text else 'name = "bank"\n'
    file.write_text(named + text)
    with pytest.raises(PolicyError, match=says) as caught:
        read_policy(file)
    assert str(file) in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_may_write_is_refused(file: Path, mode: int) -> None:
    file.chmod(mode)
    with pytest.raises(PolicyError, match="may be written by others; chmod go-w it"):
        read_policy(file)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_file_of_another_user_is_refused(file: Path) -> None:
    os.chown(file, 12345, -1)
    with pytest.raises(PolicyError, match="belongs to another user"):
        read_policy(file)


def test_odd_files_are_refused(file: Path, tmp_path: Path) -> None:
    (tmp_path / "link.toml").symlink_to(file)
    for path, says in (
        (tmp_path / "link.toml", "is a link"),
        (tmp_path, "is no regular file"),
        (tmp_path / "none.toml", "cannot be read: No such file"),
        (Path("/dev/null"), "is no regular file"),
    ):
        with pytest.raises(PolicyError, match=says):
            read_policy(path)
    file.write_bytes(b"\xff")
    with pytest.raises(PolicyError, match="cannot be read as toml"):
        read_policy(file)
    file.write_bytes(b"#" * 2**21)
    with pytest.raises(PolicyError, match="larger than 1 MiB"):
        read_policy(file)


def test_without_entries_no_data_set_has_an_account() -> None:
    assert policy_of({"name": "bank"}).data_of(RunConfig(), 1) is None
