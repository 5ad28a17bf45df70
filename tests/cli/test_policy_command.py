"""``vfl-flower policy``: a policy shown, and a run checked against it."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.connections.streams import policy_file
from tests.helpers.outcomes.commands import policy
from vfl_flower.config.policy.file import read_policy
from vfl_flower.config.policy.record import OPEN, SAFE, DataPolicy, Policy
from vfl_flower.crypto.identity import fingerprint, make_identity

BANK = Policy(
    name="bank",
    most_batch_size=256,
    data=(DataPolicy(name="customers", tables=("/srv/bank/table.toml",), largest_epsilon=2.0),),
)


@pytest.mark.parametrize("shown", [SAFE, OPEN, BANK], ids=lambda each: each.name)
def test_a_policy_that_is_shown_is_a_policy_file(
    shown: Policy, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert policy(["show", str(policy_file(tmp_path, shown))]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"# digest {shown.digest}\n")
    again = tmp_path / "again.toml"
    again.write_text(text)
    again.chmod(0o600)
    assert read_policy(again) == shown


def test_without_a_file_the_default_of_a_node_is_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert policy(["show"]) == 0
    assert 'name = "default"\n' in capsys.readouterr().out


OWN = ["--dataset=own", "--parties=3", "--tables=/srv/bank/table.toml", "--models=mlp"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ([*OWN, "--method=splitnn"], "by its rule require-secure-aggregation"),
        ([*OWN, "--batch-size=257"], "by its rule most-batch-size: it is 256, and batch-size"),
        (["--dataset=digits"], "by its rule data: no entry"),
        ([*OWN, "--rank=3"], "--rank must be 1 to 2, not 3"),
        ([*OWN, "--methd=easter"], "No such option"),
    ],
)
def test_a_run_that_is_refused_ends_with_the_rule(
    options: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert policy(["check", str(policy_file(tmp_path, BANK)), *options]) == 2
    assert says in capsys.readouterr().err


def test_a_run_that_is_allowed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = policy_file(tmp_path, Policy(name="bank"))
    run = tmp_path / "run.toml"
    run.write_text('method = "vfedmh"\nmodels = "mlp"\n')
    assert policy(["check", str(file), "--config", str(run)]) == 0
    assert capsys.readouterr().out.startswith("policy 'bank' (")
    assert policy(["check", str(file), "--config", str(run), "--blinding=none"]) == 2


def test_a_check_waits_for_no_torch(tmp_path: Path) -> None:
    file = str(policy_file(tmp_path, Policy(name="bank")))
    code = "import sys; from vfl_flower.cli.main import run; "
    code += f"sys.exit(run(['policy', 'check', {file!r}]) or 'torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], timeout=120, check=True)  # noqa: S603


def test_pinned_identities_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    public = [make_identity(tmp_path / f"id-{k}") for k in (1, 2, 3)]
    lines = [f"party-{k} {(tmp_path / f'id-{k}.pub').read_text()}" for k in (1, 2, 3)]
    (tmp_path / "peers").write_text("".join(lines))
    (tmp_path / "peers").chmod(0o600)
    peers = f"--peers={tmp_path / 'peers'}"
    known = [fingerprint(each) for each in public]
    for listed, code in ((known, 0), (known[:2], 2)):
        file = str(policy_file(tmp_path, Policy(peers=tuple(listed))))
        assert policy(["check", file, peers]) == code
        assert policy(["check", file]) == 2
    assert "rule peers: the identity pinned for party-3" in capsys.readouterr().err
