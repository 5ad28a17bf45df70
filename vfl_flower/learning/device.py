"""Device of a party's network: the processor, or an NVIDIA GPU.

Columns and networks live on the device. What enters and leaves them (embeddings, logits, gradients)
lies in ordinary memory, where it travels anyway, so no method ever meets a device.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
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
    single = _SingleColumns() if kind == "cpu" else nullcontext()
    with torch.autocast(kind, torch.bfloat16), single:
        yield


class _SingleColumns(TorchFunctionMode):
    """Computes convolutions of single columns in float32.

    With a stride along the width the kernels that torch has for Intel's AMX read past the image
    where a convolution leaves one column, or a transposed one takes one
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
        given, single = kwargs or {}, _SINGLE.get(func)
        if single is None or not single(*args, **given):
            return func(*args, **given)
        with torch.autocast("cpu", enabled=False):
            whole = {name: _whole(value) for name, value in given.items()}
            return func(*map(_whole, args), **whole)


def _leaves_one(
    input: Tensor,  # noqa: A002
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: str | int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> bool:
    """Tell whether a convolution leaves one column by strides.

    Parameters are torch's own.
    """
    around = 0 if isinstance(padding, str) else _along_width(padding)
    kernel = _along_width(dilation) * (weight.shape[-1] - 1) + 1
    return 0 <= input.shape[-1] + 2 * around - kernel < _along_width(stride) != 1


def _takes_one(
    input: Tensor,  # noqa: A002
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    *_: object,
    **more: object,
) -> bool:
    """Tell whether a transposed convolution takes one column by strides."""
    return input.shape[-1] == 1 != _along_width(stride)


_SINGLE: dict[Callable[..., Any], Callable[..., bool]] = {
    torch.conv1d: _leaves_one,
    torch.conv2d: _leaves_one,
    torch.conv_transpose1d: _takes_one,
    torch.conv_transpose2d: _takes_one,
}


def _along_width(value: int | Sequence[int]) -> int:
    return value if isinstance(value, int) else value[-1]


def _whole(value: object) -> object:
    return value.float() if isinstance(value, Tensor) else value


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
