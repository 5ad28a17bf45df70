"""Policy files: read whole, or refused."""

import os
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from vfl_flower.common.errors import PolicyError
from vfl_flower.config.policy.file import policy_of, read_policy
from vfl_flower.config.policy.record import DataPolicy, Policy, keys_of
from vfl_flower.config.run_config import RunConfig

OURS = "SHA256:" + "a" * 43
NOISE: dict[str, Any] = {"least_sigma": 1.5, "largest_epsilon": 3.0, "delta": 1e-6}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "policy.toml"
    path.write_text('name = "bank"\n')
    path.chmod(0o600)
    return path


def test_a_file_is_read_with_all_its_keys(file: Path) -> None:
    rules: dict[str, Any] = {"largest_share": 0.5, "largest_learning_rate": 0.5, "most_threads": 7}
    entry = DataPolicy(name="customers", tables=("/a.toml",), **NOISE)
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
        embedding_defences=("mid:0.01",),
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
        ('embedding-defences = ["none"]', "lists none; leave the key out"),
        ('embedding-defences = ["mid"]', r"embedding-defences: embedding-defence must be "),
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
