"""Label differential privacy: mechanisms keep epsilon, and only noisy labels leave."""

import json
import math
import random
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import one_hot

from tests.helpers.contract import CASES, Tap, method_of, used
from tests.helpers.outcomes.attempts import Attempt
from tests.helpers.outcomes.commands import train as run
from vfl_flower.common.errors import ConfigError, Interrupted, RunError
from vfl_flower.common.names import load_object
from vfl_flower.config.catalog import LABEL_MECHANISMS
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.schema import declared_in
from vfl_flower.privacy.label_dp.mechanisms import (
    Alibi,
    LabelNoise,
    Laplace,
    RandomizedResponse,
    compact,
)
from vfl_flower.privacy.label_dp.training_labels import (
    NOISED,
    epsilon_of,
    label_report,
    noise_of,
    received,
)
from vfl_flower.transport.endpoint import Endpoint
from vfl_flower.transport.local import serve
from vfl_flower.workflows.build_parties import build_active, build_passive

ALL = sorted(LABEL_MECHANISMS)
CHECKED = [case for case in CASES if "share_check" in CASES[case]]
LEFT_OUT = ("logistic", "logistic with lasso", *CHECKED)
TEACHING = [case for case in CASES if method_of(case).teaches and case not in LEFT_OUT]
epsilons = st.floats(0.001, 20)


def made(mechanism: str, classes: int, epsilon: float, sensitivity: float) -> LabelNoise:
    noise: LabelNoise = load_object(LABEL_MECHANISMS[mechanism])(classes, epsilon, sensitivity)
    return noise


def entropy(seed: int = 0) -> random.Random:
    return random.Random(seed)  # noqa: S311


def labels(count: int, classes: int) -> Tensor:
    return torch.arange(count) % classes


# The bound ------------------------------------------------------------------------------------


@given(epsilon=epsilons, classes=st.integers(2, 300))
def test_randomized_response_is_as_private_as_it_says_and_hardly_more(
    epsilon: float, classes: int
) -> None:
    """The odds of the truth are at most e."""
    noise = RandomizedResponse(classes, epsilon)
    odds, e = Decimal(noise.odds()) / 2**32, Decimal(str(epsilon)).exp()
    assert e * (1 - Decimal(2) ** -31) < odds <= e


@given(epsilon=epsilons, sensitivity=st.floats(2, 1000))
def test_laplace_is_as_private_as_it_says_and_hardly_more(
    epsilon: float, sensitivity: float
) -> None:
    """Two one-hot rows are 2048 granules apart; each is worth the rate."""
    worth = float(Laplace(10, epsilon, sensitivity).rate() * 2048)
    stated = epsilon * 2 / sensitivity
    assert worth <= stated * (1 + 1e-12)
    assert worth >= (epsilon - 1e-4) * 2 / (sensitivity + 1e-4) * (1 - 1e-12)


@pytest.mark.parametrize("mechanism", ALL)
@given(epsilon=epsilons, seed=st.integers(0, 999))
def test_no_release_is_more_than_e_times_as_likely(
    mechanism: str, epsilon: float, seed: int
) -> None:
    noise = made(mechanism, 5, epsilon, 2.0)
    likelihood = noise.log_likelihood(noise.release(labels(20, 5), entropy(seed).randbytes))
    spread = likelihood.amax(1) - likelihood.amin(1)
    assert (spread <= epsilon * (1 + 1e-5) + 1e-4).all()


@pytest.mark.parametrize("mechanism", ALL)
@pytest.mark.parametrize("classes", [2, 10])
def test_likelihood_is_that_of_the_release(mechanism: str, classes: int) -> None:
    """Bayes' rule by counting: each posterior class occurs as often."""
    noise = made(mechanism, classes, 1.0, 2.0)
    y = labels(100_000, classes)
    released = noise.release(y, entropy().randbytes)
    belief = noise.posterior(released, torch.zeros(len(y), classes))
    for low in (0.0, 0.2, 0.4, 0.6):
        chosen = (belief > low) & (belief <= low + 0.2)
        hits = one_hot(y, classes)[chosen].double()
        if chosen.sum() > 1000:
            assert abs(hits.mean() - belief[chosen].double().mean()) < 0.02


@pytest.mark.parametrize("mechanism", ALL)
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_release_has_no_bias(mechanism: str, epsilon: float) -> None:
    noise, y = made(mechanism, 4, epsilon, 2.0), torch.full((100_000,), 2)
    released = noise.release(y, entropy().randbytes)
    assert (released.dtype, released.shape) == (torch.float32, (100_000, 4))
    error = (released.double().mean(0) - torch.tensor([0.0, 0.0, 1.0, 0.0])).abs()
    assert (error < 4.5 * released.double().std(0) / math.sqrt(100_000)).all()


