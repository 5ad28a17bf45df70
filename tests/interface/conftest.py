"""Data frames of two parties, and a run of them."""

from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

import vfl_flower as vfl

ROWS = 120


class Frames(NamedTuple):
    """Tables of a bank, which has the labels, and of a shop."""

    bank: pd.DataFrame
    shop: pd.DataFrame

    def tables(self) -> list[vfl.Table]:
        """Return them as tables."""
        return [
            vfl.Table(self.bank, id="customer", label="defaulted"),
            vfl.Table(self.shop, id="customer"),
        ]


def made(seed: int = 0) -> Frames:
    """Make tables that share all customers but ten."""
    draw = np.random.default_rng(seed)
    x = draw.normal(size=(ROWS, 4))
    bank = pd.DataFrame({"customer": np.arange(ROWS), "income": x[:, 0], "age": x[:, 1]})
    bank["branch"] = pd.Categorical(draw.choice(["north", "south"], ROWS))
    bank["defaulted"] = np.where(x.sum(1) > 0, "yes", "no")
    shop = pd.DataFrame({"customer": np.arange(ROWS), "visits": x[:, 2], "spent": x[:, 3]})
    shop["customer"] += 10
    return Frames(bank, shop.sample(frac=1, random_state=0))


@pytest.fixture(scope="session")
def frames() -> Frames:
    """Give the tables; no test changes them."""
    return made()


@pytest.fixture(scope="session")
def run(frames: Frames) -> vfl.Run:
    """Train on them once for all tests."""
    return vfl.train(frames.tables(), method="splitnn", epochs=2, batch_size=16, seed=0)
