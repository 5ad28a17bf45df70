"""Device of a party's network: the processor, or an NVIDIA GPU.

Columns and networks live on the device. What enters and leaves them (embeddings, logits, gradients)
lies in ordinary memory, where it travels anyway, so no method ever meets a device.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

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
    return nullcontext() if precision == "float32" else _in_bfloat16(device.type)


@contextmanager
def _in_bfloat16(kind: str) -> Iterator[None]:
    with torch.autocast(kind, torch.bfloat16), _OneColumn():
        yield


class _OneColumn(TorchFunctionMode):
    """Takes strides from convolutions that leave one column.

    With a stride of 1 along the width the result is the same, but right: with a longer one the
    kernels that torch has for Intel's AMX read past the image
    (https://github.com/pytorch/pytorch/issues/169688).
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401
        """Call a function of torch."""
        called = partial(_convolved, func) if func in (torch.conv1d, torch.conv2d) else func
        return called(*args, **(kwargs or {}))


def _convolved(
    convolve: Callable[..., Tensor],
    input: Tensor,  # noqa: A002
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: str | int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Tensor:
    """Convolve, with `stride` only where it matters; parameters are torch's own."""
    strides = _along(stride, weight)
    around = 0 if isinstance(padding, str) else _along(padding, weight)[-1]
    steps = input.shape[-1] + 2 * around - _along(dilation, weight)[-1] * (weight.shape[-1] - 1) - 1
    if 0 <= steps < strides[-1]:
        ours = (*strides[:-1], 1)
        return convolve(input, weight, bias, ours, padding, dilation, groups)[..., :1]
    return convolve(input, weight, bias, stride, padding, dilation, groups)


def _along(value: int | Sequence[int], weight: Tensor) -> Sequence[int]:
    """Return a number for each dimension of the images."""
    numbers = [value] if isinstance(value, int) else [*value]
    return numbers * (weight.ndim - 2) if len(numbers) == 1 else numbers


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
