"""Optional packages and the extras that install them.

The core runs without any of them. Whatever needs one asks for it here before work starts.
"""

from importlib.util import find_spec

from vfl_flower.common.errors import ExtraError

EXTRAS = {
    "ray": "simulation",
    "torchvision": "images",
    "PIL": "images",
    "skimage": "audit",
    "dp_accounting": "dp",
    "matplotlib": "plots",
    "tensorboard": "tensorboard",
    "mlflow": "mlflow",
    "wandb": "wandb",
    "optuna": "sweep",
    "gmpy2": "paillier",
    "prometheus_client": "serve",
    "onnx": "onnx",
    "onnxscript": "onnx",
}
"""Extra of each optional package, by the package's import name."""


def require(package: str, wanted: str) -> None:
    """Refuse work without a package that it needs.

    Parameters
    ----------
    package : str
        Import name, a key of `EXTRAS`.
    wanted : str
        What needs it, as the user calls it: an option with its value, or a command.

    Raises
    ------
    ExtraError
        Says which extra installs it.
    """
    if find_spec(package) is None:
        extra = EXTRAS[package]
        raise ExtraError(f"{wanted} needs the extra '{extra}': pip install 'vfl-flower[{extra}]'")