def test_laplace_noise_has_the_scale_of_sensitivity_over_epsilon() -> None:
    released = Laplace(10, 0.5, 2.0).release(labels(20_000, 10), entropy().randbytes)
    noise = released - one_hot(labels(20_000, 10), 10)
    assert noise.std().item() == pytest.approx(math.sqrt(2) * 2 / 0.5, rel=0.02)
    assert noise.abs().mean().item() == pytest.approx(2 / 0.5, rel=0.02)


def test_alibi_believes_its_prediction_too() -> None:
    noise = Alibi(3, 1.0)
    o, logits = torch.tensor([[0.4, -0.1, 0.3]]), torch.tensor([[0.1, 2.0, -1.0]])
    shrunk = [math.exp(-sum(abs(o[0] - one_hot(torch.tensor(c), 3))) / 2) for c in range(3)]
    joint = torch.tensor(shrunk) * logits.softmax(1)[0]
    assert torch.allclose(noise.posterior(o, logits)[0], joint / joint.sum(), atol=1e-6)


@pytest.mark.parametrize("mechanism", ALL)
@pytest.mark.parametrize("classes", [2, 300])
def test_what_travels_comes_back(mechanism: str, classes: int) -> None:
    noise = made(mechanism, classes, 1.0, 2.0)
    released = noise.release(labels(600, classes))
    assert torch.equal(received(noise.publish(released), noise), released)


@pytest.mark.parametrize(("classes", "kind"), [(256, torch.uint8), (257, torch.int32)])
def test_classes_travel_in_the_smallest_type(classes: int, kind: torch.dtype) -> None:
    published = compact(labels(600, classes), classes)
    assert published.dtype == kind
    assert torch.equal(received(published, None), labels(600, classes))


# A run ----------------------------------------------------------------------------------------


FEW = {"models": "mlp", "batch_size": 400, "train_rows": 450, "embedding_dim": 8}


def noised(case: str, mechanism: str, **changes: object) -> RunConfig:
    own = {each.name for each in declared_in(method_of(case).options)}
    return RunConfig(
        **{  # type: ignore[arg-type]
            "epochs": 2,
            **used(case, FEW),
            **({"local_epochs": 1} if "local_epochs" in own else {}),
            **CASES[case],
            "label_privacy": mechanism,
            **changes,
        }
    )


def sent_under(cfg: RunConfig, shift: int, released: Tensor | None) -> list[list[object]]:
    """Return all messages to each passive party under replaced labels."""
    active = build_active(cfg)
    active.y = (active.y + shift) % 10
    active.training_labels.labels = active.y if released is None else released
    taps = [Tap(Endpoint(build_passive(cfg, k))) for k in range(1, 4)]
    serve(active, taps)
    return [[(ins.config, ins.parameters.tensors) for ins, _ in tap.sent] for tap in taps]


CROSSED = {(case, each) for case in ("easter", "pravfed", "fdml") for each in ALL}
CELLS = CROSSED | {(case, ALL[turn % len(ALL)]) for turn, case in enumerate(TEACHING)}


@pytest.mark.usefixtures("known_draws")
@pytest.mark.parametrize(("case", "mechanism"), sorted(CELLS))
def test_what_leaves_is_a_function_of_the_noised_labels(case: str, mechanism: str) -> None:
    """Other labels with the same noisy ones send the same messages."""
    cfg = noised(case, mechanism, blinding="none", epochs=1)  # masks would differ
    noise = noise_of(cfg, 10)
    assert noise is not None
    released = noise.release(labels(1797, 10), entropy(7).randbytes)
    one, other = (sent_under(cfg, shift, released) for shift in (0, 3))
    assert min(map(len, one)) > 1
    assert one == other


@pytest.mark.parametrize("case", TEACHING)
def test_without_protection_the_labels_decide_what_leaves(case: str) -> None:
    """The test above can fail."""
    cfg = noised(case, "none", blinding="none", epochs=1)
    assert sent_under(cfg, 0, None) != sent_under(cfg, 3, None)


def test_noise_does_not_follow_from_the_seed() -> None:
    one, other = (
        build_active(noised("easter", "laplace")).training_labels.labels for _ in range(2)
    )
    assert not torch.equal(one, other)


