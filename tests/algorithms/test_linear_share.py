"""The exact share of Linear-ADMM."""

from typing import Any, cast

import pytest
import torch

from strategies.specs.linear_admm import LinearADMMOptions
from vfl_flower.algorithms.linear_share import solve_share
from vfl_flower.config.run_config import RunConfig
from vfl_flower.parties.party import Party
from vfl_flower.workflows.build_parties import build_passive

CFG = RunConfig(method="linear_admm", train_rows=200, beta=0.01, rho=0.7)
ROWS = torch.arange(80)


def weights_of(party: Party) -> tuple[torch.Tensor, torch.Tensor]:
    """Return M_k, and the columns with ones."""
    first: Any = cast("torch.nn.Sequential", party.net.embed)[-1]
    W = cast("torch.nn.Linear", party.net.decide).weight.detach().double().T
    both = torch.cat([first.weight.T, first.bias[None]]).detach().double()
    X = party.columns(ROWS).flatten(1).double()
    return both @ W, torch.cat([X, torch.ones(len(X), 1)], 1)


def minimum(party: Party, o_0: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Minimize by LBFGS and autograd."""
    start, X = weights_of(party)
    M = start.clone().requires_grad_()
    options = CFG.own(LinearADMMOptions)
    optimizer = torch.optim.LBFGS(
        [M], max_iter=3000, tolerance_grad=1e-12, tolerance_change=0, line_search_fn="strong_wolfe"
    )

    def value() -> torch.Tensor:
        optimizer.zero_grad()
        o = X @ M
        of_rows = (v * o).sum() + options.rho / 2 * (o - o_0).square().sum()
        made: torch.Tensor = of_rows / len(o) + options.beta * M.square().sum()
        made.backward()
        return made

    optimizer.step(value)
    return M.detach()


@pytest.mark.parametrize("share", [1.0, 0.3, 0.0])
def test_it_goes_a_share_of_the_way_to_the_minimum(share: float) -> None:
    party = build_passive(CFG, 1)
    before, X = weights_of(party)
    generator = torch.Generator().manual_seed(1)
    v = torch.randn(len(ROWS), 10, generator=generator)
    o_0 = (X @ before).float() + torch.randn(v.shape, generator=generator)  # as sent, noised
    end = minimum(party, o_0.double(), v.double())
    solve_share(party, ROWS, o_0, v, CFG.changed(head_rate=share).own(LinearADMMOptions))
    after, _ = weights_of(party)
    way = share or 1 / CFG.holders
    assert torch.allclose(after, before + way * (end - before), rtol=0, atol=1e-4)
    assert not torch.allclose(after, before, rtol=0, atol=1e-2)


def test_noise_on_weights_hides_no_row() -> None:
    """Why Hu et al.'s differential privacy is not offered.

    A party's shares of more rows than it has columns are equations of one M_k, however noised.
    Who knows all rows but one solves them, and tells which of two that one is.
    """
    party = build_passive(CFG, 1)
    M, X = weights_of(party)
    generator = torch.Generator().manual_seed(1)
    noised = M + 1000 * torch.randn(M.shape, generator=generator, dtype=M.dtype)
    o, other = X @ noised, X[0] + 0.01 * (X[0] != 1)
    solved = torch.linalg.lstsq(X[1:], o[1:], driver="gelsd").solution
    apart = {
        name: (row @ solved - o[0]).abs().max() for name, row in (("own", X[0]), ("other", other))
    }
    assert len(X) - 1 > X.shape[1]
    assert apart["own"] < 1e-6 < 1 < apart["other"]
