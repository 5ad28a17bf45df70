"""Networks that treat every row by itself."""

from collections.abc import Callable

from torch import Tensor, nn
from torch.func import vmap

from vfl_flower.common.errors import NetworkError
from vfl_flower.common.names import party_name
from vfl_flower.learning.networks.base import trying


def each_row(function: Callable[[Tensor], Tensor], rows: Tensor) -> Tensor:
    """Apply a function row by row: (B, ...) -> (B, ...).

    It is vectorised over rows, and none can depend on another: not by a layer that mixes a batch,
    and not by a buffer, which may not be written. Random numbers are drawn for each row.
    """

    def of_one(row: Tensor) -> Tensor:
        return function(row.unsqueeze(0)).squeeze(0)

    return vmap(of_one, randomness="different")(rows)


def check_apart(net: nn.Module, rank: int, columns: Tensor) -> None:
    """Refuse a network that cannot take each row by itself.

    Parameters
    ----------
    net : nn.Module
        With ``embed``.
    rank : int
        Of its party.
    columns : Tensor
        (n, ...), n at least 1; its first row is tried.

    Raises
    ------
    NetworkError
        Names the party, and the layer or what the network does.
    """
    remedy = "use a network without it, such as mlp, or dp-adjacency = party"
    for name, module in net.named_modules():
        mixes = isinstance(module, nn.modules.batchnorm._BatchNorm)  # noqa: SLF001  the one base
        if mixes or getattr(module, "track_running_stats", False):
            raise NetworkError(
                f"{party_name(rank)}: dp-adjacency is row, and layer '{name}' of its network "
                f"({type(module).__name__}) mixes rows; {remedy}"
            )
    try:
        with trying(net):
            each_row(net.embed, columns[:1])  # type: ignore[arg-type]
    except (RuntimeError, TypeError, ValueError) as error:
        raise NetworkError(
            f"{party_name(rank)}: dp-adjacency is row, and its network does what cannot be done "
            f"for each row apart, as a branch on values cannot ({type(error).__name__}); {remedy}"
        ) from error