@pytest.mark.parametrize("case", ["easter", "splitnn", "pravfed", "fdml", "adptvfedconv"])
def test_noise_is_drawn_once_and_kept_when_a_run_resumes(case: str, tmp_path: Path) -> None:
    cfg = noised(case, "randomized-response")
    first = stopped(cfg, tmp_path / "run")
    again = Attempt(cfg, tmp_path / "run")
    fresh = again.active.training_labels.labels.clone()
    again.run()
    assert torch.equal(again.active.training_labels.labels, first.active.training_labels.labels)
    assert not torch.equal(again.active.training_labels.labels, fresh)


def stopped(cfg: RunConfig, folder: Path) -> Attempt:
    attempt = Attempt(cfg, folder)
    with pytest.raises(Interrupted):
        attempt.run(stop_at=2)
    return attempt


def test_a_run_without_checkpoints_starts_again_with_the_same_noise(tmp_path: Path) -> None:
    cfg = noised("pravfed", "laplace")
    first = stopped(cfg, tmp_path / "run")
    for kept in (tmp_path / "run").rglob("checkpoint-*"):
        kept.unlink()
    again = Attempt(cfg, tmp_path / "run")
    again.run()
    assert torch.equal(again.active.training_labels.labels, first.active.training_labels.labels)


def test_a_run_that_has_lost_its_noise_is_refused(tmp_path: Path) -> None:
    cfg = noised("easter", "laplace")
    stopped(cfg, tmp_path / "run")
    (tmp_path / "run" / "active" / NOISED).unlink()
    with pytest.raises(RunError, match=r"noised once more, and label-epsilon would not be true"):
        Attempt(cfg, tmp_path / "run").run()


def test_only_noised_labels_are_kept_in_a_file(tmp_path: Path) -> None:
    Attempt(noised("easter", "none"), tmp_path / "bare").run()
    assert not (tmp_path / "bare" / "active" / NOISED).exists()
    Attempt(noised("easter", "alibi"), tmp_path / "noised").run()
    assert (tmp_path / "noised" / "active" / NOISED).stat().st_mode & 0o777 == 0o600


def test_seeds_add_their_epsilons_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--label-privacy", "laplace", "--label-epsilon", "0.5", "--epochs", "1"]
    out = str(tmp_path / "runs")
    assert run([*flags, "--models", "mlp", "--baselines", "off", "--seeds", "3", "--out", out]) == 0
    summary = json.loads((tmp_path / "runs" / "result.json").read_text())
    assert summary["label_privacy"]["epsilon"] == 1.5
    assert "epsilon 1.5 a label in all" in capsys.readouterr().out


@pytest.mark.parametrize("option", ["label_epsilon", "label_sensitivity"])
def test_options_that_cannot_act_are_refused(option: str) -> None:
    with pytest.raises(ConfigError, match="easter noises no labels unless label-privacy says how"):
        RunConfig(**{option: 3.0})  # type: ignore[arg-type]


def test_result_says_what_is_covered() -> None:
    report = label_report(noised("vfedmh", "alibi", label_epsilon=2.8))
    assert report is not None
    assert (report["mechanism"], report["epsilon"], report["private"]) == ("alibi", 2.8, True)
    assert "label of each training row" in report["covers"]
    assert label_report(noised("vfedmh", "none")) is None
    forced = noised("easter", "laplace", label_sensitivity=0.5, force_sensitivity=True)
    assert epsilon_of(forced) == 4.0
    assert label_report(forced)["private"] is False  # type: ignore[index]
    other = replace(forced, label_privacy="randomized-response")  # knows no sensitivity
    assert label_report(other)["private"] is True  # type: ignore[index]


def test_understated_sensitivity_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"label-sensitivity 1 is less .* force-sensitivity"):
        noised("pravfed", "laplace", label_sensitivity=1.0)


@pytest.mark.slow
def test_more_noise_teaches_less() -> None:
    """With hardly any privacy, a run learns as from true labels."""
    accuracies = []
    all_rows = {"epochs": 4, "batch_size": 50, "train_rows": 0, "learning_rates": "0.01"}
    for epsilon in (0.05, 15.0):
        cfg = noised("easter", "randomized-response", label_epsilon=epsilon, **all_rows)
        active = build_active(cfg)
        serve(active, [Endpoint(build_passive(cfg, k)) for k in range(1, 4)])
        accuracies.append(active.progress.test["score"]["active"])
    assert accuracies[0] < 0.5 < 0.8 < accuracies[1]
