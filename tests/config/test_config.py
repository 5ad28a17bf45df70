"""The configuration: one set of names, types and limits, wherever it comes from."""

import re
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.catalog import OPTIMIZERS
from vfl_flower.config.dataset_specs import DATASETS
from vfl_flower.config.registry import METHODS
from vfl_flower.config.run_config import UNNOISED, RunConfig, read_toml
from vfl_flower.config.schema import kebab, split_list

FEWER = settings(max_examples=15)
ROOT = Path(__file__).resolve().parents[2]
KNOBS = {kebab(each.name): each for each in fields(RunConfig)}

# for every knob values that work, all of them other than the default
GOOD: dict[str, st.SearchStrategy[object]] = {
    "method": st.just("vfedmh"),
    "dataset": st.sampled_from(("mnist", "fashion-mnist")),
    "task": st.sampled_from(("align", "predict")),
    "model": st.sampled_from(("first", "/runs/second")),
    "tables": st.sampled_from(("a.toml", "/data/b.toml")),
    "alignment": st.text(min_size=1),
    "parties": st.integers(5, 40),
    "seed": st.integers(1, 2**62),
    "data-dir": st.text(min_size=1),
    "download": st.just(False),
    "partition": st.sampled_from(("columns", "strips:rows", "grid:2x3", "importance:0.5")),
    "active-columns": st.just("none"),
    "column-noise": st.sampled_from(("1:0.5", "3:10,2:1e-3")),
    "long-tail": st.floats(1.001, 10**6),
    "validation": st.floats(0.2, 0.99),
    "train-rows": st.integers(1, 10**9),
    "models": st.sampled_from(("mlp", "cnn", "lenet")),
    "weights": st.just("a.pth"),
    "top-layers": st.integers(1, 100),
    "embedding-dim": st.integers(65, 10**6),
    "optimizers": st.sampled_from(("sgd", "momentum", "adagrad")),
    "learning-rates": st.floats(1e-9, 10).map(str),
    "schedule": st.just("cosine"),
    "epochs": st.integers(21, 10**6),
    "batch-size": st.integers(129, 10**6),
    "loss": st.sampled_from(("cross-entropy", "binary-cross-entropy")),
    "class-weights": st.just("balanced"),
    "stop-drop": st.floats(0.001, 100),
    "keep": st.just("best"),
    "eval-every": st.integers(1, 10**6),
    "eval-batch-size": st.integers(1, 4095),
    "bounds": st.sampled_from(("on", "off")),
    "blinding": st.just("none"),
    "party-randomness": st.just("private"),
    "label-privacy": st.sampled_from(("none", "laplace", "alibi", "randomized-response")),
    "label-epsilon": st.floats(0.001, 20).filter(lambda epsilon: epsilon != 1.0),
    "label-sensitivity": st.floats(2.001, 1000),
    "force-sensitivity": st.just(True),
    "dp-sigma": st.floats(0.1, 1000),
    "dp-clip": st.floats(1e-6, 1e6).filter(lambda clip: clip != 1.0),
    "dp-delta": st.floats(1e-12, 0.1).filter(lambda delta: delta != 1e-5),
    "target-epsilon": st.floats(0.001, 1000),
    "dp-eval": st.just("clear"),
    "dp-accountant": st.just("pld"),
    "local-epochs": st.integers(5, 10**6),
    "local-output": st.just("softmax"),
    "aggregation": st.just("average"),
    "cut": st.sampled_from(("1C", "2C", "7C+3M")),
    "width": st.floats(0.01, 0.99),
    "padding": st.just("zeros"),
    "model-transfer": st.just(False),
    "pretrain-epochs": st.integers(21, 10**6),
    "extractor-rate": st.floats(1e-9, 1e-6),
    "decoder-rate": st.floats(0.002, 10),
    "local-patience": st.integers(3, 10**6),
    "views": st.integers(2, 100),
    "augment": st.sampled_from(("flip", "crop")),
    "top-gradient": st.just("after"),
    "compression": st.sampled_from(("none", "float16", "topk:0.25", "topk:1", "quantize:16")),
    "local-steps": st.integers(5, 10**6),
    "share-labels": st.just(True),
    "vafl-mode": st.just("asynchronous"),
    "rho": st.floats(0.001, 0.9),
    "beta": st.floats(0.006, 1000),
    "heads": st.just("ridge"),
    "head-rate": st.floats(0.001, 1000),
    "participation": st.floats(0.001, 0.999),
    "out": st.text(min_size=1),
    "tensorboard": st.just(True),
    "checkpoint-every": st.integers(2, 10**6),
    "device": st.sampled_from(("cpu", "cuda")),
    "threads": st.integers(2, 64),
    "carrier": st.sampled_from(("local", "messages", "stream")),
    "run-name": st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,20}", fullmatch=True),
    "stream-listen": st.sampled_from(("0.0.0.0:9443", "[::1]:9443", "host.example:1")),
    "stream-advertise": st.sampled_from(("host.example:9443", "10.0.0.1:1")),
    "stream-grace": st.floats(0.001, 1e9).filter(lambda seconds: seconds != 60.0),
    "answer-timeout": st.floats(0.001, 1e9).filter(lambda seconds: seconds != 600.0),
    "return-timeout": st.floats(0.001, 1e9).filter(lambda seconds: seconds != 300.0),
    "party-timeout": st.floats(0.001, 1e9).filter(lambda seconds: seconds != 60.0),
}

