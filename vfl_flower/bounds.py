"""The two bounds that every result stands between: alone, and all columns in one place.

Both are plain training of the active party's network, optimiser and batches, without any protocol.
`central` needs everybody's columns and exists in simulation only.
"""

import torch
from torch import Tensor

from vfl_flower.active import ActiveParty
from vfl_flower.build import build_member
from vfl_flower.config import RunConfig
from vfl_flower.data import DATASETS, all_columns
from vfl_flower.losses import Loss
from vfl_flower.member import Member
from vfl_flower.randomness import batches


def wanted(cfg: RunConfig) -> bool:
    """Tell whether a run is to train its bounds."""
    return cfg.bounds == "on" or (cfg.bounds == "auto" and DATASETS[cfg.dataset].small)


def bounds_of(active: ActiveParty) -> dict[str, float]:
    """Train both bounds of a run.

    Returns
    -------
    dict of str to float
        Test accuracy of ``local`` (the active party's columns) and ``central`` (all columns).
    """
    cfg = active.cfg
    active.use_threads()
    contenders = {"local": active.x, "central": all_columns(cfg)}
    return {name: _fit(build_member(cfg, 0, x), active) for name, x in contenders.items()}


def _fit(member: Member, active: ActiveParty) -> float:
    """Train one network and return its test accuracy."""
    cfg, y = active.cfg, active.y
    member.net.train()
    for epoch in range(cfg.epochs):
        for batch in batches(cfg.seed, epoch, active.rows["train"], cfg.batch_size):
            rows = torch.from_numpy(batch)
            member.descent.down(_loss(member, rows, y, active.loss))
    member.net.eval()
    test = torch.from_numpy(active.rows["test"])
    with torch.no_grad():
        chunks = [member.decide(member.embed_rows(r)) for r in test.split(cfg.eval_batch_size)]
    return (torch.cat(chunks).argmax(1) == y[test]).double().mean().item()


def _loss(member: Member, rows: Tensor, y: Tensor, loss: Loss) -> Tensor:
    return loss(member.decide(member.embed_rows(rows)), y[rows])
