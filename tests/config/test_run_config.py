"""The configuration of a run: keys, types, lists, each party's values."""

from pathlib import Path

import pytest

from tests.helpers.option_values import OPTIONS
from vfl_flower.common.errors import ConfigError
from vfl_flower.config.optimization.optimizers import OPTIMIZERS
from vfl_flower.config.registry import specs
from vfl_flower.config.run_config import RunConfig
from vfl_flower.config.schema import split_list


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("batch_size", "batch-size"),
        ("bach-size", "batch-size"),
        ("optimiser", "optimizers"),
        ("learning-rate", "learning-rates"),
    ],
)
def test_an_unknown_key_is_an_error_with_a_suggestion(typed: str, meant: str) -> None:
    with pytest.raises(ConfigError, match=f"unknown key '{typed}'; did you mean '{meant}'?"):
        RunConfig.from_mapping({typed: 1})


def test_a_key_like_no_other_lists_the_known_ones() -> None:
    with pytest.raises(ConfigError) as refusal:
        RunConfig.from_mapping({"qqqq": 1})
    assert all(name in str(refusal.value) for name in OPTIONS)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("seed", True),
        ("parties", False),
        ("parties", "4"),
        ("epochs", 20.0),
        ("epochs", None),
        ("validation", "0.1"),
        ("validation", True),
        ("party-timeout", "60"),
        ("download", 1),
        ("download", "true"),
        ("method", 3),
        ("models", ["mlp", "cnn"]),
        ("learning-rates", 0.1),
        ("data-dir", Path("data")),
    ],
)
def test_a_wrong_type_is_an_error_that_names_the_option(option: str, value: object) -> None:
    kind = type(RunConfig().to_mapping()[option]).__name__
    with pytest.raises(ConfigError, match=rf"^{option} must be .*\b{kind}\b, not"):
        RunConfig.from_mapping({option: value})


def test_an_int_will_do_for_a_float() -> None:
    cfg = RunConfig.from_mapping({"party-timeout": 5})
    assert cfg.party_timeout == 5.0
    assert type(cfg.party_timeout) is float


@pytest.mark.parametrize(
    "values",
    [
        {"parties": 2, "blinding": "none"},
        {"parties": 3},
        {"epochs": 0, "seed": 0, "eval-every": 0},
        {"embedding-dim": 1, "batch-size": 1, "eval-batch-size": 1, "checkpoint-every": 1},
        {"models": "mlp, cnn ,lenet,mlp", "optimizers": "sgd,adam,adam,sgd"},
        {"learning-rates": "auto,0.1,1e-3,auto"},
    ],
)
def test_the_edges_of_what_works(values: dict[str, object]) -> None:
    mapping = RunConfig.from_mapping(values).to_mapping()
    assert {key: mapping[key] for key in values} == values


@pytest.mark.parametrize("method", [name for name, method in specs().items() if method.blinds])
def test_a_blinded_method_needs_two_passive_parties(method: str) -> None:
    with pytest.raises(ConfigError, match="parties = 3 or more") as refusal:
        RunConfig(method=method, parties=2)
    assert method in str(refusal.value)


@pytest.mark.parametrize(
    ("option", "entry"), [("models", "mlp"), ("optimizers", "adam"), ("learning-rates", "0.1")]
)
@pytest.mark.parametrize("length", [1, 2, 3, 4, 5])
def test_lists_have_one_entry_or_one_for_each_party(option: str, entry: str, length: int) -> None:
    values = {option: ",".join([entry] * length)}
    if length in (1, 4):
        assert RunConfig.from_mapping(values).to_mapping()[option] == values[option]
    else:
        with pytest.raises(ConfigError, match=f"^{option} lists {length} values for 4 parties"):
            RunConfig.from_mapping(values)


def test_each_party_gets_its_entry() -> None:
    cfg = RunConfig(
        models="mlp, cnn,lenet,mlp",
        optimizers="sgd,adam,adagrad,momentum",
        learning_rates="0.5,auto,0.25,auto",
    )
    assert [cfg.model_of(rank) for rank in range(4)] == ["mlp", "cnn", "lenet", "mlp"]
    assert [cfg.optimizer_of(rank) for rank in range(4)] == split_list(cfg.optimizers)
    assert [cfg.rate_of(rank) for rank in range(4)] == [
        *(0.5, OPTIMIZERS["adam"].rate),
        *(0.25, OPTIMIZERS["momentum"].rate),
    ]


def test_one_entry_is_everybodys() -> None:
    cfg = RunConfig(models="cnn", optimizers="sgd", learning_rates="0.5")
    for rank in range(4):
        assert (cfg.model_of(rank), cfg.optimizer_of(rank), cfg.rate_of(rank)) == (
            "cnn",
            "sgd",
            0.5,
        )


def test_mixed_networks_repeat_beyond_four_parties() -> None:
    cfg = RunConfig(models="mixed", parties=6)
    assert [cfg.model_of(rank) for rank in range(6)] == [
        *("cnn", "lenet", "mlp", "mlp"),
        *("cnn", "lenet"),
    ]


def test_it_cannot_be_changed() -> None:
    cfg = RunConfig()
    with pytest.raises(AttributeError):
        cfg.seed = 1  # type: ignore[misc]


def test_a_method_without_optimizers_shows_none() -> None:
    shown = {name: RunConfig(method=name).steps_of(0) for name in ("easter", "boosted_trees")}
    assert shown == {"easter": "adam 0.003", "boosted_trees": "0.1"}
    assert RunConfig(method="logistic").steps_of(1) == ""
