"""Search spaces, as they are written."""

from typing import Any

import pytest

from vfl_flower.common.errors import ConfigError
from vfl_flower.workflows.sweep.space import read_space, spaces_of


class Draws:
    """Gives the highest value that it may."""

    def suggest_categorical(self, name: str, choices: Any) -> Any:
        return choices[-1]

    def suggest_int(self, name: str, low: int, high: int, *, log: bool) -> int:
        assert type(low) is int
        return high

    def suggest_float(self, name: str, low: float, high: float, *, log: bool) -> float:
        return high / 3 if not log else low * 3.14159265


@pytest.mark.parametrize(
    ("key", "text", "first", "drawn"),
    [
        ("embedding-dim", "16,32,64", 16, 64),
        ("embedding-dim", "16..64", 16, 64),
        ("batch-size", "log:16..512", 16, 512),
        ("learning-rates", "log:1e-4..1e-1", "0.0001", "0.0003142"),
        ("learning-rates", "0.1, auto", "0.1", "auto"),
        ("stop-drop", "1..10", 1.0, 3.333),
        ("optimizers", "adam,adamw:weight_decay=0.1", "adam", "adamw:weight_decay=0.1"),
        ("models", "mlp|mlp,mlp,cnn,cnn", "mlp", "mlp,mlp,cnn,cnn"),
        ("share-labels", "false,true", False, True),
        ("rho", "0.5,1", 0.5, 1.0),
    ],
)
def test_values_have_the_option_s_type(key: str, text: str, first: Any, drawn: Any) -> None:
    space = read_space(key, text)
    values = (space.first(), space.drawn(Draws(), key))
    assert values == (first, drawn)
    assert [type(each) for each in values] == [type(first), type(drawn)]


@pytest.mark.parametrize(
    ("key", "text", "says"),
    [
        ("embeding-dim", "16,32", "did you mean 'embedding-dim'"),
        ("embedding-dim", "16,many", "takes int, not 'many'"),
        ("embedding-dim", "16..a", "no range of whole numbers"),
        ("embedding-dim", "1.5..3.5", "no range of whole numbers"),
        ("learning-rates", "1..2..3", "no range of numbers"),
        ("learning-rates", "0.1..0.1", "first end must be below"),
        ("learning-rates", "0.1..nan", "first end must be below"),
        ("learning-rates", "log:0..1", "both above 0"),
        ("share-labels", "yes,no", "takes true and false"),
        ("stop-drop", "inf,1", "takes finite numbers"),
        ("method", "easter,bogus", "unknown 'bogus'|unknown method 'bogus'"),
        ("out", "a,b", "is not what a run is"),
        ("track", "mlflow", "is not what a run is"),
        ("task", "train,align", "is not what a run is"),
    ],
)
def test_what_cannot_be_searched_is_refused(key: str, text: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        read_space(key, text)


def test_names_and_spaces_are_split_once() -> None:
    assert spaces_of(["a=1,2", "optimizers=sgd:momentum=0.9"]) == {
        "a": "1,2",
        "optimizers": "sgd:momentum=0.9",
    }


@pytest.mark.parametrize(
    ("texts", "says"),
    [([], "--over is missing"), (["a"], "must be NAME=SPACE"), (["a=1", "a=2"], "names a twice")],
)
def test_an_unnamed_or_repeated_space_is_refused(texts: list[str], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        spaces_of(texts)
