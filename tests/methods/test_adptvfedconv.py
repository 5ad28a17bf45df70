"""AdptVFedConv: its stages, what it sends and keeps, and what it cannot work with."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, wraps
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.helpers.attempts import Sitting
from tests.helpers.contract import Tap
from tests.methods.test_joint_conv import TINY as TINIER
from vfl_flower.algorithms.augmentation import Looks, augmented, view
from vfl_flower.algorithms.feature_map_store import MAPS, Maps
from vfl_flower.common.errors import ConfigError, Interrupted, RunError, VflError
from vfl_flower.config.run_config import RunConfig
from vfl_flower.data.partition.shares import take
from vfl_flower.data.published_data import PublishedData
from vfl_flower.data.tiling import Tiling
from vfl_flower.learning.networks.cut_network import halves
from vfl_flower.parties.passive import PassiveParty
from vfl_flower.privacy.client_dp.component import ClientPrivacy
from vfl_flower.transport.endpoint import Endpoint
from vfl_flower.transport.local import run_local, serve
from vfl_flower.workflows.build_parties import build_active, build_passive

TINY = TINIER | {"train_rows": 0}  # all of them, in several messages
CFG = RunConfig(**TINY, bounds="off")
TRAIN, VALIDATION, TEST = 1294, 144, 359


def trained(cfg: RunConfig) -> tuple[Any, list[PassiveParty]]:
    active, passive = build_active(cfg), [build_passive(cfg, k) for k in range(cfg.parties - 1)]
    run_local(active, passive)
    return active, passive


# Stages -----------------------------------------------------------------------------------------

STAGES = {"pre-training": 2, "fine-tuning": 3, "upload": 8}  # 500 rows a message, two views


@cache
def two_views() -> RunConfig:
    return replace(CFG, views=2)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tensor]:
    attempt = Sitting(two_views(), tmp_path_factory.mktemp("whole") / "run")
    attempt.run()
    assert attempt.folder
    result = attempt.folder.result()
    assert result
    assert [(s["name"], s["done"]) for s in result["stages"]] == [
        (name, done + 1) for name, total in STAGES.items() for done in range(total)
    ]
    assert set(result["stages"][2]["figures"]) == {"party-1", "party-2", "party-3"}
    return attempt.active.net.state_dict()


@pytest.mark.parametrize(
    ("stage", "done"), [("pre-training", 1), ("fine-tuning", 2), ("upload", 3), ("upload", 8)]
)
def test_a_run_resumes_in_the_middle_of_every_stage(
    stage: str, done: int, whole: dict[str, Tensor], tmp_path: Path
) -> None:
    first = Sitting(two_views(), tmp_path / "run")
    with pytest.raises(Interrupted, match=f"{done} of {STAGES[stage]} of {stage}; resume"):
        first.run(stage=stage, done=done)
    second = Sitting(two_views(), tmp_path / "run")
    second.run()
    ours = second.active.net.state_dict()
    assert all(ours[name].equal(tensor) for name, tensor in whole.items())
    assert second.active.ledger.exchanges["training"] == 3 + 3 + 3
    assert not (tmp_path / "run" / "active" / MAPS).exists()


def test_maps_that_are_gone_are_told_of(tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        Sitting(CFG, tmp_path / "run").run(stop_at=3)
    (tmp_path / "run" / "active" / MAPS).unlink()
    with pytest.raises(RunError, match=rf"{MAPS} is missing or damaged; put it back, or start"):
        Sitting(CFG, tmp_path / "run").run()


def test_maps_lie_in_a_file_of_the_active_party_alone(tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        Sitting(two_views(), tmp_path / "run").run(stop_at=1)
    (file,) = tmp_path.rglob(MAPS)
    assert file.parent.name == "active"
    assert file.stat().st_mode & 0o777 == 0o600
    numbers = 8 * 4 * 4  # of a map, float32
    assert file.stat().st_size == (TRAIN * 2 + VALIDATION + TEST) * numbers * 4


def test_maps_that_are_not_what_was_put_there_are_not_learnt_from(tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        Sitting(CFG, tmp_path / "run").run(stop_at=3)
    (file,) = tmp_path.rglob(MAPS)
    content = bytearray(file.read_bytes())
    content[len(content) // 2 :] = bytes(len(content) - len(content) // 2)
    file.write_bytes(content)
    with pytest.raises(RunError, match=rf"{MAPS} is missing or damaged"):
        Sitting(CFG, tmp_path / "run").run()


def test_fine_tuning_ends_when_it_gets_no_better(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two epochs that are worse, and the weights of the best one count."""
    cfg = replace(CFG, local_epochs=9, local_patience=2)
    errors = iter([0.5, 0.4, 0.45, 0.44, 0.1] * 3)
    active, passive = build_active(cfg), [build_passive(cfg, k) for k in range(3)]
    at_best: list[Tensor] = []

    def judged(rows: Tensor) -> float:
        error = next(errors)
        if error == 0.4:
            at_best.append(next(passive[0].net.parameters()).detach().clone())
        return error

    for party in passive[1:]:
        monkeypatch.setattr(party, "error", lambda rows: 1.0)
    monkeypatch.setattr(passive[0], "error", judged)
    run_local(active, passive)
    tuned = [each for each in active.progress.stages if each.name == "fine-tuning"]
    assert len(tuned) == 4
    assert tuned[-1].figures == pytest.approx({"party-1": 0.4, "party-2": 1.0, "party-3": 1.0})
    assert tuned[-1].ended
    assert next(passive[0].net.parameters()).equal(at_best[0])


