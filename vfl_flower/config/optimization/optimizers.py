"""Optimizers by name: those of `torch.optim`, and their arguments.

Limits are as narrow as torch's or narrower, so that no argument takes the place of a huge learning
rate, which the owner of a node may have refused. Arguments that choose torch's implementation and
change nothing else (``foreach``, ``fused``, ``capturable``, ``differentiable``) are left out, and
``maximize`` too: losses are minimized.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from vfl_flower.common.errors import ConfigError
from vfl_flower.config.optimization.arguments import Argument, Value, read_arguments
from vfl_flower.config.schema import check_name


def _anything(arguments: Mapping[str, Any]) -> str:
    """Accept all arguments."""
    return ""


def _nesterov(arguments: Mapping[str, Any]) -> str:
    """Refuse Nesterov's momentum without momentum, as torch does."""
    if arguments["nesterov"] and not (arguments["momentum"] > 0 and arguments["dampening"] == 0):
        return "nesterov needs momentum above 0 and dampening 0"
    return ""


def _bounded(arguments: Mapping[str, Any]) -> str:
    """Refuse averages with which a single step has no bound."""
    first, second = arguments["betas"]
    if first**2 > second:
        return "the first of betas must be at most the square root of the second"
    return ""


def _around_one(arguments: Mapping[str, Any]) -> str:
    """Refuse step factors around one, and step sizes, in the wrong order."""
    shrink, grow = arguments["etas"]
    smallest, largest = arguments["step_sizes"]
    if not shrink < 1 < grow:
        return "the first of etas must be below 1 and the second above 1"
    return "" if smallest <= largest else "the first of step_sizes must be the smaller one"


class OptimizerSpec(NamedTuple):
    """An optimizer's class and arguments.

    Attributes
    ----------
    build : str
        ``module:class`` of torch.
    rate : float
        Learning rate for ``learning-rates = auto``.
    takes : mapping of str to Argument
        Its arguments, by torch's names.
    wrong : callable
        From all arguments, defaults included, to why they do not go together, or nothing.
    steps : str
        Argument whose numbers are lengths of steps, as a learning rate is; empty if there is none.
    """

    build: str
    rate: float
    takes: Mapping[str, Argument]
    wrong: Callable[[Mapping[str, Any]], str] = _anything
    steps: str = ""


