"""Tables in their published forms, with made rows."""

from pathlib import Path

from vfl_flower.data.sources.csv_catalog import (
    ADULT_TABLE,
    CREDIT_CARD_FRAUD_TABLE,
    CREDIT_DEFAULT_TABLE,
)
from vfl_flower.data.sources.csv_tables import Source

JOBS = ("State-gov", "Private", "?", "Private", "Local-gov")


def write(source: Source, folder: Path, *texts: str) -> Path:
    """Write a table's files into its folder, and return the data folder."""
    (folder / source.folder).mkdir(parents=True, exist_ok=True)
    for name, text in zip(source.files, texts, strict=True):
        (folder / source.folder / name).write_text(text)
    return folder


def adult_row(n: int) -> str:
    """Return the n-th made row in the format of adult.data."""
    sex, label = (("Female", ">50K"), ("Male", "<=50K"))[n % 3 > 0]
    return (
        f"{20 + n % 50}, {JOBS[n % 5]}, {70000 + n}, Bachelors, {n % 16}, Divorced, Sales, Wife, "
        f"White, {sex}, {n % 7 * 100}, 0, 40, United-States, {label}"
    )


def write_adult(folder: Path, train: list[str], test: list[str]) -> Path:
    """Write both files; the second has a comment and dots behind labels."""
    last = "".join(f"{row}.\n" for row in test)
    first = "".join(f"{row}\n" for row in train)
    return write(ADULT_TABLE, folder, f"{first}\n", f"|1x3 Cross validator\n{last}\n")


def quoted(source: Source) -> str:
    """Return a header with its names in quotes."""
    return ",".join(f'"{name}"' for name in source.fields) + "\n"


def fraud_row(n: int) -> str:
    """Return a row in the format of creditcard.csv."""
    values = [f"{(n * 37 + v * 11) % 200 / 100 - 1:.14f}" for v in range(28)]
    return ",".join([str(n), *values, f"{n % 90 + 0.99:.2f}", f'"{int(n % 5 == 0)}"'])


def write_fraud(folder: Path, rows: int) -> Path:
    """Write so many rows."""
    body = "".join(f"{fraud_row(n)}\n" for n in range(rows))
    return write(CREDIT_CARD_FRAUD_TABLE, folder, quoted(CREDIT_CARD_FRAUD_TABLE) + body)


def credit_row(n: int) -> str:
    """Return a row as it stands in UCI_Credit_Card.csv."""
    amounts = ",".join(str(n * 100 + k) for k in range(12))
    return f"{n + 1},{n * 1000},{n % 2 + 1},{n % 4},1,{20 + n},-1,0,2,0,0,-2,{amounts},{n % 2}"


def write_credit(folder: Path, rows: int) -> Path:
    """Write so many rows."""
    body = "".join(f"{credit_row(n)}\n" for n in range(rows))
    return write(CREDIT_DEFAULT_TABLE, folder, quoted(CREDIT_DEFAULT_TABLE) + body)