def test_without_patience_it_takes_all_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    cfg = replace(CFG, local_epochs=5, local_patience=0)
    active, passive = build_active(cfg), [build_passive(cfg, k) for k in range(3)]
    for party in passive:
        monkeypatch.setattr(party, "error", lambda rows: 1.0)
    run_local(active, passive)
    assert sum(each.name == "fine-tuning" for each in active.progress.stages) == 5


def test_maps_before_the_extractor_are_refused() -> None:
    party = build_passive(CFG, 0)
    config = {"exchange": 1, "phases": "finetune", "arrays": "1"}
    answer = party.fit([np.array(0)], config)[2]  # type: ignore[arg-type]
    assert answer["error"] == "ProtocolError"
    assert "before the extractor was sent" in str(answer["message"])


# Model transfer, padding ------------------------------------------------------------------------


def test_extractors_start_from_the_active_one_only_with_model_transfer() -> None:
    """At 1e-5 they stay close to it; alone, they are far apart."""
    distances = {}
    for transfer in (True, False):
        active, passive = trained(replace(CFG, model_transfer=transfer))
        ours, theirs = (
            torch.cat([p.detach().flatten() for p in halves(party.net)[0].parameters()])
            for party in (active, passive[0])
        )
        distances[transfer] = ((ours - theirs).norm() / ours.norm()).item()
        sent = active.ledger.payload["party-1", "training", "adapt", "down"]
        extractor = sum(
            t.numel() * t.element_size() for t in halves(active.net)[0].state_dict().values()
        )
        assert sent == 4 * (TRAIN + VALIDATION) + (extractor if transfer else 0)
    assert distances[True] < 0.02 < 0.5 < distances[False]


# What is sent -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("compression", "share"), [("float16", 0.5), ("quantize:8", 0.25)])
def test_maps_in_fewer_bytes_predict_alike(compression: str, share: float) -> None:
    exact, rough = (trained(replace(CFG, compression=c))[0] for c in ("none", compression))
    sizes = [a.ledger.payload["party-1", "training", "embed", "up"] for a in (exact, rough)]
    assert sizes[0] == 4 * TRAIN * 8 * 2 * 2
    assert sizes[1] == pytest.approx(share * sizes[0], rel=0.001)
    assert abs(accuracy(exact) - accuracy(rough)) < 0.05


def accuracy(active: Any) -> float:
    reached: float = active.progress.test["accuracy"]["active"]
    return reached


@pytest.mark.parametrize("views", [1, 3])
def test_the_ledger_has_the_price_of_views(views: int) -> None:
    active, _ = trained(replace(CFG, views=views))
    ledger = active.ledger
    assert ledger.payload["party-1", "training", "embed", "up"] == views * 4 * TRAIN * 32
    held_out = ledger.payload["party-1", "evaluation", "embed_only", "up"]
    assert held_out == 4 * (VALIDATION + TEST) * 32
    assert ledger.exchanges["training"] == 3 + 3 * views


def test_a_party_noises_maps_and_says_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No error of reconstruction is sent, and every upload counts."""
    uploads, true = dict[bytes, Tensor](), ClientPrivacy.upload

    def noted(self: ClientPrivacy, x: Tensor, repeatable: bool) -> Tensor:
        sent = true(self, x, repeatable)
        uploads[sent.numpy().tobytes()] = x
        return sent

    monkeypatch.setattr(ClientPrivacy, "upload", noted)
    cfg = replace(CFG, dp_sigma=1.0)
    active, passive = build_active(cfg), [build_passive(cfg, k, tmp_path) for k in range(3)]
    taps = [Tap(Endpoint(party)) for party in passive]
    serve(active, taps)
    replies = [array for tap in taps for array in tap.replies()]
    assert {reply.tobytes() for reply in replies} == set(uploads)
    assert all(x.numpy().tobytes() != sent for sent, x in uploads.items())
    assert active.ledger.payload["party-1", "training", "finetune", "up"] == 0
    assert {name: dict(c) for name, c in active.uploaded.items()} == {
        f"party-{k}": {"training": 3, "evaluation": 2} for k in (1, 2, 3)
    }
    assert active.budget
    assert active.budget.planned == {"training": 3, "evaluation": 2}
    assert sum(each.name == "fine-tuning" for each in active.progress.stages) == 3


def test_a_message_that_is_asked_for_again_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The active party dies before it has written down what it got; the target allows no more."""
    cfg = replace(CFG, target_epsilon=6.0)
    true, times = Maps.put, iter(range(100))

    def dies(self: Maps, number: int, rows: Tensor, maps: Tensor) -> None:
        if next(times) == 3:
            raise KeyboardInterrupt
        true(self, number, rows, maps)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Maps, "put", dies)
        Sitting(cfg, tmp_path / "run").run()
    again = Sitting(cfg, tmp_path / "run")
    again.run()
    assert again.active.budget
    assert {counts.total() for counts in again.active.uploaded.values()} == {5}