BAD: list[tuple[str, object]] = [
    ("method", "eastr"),
    ("method", ""),
    ("dataset", "cifar"),
    ("task", "test"),
    ("task", "align"),  # of data that are aligned
    ("model", "first"),  # which trains nothing
    ("tables", "a.toml"),
    ("alignment", "runs/aligned"),
    ("class-weights", "equal"),
    ("partition", "strip"),
    *(("partition", f"strips:{axis}") for axis in ("row", "columns:rows", " rows")),
    *(("partition", f"grid:{shape}") for shape in ("", "2", "2x", "0x4", "2x-2", "2x2x2", "axb")),
    *(("partition", f"overlapping:{size}") for size in ("", "0", "-3", "2.5", "x")),
    *(("partition", f"listed:{lists}") for lists in ("", "0-3;", "0,0", "3-1", "a", "0;;1", "-1")),
    *(
        ("partition", f"importance:{alpha}")
        for alpha in ("", "0", "-1", "nan", "inf", "1e308", "x")
    ),
    *(("partition", f"correlation:{beta}") for beta in ("", "-0.1", "1.1", "nan", "x")),
    ("partition", "columns:3"),
    *(("partition", f"auto@{kept}") for kept in ("", "0-3", "0-3/3", "0-3/0", "0,0-2/5", "a/4")),
    *(("partition", f"auto@{kept}") for kept in ("0-2/4", "0-4/9")),  # four parties
    ("active-columns", "labels"),
    *(("column-noise", noise) for noise in ("2", "1:a", "1:1:1", "1:1,", "4:1", "-1:1")),
    *(("column-noise", noise) for noise in ("1:0", "1:-1", "1:nan", "1:inf", "1:1,1:2")),
    *(("long-tail", factor) for factor in (0.5, -1.0, 1e7, float("nan"))),
    ("schedule", "linear"),
    ("blinding", "pairs"),
    ("blinding", ""),
    ("party-randomness", "secret"),
    ("label-privacy", "gauss"),
    *(("label-epsilon", epsilon) for epsilon in (0.0, -1.0, 21.0, float("nan"), float("inf"))),
    *(("label-sensitivity", least) for least in (0.0, -2.0, 1.0, 1e4, float("nan"))),
    *(("dp-sigma", sigma) for sigma in (-1.0, 0.01, 1e4, float("nan"), float("inf"))),
    *(("dp-clip", clip) for clip in (0.0, -1.0, 1e7, float("nan"))),
    *(("dp-delta", delta) for delta in (0.0, -1e-5, 0.5, 1.0, float("nan"))),
    *(("target-epsilon", epsilon) for epsilon in (-1.0, 1e-4, 1e4, float("nan"))),
    ("dp-eval", "none"),
    ("dp-accountant", "zcdp"),
    ("local-epochs", 0),
    ("local-output", "logits"),
    ("aggregation", "median"),
    ("cut", "2C"),  # of a method whose networks are not
    ("cut", ""),
    *(("width", width) for width in (0.0, -1.0, 5.0, float("nan"))),
    ("padding", "reflect"),
    ("pretrain-epochs", -1),
    *(("extractor-rate", rate) for rate in (0.0, -1.0, float("nan"), float("inf"))),
    *(("decoder-rate", rate) for rate in (0.0, -1.0, float("nan"), float("inf"))),
    ("local-patience", -1),
    *(("views", views) for views in (0, -1, 101)),
    ("augment", "rotate"),
    ("top-gradient", "never"),
    ("vafl-mode", "async"),
    *(("rho", rho) for rho in (0.0, -1.0, 1001.0, float("nan"))),
    *(("beta", beta) for beta in (-0.1, 1001.0, float("nan"))),
    ("heads", "exact"),
    *(("head-rate", rate) for rate in (-0.1, 1001.0, float("nan"))),
    *(("participation", share) for share in (0.0, -0.5, 1.1, float("nan"))),
    *(("compression", form) for form in ("topk", "topk:0", "topk:1.5", "quantize:9", "gzip")),
    ("local-steps", 0),
    ("bounds", "yes"),
    *(("stop-drop", points) for points in (-1.0, 100.1, float("nan"))),
    ("keep", "first"),
    *(("loss", loss) for loss in ("hinge", "mean-squared-error")),  # of classes
    ("embedding-dim", 0),
    ("top-layers", -1),
    ("top-layers", 101),
    ("batch-size", 0),
    ("batch-size", -128),
    ("eval-batch-size", 0),
    ("checkpoint-every", 0),
    ("threads", 0),
    ("device", "gpu"),
    ("carrier", "grpc"),
    ("run-name", "../other"),
    ("run-name", ".."),
    ("run-name", "a b"),
    ("stream-listen", "9443"),
    ("stream-listen", "host:"),
    ("stream-advertise", "https://host:1"),
    ("stream-grace", 0.0),
    ("return-timeout", -1.0),
    ("answer-timeout", float("inf")),
    ("stream-grace", float("nan")),
    ("epochs", -1),
    ("seed", -1),
    ("eval-every", -1),
    ("parties", 1),
    ("parties", 0),
    ("validation", 0.0),
    ("train-rows", -1),
    ("validation", 1.0),
    ("validation", -0.1),
    ("validation", float("nan")),
    ("party-timeout", 0.0),
    ("party-timeout", -1.0),
    ("party-timeout", float("inf")),
    ("party-timeout", float("nan")),
    ("models", "resnet"),
    ("models", ""),
    ("models", "mixed,mlp,mlp,mlp"),
    ("optimizers", "adamw"),
    ("optimizers", "adam,adam,adam,"),
    ("learning-rates", ""),
    ("weights", "a.pth,b.pth"),
    ("models", "package.module"),
    ("models", ":Class"),
    ("learning-rates", "fast"),
    ("learning-rates", "0"),
    ("learning-rates", "-0.1"),
    ("learning-rates", "nan"),
    ("learning-rates", "inf"),
    ("learning-rates", "auto,0.1,0.1,zero"),
]


