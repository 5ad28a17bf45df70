"""Device of a party's network: the processor, or an NVIDIA GPU.

Columns and networks live on the device. What enters and leaves them (embeddings, logits, gradients)
lies in ordinary memory, where it travels anyway, so no method ever meets a device.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import torch
from torch import Tensor

from vfl_flower.common.errors import ConfigError


def device_of(name: str) -> torch.device:
    """Find the device of a party on this machine.

    A GPU is set to compute as a processor does: cuDNN's deterministic algorithms, and no
    rounding of inputs to TF32.

    Parameters
    ----------
    name : str
        One of `DEVICES`; auto is a GPU if there is one.

    Raises
    ------
    ConfigError
        If it is cuda and there is none.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cpu":
        return torch.device("cpu")
    if not torch.cuda.is_available():
        raise ConfigError("device is cuda, but torch finds no NVIDIA GPU here; use cpu or auto")
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False
    return torch.device("cuda")


def described(device: torch.device) -> str:
    """Return the name of a device for reports."""
    if device.type == "cuda":
        return f"cuda ({torch.cuda.get_device_name(device)})"
    return device.type


def computing(precision: str, device: torch.device) -> AbstractContextManager[object]:
    """Return the context of a forward pass in a precision.

    With ``bf16`` layers compute in bfloat16 where torch's autocast holds that to be safe, and
    gradients do likewise; weights, and what optimizers keep, stay float32.
    """
    if precision == "float32":
        return nullcontext()
    return torch.autocast(device.type, torch.bfloat16)


def laid_out(columns: Tensor, precision: str) -> Tensor:
    """Return images as a precision's convolutions read them fastest.

    Processors with instructions for bfloat16 convolve pixel by pixel, with all channels of a pixel
    side by side; otherwise each layer would turn its input and its output around.
    """
    if precision == "float32" or columns.ndim != 4:
        return columns
    return columns.to(memory_format=torch.channels_last)


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Enclose work of so many torch threads."""
    before = torch.get_num_threads()
    use_threads(count)
    try:
        yield
    finally:
        use_threads(before)


def use_threads(count: int) -> None:
    """Set the calling thread's torch threads; float sums depend on their number."""
    if torch.get_num_threads() != count:
        torch.set_num_threads(count)