def test_a_target_that_the_uploads_exceed_is_refused_before_work_starts() -> None:
    with pytest.raises(ConfigError, match=r"^target-epsilon 1 allows \d noised uploads"):
        build_active(replace(CFG, dp_sigma=1.0, target_epsilon=1.0))


def test_noised_labels_teach_the_extractor_that_is_sent_and_nothing_else() -> None:
    cfg = replace(CFG, label_privacy="randomized-response", label_epsilon=1.0)
    noised, bare = (trained(each)[0] for each in (cfg, CFG))
    losses = [each.progress.stages[1].figures["loss"] for each in (noised, bare)]
    assert losses[0] > losses[1]  # it learns less
    assert noised.progress.records[-1].train_loss["active"] < 2.0  # and W_s, on true labels, more


def test_label_privacy_without_model_transfer_has_nothing_to_hide() -> None:
    with pytest.raises(
        ConfigError, match="label-privacy is laplace, and with adptvfedconv nothing"
    ):
        replace(CFG, label_privacy="laplace", model_transfer=False)


# Tiles and views --------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(
    grid=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    flips=st.lists(st.booleans(), min_size=1, max_size=6),
    order=st.randoms(),
)
def test_tiles_of_a_flipped_image_make_the_flipped_image(
    grid: tuple[int, int], flips: list[bool], order: Any
) -> None:
    """Whoever holds which tile."""
    rows, columns = grid
    images = torch.randn(len(flips), 2, 4 * rows, 6 * columns)
    mirrored = torch.tensor(flips)
    looks = Looks(mirrored, torch.zeros(len(flips), 2, dtype=torch.int64))
    numbers = list(range(rows * columns))
    order.shuffle(numbers)
    tiling = Tiling(grid, tuple(divmod(n, columns) for n in numbers))
    tiles = [images[:, :, 4 * r : 4 * (r + 1), 6 * c : 6 * (c + 1)] for r, c in tiling.places]
    joined = tiling.join([looks.seen(tile) for tile in tiles], mirrored)
    assert joined.equal(looks.seen(images))
    assert joined[mirrored].equal(images[mirrored].flip(3))
    assert joined[~mirrored].equal(images[~mirrored])


def test_a_tile_is_shifted_within_itself() -> None:
    x = torch.arange(16.0).reshape(1, 1, 4, 4)
    looks = Looks(torch.tensor([False]), torch.tensor([[1, -2]]))
    expected = [[2, 3, 3, 3], [2, 3, 3, 3], [6, 7, 7, 7], [10, 11, 11, 11]]
    assert looks.seen(x)[0, 0].tolist() == expected


def test_all_parties_look_alike_at_a_row_and_differently_at_views() -> None:
    cfg = replace(CFG, views=3, seed=5)
    one, other, again = (view(cfg, number, 1000, (16, 16)) for number in (1, 2, 1))
    assert one.flips.equal(again.flips)
    assert one.shifts.equal(again.shifts)
    assert not one.shifts.equal(other.shifts)
    assert 0.4 < one.flips.float().mean() < 0.6
    assert one.shifts.abs().max() == 2
    assert not view(cfg, 0, 1000, (16, 16)).flips.any()


@pytest.mark.parametrize(
    ("augment", "flips", "shifts"), [("flip", True, False), ("crop", False, True)]
)
def test_augmentation_can_be_one_of_two(augment: str, flips: bool, shifts: bool) -> None:
    looks = view(replace(CFG, views=2, augment=augment), 1, 1000, (16, 16))
    assert bool(looks.flips.any()) == flips
    assert bool(looks.shifts.any()) == shifts


def test_one_view_leaves_images_as_they_are() -> None:
    x, rows = torch.randn(3, 1, 4, 4), torch.tensor([5, 1, 8])
    assert augmented(CFG, 0, 10, rows, x) is x
    assert not augmented(replace(CFG, views=2), 0, 10, rows, x).equal(x)