_DECAY = {"weight_decay": Argument(0.0, least=0, most=1)}
_FINE = Argument(1e-8, least=1e-20, most=1)
_SHARE = Argument(0.0, least=0, most=0.999)
_MOMENTS = {"betas": Argument((0.9, 0.999), least=0, below=1), "eps": _FINE, **_DECAY}
_ADAM = _MOMENTS | {"amsgrad": Argument(False)}
_DECOUPLED = {"decoupled_weight_decay": Argument(False)}
_SGD = {
    "momentum": _SHARE,
    "dampening": Argument(0.0, least=0, most=1),
    **_DECAY,
    "nesterov": Argument(False),
}
OPTIMIZERS = {
    "sgd": OptimizerSpec("torch.optim:SGD", 0.05, _SGD, _nesterov),
    "momentum": OptimizerSpec(
        "torch.optim:SGD",
        0.01,
        _SGD | {"momentum": _SHARE._replace(default=0.9)},
        _nesterov,
    ),
    "adagrad": OptimizerSpec(
        "torch.optim:Adagrad",
        0.02,
        {
            "lr_decay": Argument(0.0, least=0),
            **_DECAY,
            "initial_accumulator_value": Argument(0.0, least=0),
            "eps": _FINE._replace(default=1e-10),
        },
    ),
    "adam": OptimizerSpec("torch.optim:Adam", 0.003, _ADAM, _bounded),
    "adamw": OptimizerSpec(
        "torch.optim:AdamW",
        0.003,
        _ADAM | {"weight_decay": Argument(0.01, least=0, most=1)},
        _bounded,
    ),
    "adamax": OptimizerSpec("torch.optim:Adamax", 0.003, _MOMENTS, _bounded),
    "nadam": OptimizerSpec(
        "torch.optim:NAdam",
        0.003,
        {**_MOMENTS, "momentum_decay": Argument(0.004, least=0), **_DECOUPLED},
        _bounded,
    ),
    "radam": OptimizerSpec("torch.optim:RAdam", 0.003, _MOMENTS | _DECOUPLED, _bounded),
    "rmsprop": OptimizerSpec(
        "torch.optim:RMSprop",
        0.001,
        {
            "alpha": Argument(0.99, least=0, below=1),
            "eps": _FINE,
            **_DECAY,
            "momentum": _SHARE,
            "centered": Argument(False),
        },
    ),
    "adadelta": OptimizerSpec(
        "torch.optim:Adadelta",
        1.0,
        {
            "rho": Argument(0.9, least=0, below=1),
            "eps": _FINE._replace(default=1e-6),
            **_DECAY,
        },
    ),
    "adafactor": OptimizerSpec(
        "torch.optim:Adafactor",
        0.01,
        {
            "beta2_decay": Argument(-0.8, least=-10, most=0),
            "eps": Argument((None, 1e-3), least=1e-20, most=1),
            "d": Argument(1.0, least=1, most=100),
            **_DECAY,
        },
    ),
    "asgd": OptimizerSpec(
        "torch.optim:ASGD",
        0.05,
        {
            "lambd": Argument(1e-4, least=0, most=1),
            "alpha": Argument(0.75, least=0),
            "t0": Argument(1e6, least=0),
            **_DECAY,
        },
    ),
    "rprop": OptimizerSpec(
        "torch.optim:Rprop",
        0.001,
        {
            "etas": Argument((0.5, 1.2), above=0, most=100),
            "step_sizes": Argument((1e-6, 50.0), above=0),
        },
        _around_one,
        steps="step_sizes",
    ),
}
"""Optimizers by name."""

LEFT_OUT = {
    "lbfgs": "it computes the loss several times a step, and an exchange computes it once",
    "sparseadam": "it takes sparse gradients, and networks here have dense ones",
    "muon": "it takes matrices only, and networks here have vectors of biases",
}
"""Optimizers of torch that cannot work, and why."""


def read_optimizer(text: str) -> tuple[OptimizerSpec, dict[str, Value]]:
    """Read an optimizer, as in ``adamw:weight_decay=0.01``.

    Returns
    -------
    spec : OptimizerSpec
    arguments : dict
        All of them; those that are not given have their defaults.

    Raises
    ------
    ConfigError
        For an unknown name, or wrong arguments; it lists those that the optimizer takes.
    """
    name = text.partition(":")[0]
    if name in LEFT_OUT:
        raise ConfigError(f"optimizers: {name} cannot be used: {LEFT_OUT[name]}; take another one")
    if name not in OPTIMIZERS and "=" in name:
        raise ConfigError(
            f"optimizers: unknown '{name}'; put a colon between arguments, not a comma"
        )
    check_name("optimizers", name, OPTIMIZERS, listed=True)
    spec = OPTIMIZERS[name]
    arguments = {each: argument.default for each, argument in spec.takes.items()}
    arguments |= read_arguments("optimizers", text, spec.takes)
    if wrong := spec.wrong(arguments):
        raise ConfigError(f"optimizers: '{text}': {wrong}")
    return spec, arguments


def check_optimizer(text: str) -> None:
    """Refuse an optimizer that cannot be read; see `read_optimizer`."""
    read_optimizer(text)


def largest_step(text: str) -> float:
    """Return the longest step that arguments allow; 0 if none does."""
    spec, arguments = read_optimizer(text)
    lengths: Any = arguments[spec.steps] if spec.steps else (0.0,)
    return float(max(lengths))
