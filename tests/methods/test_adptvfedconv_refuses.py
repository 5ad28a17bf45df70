"""Input and answers that AdptVFedConv refuses."""

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.methods.test_joint_conv import TINY as TINIER
from vfl_flower.common.errors import ConfigError, VflError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.transport.local import run_local
from vfl_flower.workflows.build_parties import build_active, build_passive

TINY = TINIER | {"train_rows": 0}  # all of them, in several messages
CFG = RunConfig(**TINY, baselines="off")


UNFIT: dict[str, tuple[dict[str, Any], str]] = {
    "no tile": ({"active_columns": "none"}, "active-columns is none, and adptvfedconv needs"),
    "no grid": ({"partition": "strips"}, "partition is strips.*use grid:2x2"),
    "a grid of others": ({"partition": "grid:2x3"}, "has 6 tiles, and adptvfedconv needs all"),
    "a missing tile": ({"partition": "grid:2x3@0-3/6"}, "needs all of them, one from each of 4"),
    "a grid that does not divide": (
        {"parties": 5, "models": "vgg16_bn", "cut": "2C+1M"},
        "grid:1x5 does not divide images of 8 x 8 pixels",
    ),
    "a table": ({"dataset": "wine"}, "partition grid cuts images|wine has none"),
    "nothing left of a tile": (
        {"models": "vgg16_bn", "cut": "7C+3M", "width": 0.01},
        r"active: the network has no cut '7C\+3M' for images of 1 x 4 x 4",
    ),
    "a pooling that does not divide": (
        {
            "parties": 16,
            "partition": "grid:4x4",
            "cut": "two",
            "models": "tests.helpers.networks:Thrice",
        },
        "are not the 8 x 3 x 3 that the whole image gives",
    ),
    "an unknown cut": ({"cut": "three"}, "no cut 'three'.*cuts are one, two"),
    "no cut": ({"cut": ""}, "cut is empty"),
    "another network": ({"models": "cnn"}, "models is cnn, and adptvfedconv needs one network"),
    "several networks": (
        {"models": "vgg16_bn,vgg16_bn,vgg16_bn,tests.helpers.networks:TinyChain"},
        "needs one network for all",
    ),
    "a network without layers": (
        {"models": "tests.helpers.networks:NoChain"},
        "cannot be built|`layers`",
    ),
    "its own width": (
        {"width": 0.5},
        "width is 0.5, and the widths of tests.helpers.networks:TinyChain",
    ),
    "augmentation of nothing": ({"augment": "flip"}, "augment would change nothing"),
    "a classifier of other classes": (
        {"models": "tests.helpers.networks:TooMany"},
        "make 13 of maps of 8 x 4 x 4, and there are 10 classes",
    ),
    "a classifier of tiles alone": (
        {"models": "tests.helpers.networks:TileChain"},
        "active: the network cannot take 8 x 4 x 4",
    ),
    "a classifier that learns nothing": (
        {"models": "tests.helpers.networks:Unlearning"},
        "the layers behind the cut two have nothing to learn",
    ),
    "published weights": ({"weights": "a.pth"}, "weights is 'a.pth', which networks that are cut"),
    "blinding": ({"blinding": "pairwise"}, "blinding is pairwise, and adptvfedconv needs each"),
}


def lying(phase: str, lie: Callable[[Any], Any]) -> None:
    """Run with a second party that answers otherwise in one phase."""
    active, passive = build_active(CFG), [build_passive(CFG, k) for k in range(1, 4)]
    true = passive[1].phases[phase]

    @wraps(true)
    def answer(*arrays: Tensor) -> Any:
        return lie(true(*arrays))

    passive[1].phases[phase] = answer
    run_local(active, passive)


@pytest.mark.parametrize("error", [float("nan"), float("inf"), -1.0])
def test_an_error_that_is_none_is_told_with_its_party(error: float) -> None:
    with pytest.raises(VflError, match="party-2 answered 'finetune'"):
        lying("finetune", lambda answer: torch.tensor([error, 0.0]))


def test_an_answer_of_another_form_is_refused() -> None:
    with pytest.raises(VflError, match="the answer to 'finetune'"):
        lying("finetune", lambda answer: torch.zeros(3))


@pytest.mark.parametrize("phase", ["embed", "embed_only"])
def test_maps_that_are_not_finite_are_told_with_their_party(phase: str) -> None:
    with pytest.raises(VflError, match=f"party-2 answered '{phase}' .* not finite"):
        lying(phase, lambda maps: maps * float("nan"))


@pytest.mark.parametrize(("rows", "number"), [(5, 1), (5, -1), (0, 0)])
def test_maps_of_no_rows_or_views_are_refused(rows: int, number: int) -> None:
    party = build_passive(CFG, 1)
    config = {"exchange": 1, "phases": "embed", "arrays": "2"}
    answer = party.fit([np.arange(rows, dtype=np.int32), np.array(number)], config)[2]  # type: ignore[arg-type]
    assert answer["error"] == "ProtocolError"


@pytest.mark.parametrize("case", UNFIT)
def test_what_it_cannot_work_with_is_told_before_work_starts(case: str) -> None:
    changes, told = UNFIT[case]
    with pytest.raises(VflError, match=told):
        build_active(RunConfig(**(TINY | changes)))


def test_a_cut_of_other_methods_is_refused() -> None:
    with pytest.raises(
        ConfigError, match=r"^cut is adptvfedconv's, .*; splitnn has no such option"
    ):
        RunConfig(method="splitnn", cut="2C")


@pytest.mark.parametrize(
    "change",
    [lambda x: x[:, :, :, :3], lambda x: x.repeat(1, 3, 1, 1)],
    ids=["another size", "colour against grey"],
)
def test_tiles_that_are_not_alike_are_told_at_the_roll_call(
    change: Callable[[Tensor], Tensor],
) -> None:
    active, passive = build_active(CFG), [build_passive(CFG, k) for k in range(1, 4)]
    passive[1].data = replace(passive[1].data, x=change(passive[1].data.numbers))
    with pytest.raises(VflError, match=r"party-2 has tiles of = .*, the active party 1 x 4 x 4"):
        run_local(active, passive)