# Maps -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("kept", ["file", "memory"])
def test_maps_come_back_as_they_were_put(dtype: str, kept: str, tmp_path: Path) -> None:
    views = [np.arange(10, dtype=np.int32), np.array([7, 1, 3, 9], np.int32)]
    maps = Maps(tmp_path if kept == "file" else None, views, 10, (3, 2, 2), dtype)
    given_maps = torch.randn(4, 3, 2, 2).half().float()
    rows = torch.tensor([1, 7, 9, 3])
    maps.put(1, rows, given_maps)
    maps.put(0, torch.tensor([7]), given_maps[:1])
    assert maps.take(torch.tensor([1, 0, 1]), torch.tensor([1, 7, 3])).equal(given_maps[[0, 0, 3]])
    assert maps.lacking(np.array([7, 0])).tolist() == [0]
    with pytest.raises(RunError, match="missing or damaged"):
        maps.take(torch.tensor([0]), torch.tensor([1]))
    maps.delete()
    assert not list(tmp_path.iterdir())


def test_numbers_that_are_too_large_to_be_kept_are_an_error(tmp_path: Path) -> None:
    maps = Maps(tmp_path, [np.arange(2, dtype=np.int32)], 2, (1, 1, 1), "float16")
    with pytest.raises(VflError, match="too large for float16; use compression = none"):
        maps.put(0, torch.tensor([0]), torch.full((1, 1, 1, 1), 1e5))


# Bad input --------------------------------------------------------------------------------------

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
    active, passive = build_active(CFG), [build_passive(CFG, k) for k in range(3)]
    true = passive[1].phases[phase]

    @wraps(true)
    def answer(*arrays: Tensor) -> Any:
        return lie(true(*arrays))

    passive[1].phases[phase] = answer
    run_local(active, passive)


@pytest.mark.parametrize("error", [float("nan"), float("inf"), -1.0])
def test_an_error_that_is_none_is_told_with_its_party(error: float) -> None:
    with pytest.raises(VflError, match="party-2 says that its error of reconstruction is"):
        lying("finetune", lambda answer: torch.tensor([error, 0.0]))


def test_an_answer_of_another_form_is_refused() -> None:
    with pytest.raises(VflError, match="do not fit together"):
        lying("finetune", lambda answer: torch.zeros(3))


@pytest.mark.parametrize("phase", ["embed", "embed_only"])
def test_maps_that_are_not_finite_are_told_with_their_party(phase: str) -> None:
    with pytest.raises(VflError, match="party-2 sent feature maps that are not finite; lower its"):
        lying(phase, lambda maps: maps * float("nan"))


@pytest.mark.parametrize(("rows", "number"), [(5, 1), (5, -1), (0, 0)])
def test_maps_of_no_rows_or_views_are_refused(rows: int, number: int) -> None:
    party = build_passive(CFG, 0)
    config = {"exchange": 1, "phases": "embed", "arrays": "2"}
    answer = party.fit([np.arange(rows, dtype=np.int32), np.array(number)], config)[2]  # type: ignore[arg-type]
    assert answer["error"] == "ProtocolError"


@pytest.mark.parametrize("case", UNFIT)
def test_what_it_cannot_work_with_is_told_before_work_starts(case: str) -> None:
    changes, told = UNFIT[case]
    with pytest.raises(VflError, match=told):
        build_active(RunConfig(**(TINY | changes)))


def test_a_cut_of_other_methods_is_refused() -> None:
    with pytest.raises(ConfigError, match="cut would change nothing: splitnn's networks are not"):
        RunConfig(method="splitnn", cut="2C")


@pytest.mark.parametrize(
    "change",
    [lambda x: x[:, :, :, :3], lambda x: x.repeat(1, 3, 1, 1)],
    ids=["another size", "colour against grey"],
)
def test_tiles_that_are_not_alike_are_told_at_the_roll_call(
    change: Callable[[Tensor], Tensor],
) -> None:
    active, passive = build_active(CFG), [build_passive(CFG, k) for k in range(3)]
    passive[1].data = replace(passive[1].data, x=change(passive[1].x))
    with pytest.raises(VflError, match=r"party-2 has tiles of = .*, the active party 1 x 4 x 4"):
        run_local(active, passive)


def test_parties_in_another_order_hold_other_tiles_and_the_image_is_whole() -> None:
    cfg = replace(CFG, partition="grid:2x2@3,0,2,1/4")
    data = PublishedData(cfg)
    raw = data.features
    tiles = [torch.from_numpy(take(raw, share)).float() for share in data.shares]
    assert (
        Tiling.of(cfg, raw.shape[1:])
        .join(tiles, torch.zeros(len(raw), dtype=torch.bool))
        .equal(torch.from_numpy(np.asarray(raw)).float())
    )