def test_every_knob_is_tried_below() -> None:
    """A new knob must come with good and, unless it takes anything, bad values."""
    assert set(GOOD) == set(KNOBS)
    assert set(KNOBS) - {key for key, _ in BAD} == {
        *("data-dir", "download", "out", "tensorboard", "force-sensitivity", "share-labels"),
        "model-transfer",
    }


def test_names_are_kebab_case() -> None:
    assert all(name == name.lower() and "_" not in name for name in KNOBS)
    assert {"embedding-dim", "eval-batch-size", "party-timeout", "data-dir"} < set(KNOBS)
    assert list(RunConfig().to_mapping()) == list(KNOBS)


def test_the_help_names_every_data_set_once() -> None:
    told = re.findall(r"[a-z][a-z0-9-]+", KNOBS["dataset"].metadata["help"])
    assert sorted(word for word in told if word not in ("or", "tables")) == sorted(DATASETS)


def test_every_knob_says_what_it_means() -> None:
    for each in KNOBS.values():
        assert each.metadata["help"]
        assert each.metadata["group"]


UNCUT = {
    *("partition", "models", "weights", "top-layers", "active-columns", "model-transfer"),
    *("heads", "participation"),
}
"""Knobs that networks which are cut in two do not go with, or not with all values."""

OF_TABLES = {"task", "tables", "alignment", "model"}


def of_tables(values: dict[str, object]) -> dict[str, object]:
    """Add what runs on own tables need, and leave out what they cannot have."""
    left_out = {"partition", "cut", "width", "views", "augment"}
    kept = {key: value for key, value in values.items() if key not in left_out}
    made = {"tables": "a.toml"} | kept | {"dataset": "own"}
    if made.get("task") == "predict" or "model" in made:
        return {"model": "first"} | made | {"task": "predict"}
    return made


