"""Codes of the confusional autoencoder, and their way back."""

import math

import pytest
import torch
from torch import Tensor

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.catalog import BINARY, MULTI_CLASS, MULTI_LABEL, REGRESSION
from vfl_flower.config.registry import METHODS, specs
from vfl_flower.config.run_config import RunConfig
from vfl_flower.learning.losses import SIGMOID, SOFTMAX, Link, loss_of
from vfl_flower.privacy.label_dp.mechanisms import Alibi
from vfl_flower.privacy.label_dp.supervision import Supervision
from vfl_flower.privacy.label_encodings.confusional import Confusional
from vfl_flower.privacy.label_encodings.encoding import LabelEncoding, encoding_of

pytestmark = pytest.mark.slow

CFG = RunConfig(method="splitnn", label_encoding="confusional:3")
ENCODED = [name for name, spec in specs().items() if spec.soft_targets]


def learnt(classes: int = 10, argument: float = 3.0, link: Link = SOFTMAX) -> Confusional:
    torch.manual_seed(0)
    made = Confusional(classes, argument, link)
    made.learn()
    return made


@pytest.fixture(scope="module")
def ten() -> Confusional:
    return learnt()


def entropy(codes: Tensor) -> float:
    return -(codes * codes.log()).sum(1).mean().item() / math.log(len(codes))


@pytest.mark.parametrize("classes", [3, 10, 30])
def test_codes_are_distributions_that_are_decoded(classes: int) -> None:
    made = learnt(classes)
    assert torch.allclose(made.codes.sum(1), torch.ones(classes))
    assert made.codes.min() > 0
    assert torch.equal(made.probabilities(made.codes).argmax(1), torch.arange(classes))
    assert not [*made.parameters()]


def test_a_code_says_nothing_of_its_class_by_its_largest_or_smallest_number(
    ten: Confusional,
) -> None:
    own = torch.arange(10)
    assert (ten.codes.argmax(1) != own).all()
    assert (ten.codes.argmin(1) != own).all()
    assert (ten.codes.diagonal() * 10 - 1).abs().max() < 0.25


def test_lambda_raises_entropy(ten: Confusional) -> None:
    assert entropy(learnt(argument=0.1).codes) < 0.9 < entropy(ten.codes) < 0.999


def test_predicted_mixtures_are_decoded_to_their_shares(ten: Confusional) -> None:
    random = torch.Generator().manual_seed(1)
    shares = (4 * torch.randn(500, 10, generator=random)).softmax(1)
    told = ten.probabilities(shares @ ten.codes)
    assert (told - shares).abs().sum(1).mean() / 2 < 0.15
    assert (told.argmax(1) == shares.argmax(1)).float().mean() > 0.9


@pytest.mark.parametrize("link", [SOFTMAX, SIGMOID])
def test_decoded_outputs_are_logits_whatever_the_loss(link: Link) -> None:
    """Files have their softmax; the loss reads its own outputs."""
    made = learnt(link=link)
    decoded, told = made.decoded(link.outputs(made.codes)), made.probabilities(made.codes)
    assert torch.allclose(decoded.softmax(1), told, atol=1e-5)
    assert torch.allclose(link.means(made.plain(decoded)), told, atol=1e-5)


def test_noised_labels_are_encoded_after_their_posterior(ten: Confusional) -> None:
    """So the encoding costs label privacy nothing."""

    class Plain(Supervision):
        def weights_of_classes(self) -> Tensor:
            return torch.linspace(0.5, 1.5, 10)

    noise = Alibi(10, 1.0)
    released, outputs = noise.release(torch.arange(10)), torch.randn(10, 10)
    encoded = Plain(loss_of("cross-entropy"), noise, ten).taught(outputs, released)
    plain = Plain(loss_of("cross-entropy"), noise).taught(ten.decoded(outputs), released)
    assert not isinstance(encoded, Tensor) and not isinstance(plain, Tensor)
    assert torch.equal(encoded.weight, plain.weight)
    assert torch.equal(encoded.y, plain.y @ ten.codes)


def test_codes_follow_from_torchs_generator_alone(ten: Confusional) -> None:
    assert torch.equal(ten.codes, learnt().codes)
    torch.manual_seed(1)
    other = Confusional(10, 3.0, SOFTMAX)
    other.learn()
    assert not torch.equal(ten.codes, other.codes)


@pytest.mark.parametrize("task", [BINARY, REGRESSION, MULTI_LABEL])
def test_labels_that_it_cannot_hide_are_refused(task: str) -> None:
    with pytest.raises(ConfigError, match=f"^label-encoding is confusional:3, .* task is {task}:"):
        encoding_of(CFG, task, 2, "cross-entropy")


def test_codes_that_cannot_be_told_apart_are_refused() -> None:
    with pytest.raises(ConfigError, match="smaller LAMBDA"):
        learnt(classes=3, argument=1e6)


def test_a_prediction_learns_no_codes() -> None:
    tables = ",".join(f"t{rank}.csv" for rank in range(CFG.parties))
    cfg = CFG.changed(task="predict", model="m", dataset="own", tables=tables, id="id")
    made = encoding_of(cfg, MULTI_CLASS, 10, "cross-entropy")
    assert isinstance(made, LabelEncoding)
    assert not made.codes.any()


@pytest.mark.parametrize("method", sorted(set(METHODS) - set(ENCODED)))
def test_other_methods_say_why_not(method: str) -> None:
    why = (
        "nothing that depends on labels leaves"
        if method in ("local", "central")
        else "gives passive parties the training labels"
        if method in ("fdml", "pravfed")
        else "sends other things that depend on labels"
    )
    with pytest.raises(ConfigError, match=f"^label-encoding is confusional:3.*{why}.*vimadmm"):
        RunConfig(method=method, label_encoding="confusional:3")


def test_shared_labels_are_refused() -> None:
    with pytest.raises(ConfigError, match="c_vfl gives passive parties the training labels"):
        RunConfig(method="c_vfl", share_labels=True, label_encoding="confusional:3")
