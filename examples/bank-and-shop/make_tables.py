"""Make the tables of a bank and a shop, whose customers are partly the same: always the same ones.

    python examples/bank-and-shop/make_tables.py FOLDER

The bank knows incomes and balances, and who defaulted on a loan; the shop knows what people buy.
Both depend on how somebody fares, of which each side sees a part. So neither can tell alone what
they can together. For each there is a table to train with, one of new customers, without labels,
and a description of both.
"""

import csv
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

SEED, PEOPLE, NEW = 2026, 6000, 800
HERE = 0.75  # of the people are a party's customers

JOBS = np.array(["employed", "self-employed", "retired", "none"])
AISLES = np.array(["food", "garden", "toys", "electronics", "clothes"])

BANK = """file = "{file}"
id = "customer"
{label}
[columns]
job = "categorical"
"""
SHOP = """file = "{file}"
id = "customer"

[columns]
aisle = "categorical"
members_card = "ignored"
"""
Table = dict[str, NDArray[Any]]


def people(count: int, first: int, random: np.random.Generator) -> tuple[Table, Table]:
    """Return what the bank and the shop would know of so many people, a row for each."""
    means, habits, luck = random.standard_normal((3, count))
    ids = np.array([f"C-{number:06d}" for number in range(first, first + count)])
    bank = {
        "customer": ids,
        "income": np.round(28000 * np.exp(0.4 * means + 0.2 * random.standard_normal(count)), -2),
        "balance": np.round(1500 * means + 900 * random.standard_normal(count), 2),
        "age": random.integers(18, 80, count),
        "job": JOBS[np.clip((1.2 - means + random.standard_normal(count)).astype(int), 0, 3)],
        "defaulted": np.where(1.3 * means + 1.3 * habits + 0.5 * luck < -0.8, "yes", "no"),
    }
    shop = {
        "customer": ids,
        "visits": random.poisson(np.exp(1.5 + 0.3 * habits)),
        "basket": np.round(35 * np.exp(0.3 * habits + 0.2 * random.standard_normal(count)), 2),
        "returned": np.round(np.clip(0.12 - 0.05 * habits, 0, 1) * random.uniform(0, 2, count), 3),
        "aisle": AISLES[np.clip((2 + habits + random.standard_normal(count)).astype(int), 0, 4)],
        "members_card": random.permutation(count),
    }
    return bank, shop


def part(table: Table, random: np.random.Generator) -> Table:
    """Return the rows of somebody's customers, in an order of its own."""
    count = len(table["customer"])
    rows = random.permutation(count)[: round(HERE * count)]
    return {name: column[rows] for name, column in table.items()}


def write(folder: Path, random: np.random.Generator) -> None:
    """Write all tables, and their descriptions."""
    folder.mkdir(parents=True, exist_ok=True)
    bank, shop = people(PEOPLE, 1, random)
    new_bank, new_shop = people(NEW, PEOPLE + 1, random)
    del new_bank["defaulted"]
    for name, table in (("bank", bank), ("new-bank", new_bank)):
        rows = part(table, random)
        with (folder / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([rows, *zip(*rows.values(), strict=True)])
        label = 'label = "defaulted"\n' if "defaulted" in table else ""
        (folder / f"{name}.toml").write_text(BANK.format(file=f"{name}.csv", label=label))
    for name, table in (("shop", shop), ("new-shop", new_shop)):
        pq.write_table(pa.table(part(table, random)), folder / f"{name}.parquet")
        (folder / f"{name}.toml").write_text(SHOP.format(file=f"{name}.parquet"))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: make_tables.py FOLDER")
    write(Path(sys.argv[1]), np.random.default_rng(SEED))
    sys.stdout.write(f"bank and shop, and their new customers, are in {sys.argv[1]}\n")