def whole(values: dict[str, object]) -> dict[str, object]:
    """Add what some knobs need, a method or a mechanism, and leave out what they cannot have."""
    of_noise = {"label-epsilon", "label-sensitivity", "force-sensitivity"}
    if "class-weights" in values:
        left_out = of_noise | {"label-privacy", "heads", "participation"}
        values = {key: value for key, value in values.items() if key not in left_out}
    if OF_TABLES & set(values):
        values = of_tables(values)
    if "long-tail" in values:
        left_out = of_noise | {"schedule", "label-privacy"}
        values = {key: value for key, value in values.items() if key not in left_out}
    of_uploads = {"dp-sigma", *map(kebab, UNNOISED)} & set(values)
    if of_uploads or values.get("active-columns") == "none":
        values = values | {"method": "splitnn"}
    if {"participation", "heads"} & set(values):
        left = {k: v for k, v in values.items() if k not in ("loss", "blinding", "top-layers")}
        values = left | {"method": "vimadmm"}
    if of_noise & set(values) and values.get("label-privacy", "auto") == "auto":
        values = values | {"label-privacy": "laplace"}
    if set(map(kebab, UNNOISED)) & set(values):
        values = {"dp-sigma": 2.0, "method": "splitnn"} | values
    if "augment" in values:
        values = {"views": 2} | values
    if {"cut", "width", "views"} & set(values):
        values = {k: v for k, v in values.items() if k not in UNCUT} | {"method": "adptvfedconv"}
    return values


@pytest.mark.parametrize("option", GOOD)
def test_every_knob_arrives_under_its_name(option: str) -> None:
    @FEWER
    @given(GOOD[option])
    def arrives(value: object) -> None:
        cfg = RunConfig.from_mapping(whole({option: value}))
        assert getattr(cfg, KNOBS[option].name) == value
        changed = {k for k, v in cfg.to_mapping().items() if v != RunConfig().to_mapping()[k]}
        assert changed == set(whole({option: value}))

    arrives()


@FEWER
@given(st.fixed_dictionaries({}, optional=GOOD))
def test_mappings_and_toml_round_trip(values: dict[str, object]) -> None:
    cfg = RunConfig.from_mapping(whole(values))
    assert RunConfig.from_mapping(cfg.to_mapping()) == cfg
    mapping = tomllib.loads(tomli_w.dumps(cfg.to_mapping()))
    assert RunConfig.from_mapping(mapping) == cfg
    assert {k: type(v) for k, v in mapping.items()} == {
        k: type(each.default) for k, each in KNOBS.items()
    }


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
    assert all(name in str(refusal.value) for name in KNOBS)


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
def test_a_wrong_type_is_an_error_that_names_the_knob(option: str, value: object) -> None:
    kind = type(RunConfig().to_mapping()[option]).__name__
    with pytest.raises(ConfigError, match=rf"^{option} must be .*\b{kind}\b, not"):
        RunConfig.from_mapping({option: value})


def test_an_int_will_do_for_a_float() -> None:
    cfg = RunConfig.from_mapping({"party-timeout": 5})
    assert cfg.party_timeout == 5.0
    assert type(cfg.party_timeout) is float


@pytest.mark.parametrize(("option", "value"), BAD)
def test_a_value_that_cannot_work_is_an_error_that_names_the_knob(
    option: str, value: object
) -> None:
    with pytest.raises(ConfigError, match=f"^{option}\\b"):
        RunConfig.from_mapping({option: value})


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


@pytest.mark.parametrize("method", [name for name, method in METHODS.items() if method.blinds])
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


def test_pyprojects_defaults_are_these_in_keys_values_and_types() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        theirs = tomllib.load(file)["tool"]["flwr"]["app"]["config"]
    ours = RunConfig().to_mapping() | {"resume": ""}  # a flag of its own in run_simulation.py
    assert theirs == ours
    assert {k: type(v) for k, v in theirs.items()} == {k: type(v) for k, v in ours.items()}


@pytest.mark.parametrize("path", sorted((ROOT / "conf").glob("*.toml")), ids=lambda p: p.name)
def test_ready_made_configurations_work(path: Path) -> None:
    RunConfig.from_mapping(read_toml(path))


def test_toml_that_cannot_be_read_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    for content in (None, b"seed = ", b"\xff\xfe", b"seed = 1\nseed = 2"):
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(ConfigError, match=r"run\.toml"):
            read_toml(path)


def test_toml_with_a_section_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text("seed = 1\n[training]\nepochs = 2\n")
    with pytest.raises(ConfigError, match="training"):
        RunConfig.from_mapping(read_toml(tmp_path / "run.toml"))
