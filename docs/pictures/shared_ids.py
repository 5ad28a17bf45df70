"""Two tables that share ids, and the model of their common rows."""

from collections.abc import Sequence

from docs.pictures.svg import box, document, path, text

Rows = Sequence[Sequence[str]]

WIDTH, HEIGHT = 800, 392
ROW, TOP = 28, 62
BANK: Rows = (
    ("customer", "income", "balance", "defaulted"),
    ("1017", "41,200", "3,150", "no"),
    ("1024", "27,900", "-420", "yes"),
    ("1031", "58,300", "9,870", "no"),
    ("1042", "36,500", "1,260", "no"),
    ("1058", "22,400", "80", "yes"),
)
SHOP: Rows = (
    ("customer", "groceries", "late bills"),
    ("1024", "312", "4"),
    ("1029", "145", "0"),
    ("1042", "268", "0"),
    ("1058", "97", "3"),
    ("1063", "190", "1"),
)
BANK_X, BANK_COLUMNS = 20, (86, 76, 80, 90)
SHOP_X, SHOP_COLUMNS = 500, (86, 96, 98)
LABEL = (
    "A bank's table and a shop's table. Both have a column of customers; 1024, 1042 and 1058 are "
    "in both. These rows train one model. Each party sends numbers made of its columns, and no "
    "table."
)


def draw() -> str:
    """Return the picture."""
    common = [row[0] for row in BANK[1:] if row[0] in {other[0] for other in SHOP[1:]}]
    bottom = TOP + ROW * len(BANK)
    bank_end, middle = BANK_X + sum(BANK_COLUMNS), WIDTH / 2
    return document(
        WIDTH,
        HEIGHT,
        LABEL,
        text(BANK_X, 30, "Bank", bold=True, size=17),
        text(BANK_X + 52, 30, "has the labels: the active party", "soft"),
        text(SHOP_X, 30, "Shop", bold=True, size=17),
        text(SHOP_X + 54, 30, "has columns: a passive party", "soft"),
        *_table(BANK, BANK_X, BANK_COLUMNS, common),
        *_table(SHOP, SHOP_X, SHOP_COLUMNS, common),
        *(_link(each, bank_end) for each in common),
        *_arrow(BANK_X + 166, bottom, middle - 150),
        *_arrow(SHOP_X + 120, bottom, middle + 150),
        *_beside(BANK_X + 150, bottom, "end"),
        *_beside(SHOP_X + 136, bottom, "start"),
        box(middle - 150, bottom + 56, 300, 64, "head", "rule", 8),
        text(middle, bottom + 83, "one model, in two parts", anchor="middle", bold=True),
        text(middle, bottom + 105, "will the customer default?", "soft", anchor="middle"),
    )


def _table(rows: Rows, x: float, columns: Sequence[int], common: Sequence[str]) -> list[str]:
    """Draw a table; rows of common ids are marked, ids in bold."""
    width = sum(columns)
    parts = [box(x, TOP, width, ROW, "head")]
    for line, row in enumerate(rows):
        y = TOP + ROW * line
        if row[0] in common:
            parts.append(box(x, y, width, ROW, "shared"))
        right = x
        for column, (cell, wide) in enumerate(zip(row, columns, strict=True)):
            right += wide
            colour = "one" if line and not column else "ink"
            bold = not line or (not column and row[0] in common)
            parts.append(text(right - 10, y + 19, cell, colour, anchor="end", bold=bold, size=13))
    lines = [path(f"M{x} {TOP + ROW * n}h{width}", "rule") for n in range(len(rows) + 1)]
    return [*parts, *lines]


def _link(customer: str, left: float) -> str:
    """Draw a curve between both rows of a customer."""
    ends = [
        TOP + ROW * (next(n for n, row in enumerate(rows) if row[0] == customer) + 0.5)
        for rows in (BANK, SHOP)
    ]
    middle = (left + SHOP_X) / 2
    bend = f"C{middle:g} {ends[0]:g} {middle:g} {ends[1]:g}"
    return path(f"M{left} {ends[0]:g}{bend} {SHOP_X} {ends[1]:g}", "one", wide=2)


def _beside(x: float, top: float, anchor: str) -> list[str]:
    """Name the content of a message beside its arrow."""
    lines = ("sends numbers made", "of its columns")
    return [
        text(x, top + 42 + 17 * n, line, "soft", anchor=anchor, size=13)
        for n, line in enumerate(lines)
    ]


def _arrow(x: float, top: float, to: float) -> list[str]:
    """Draw an arrow from a table to a side of the model."""
    y, step = top + 88, 8 if to > x else -8
    return [
        path(f"M{x:g} {top + 8:g}V{y:g}H{to:g}", "soft", wide=1.5),
        path(f"M{to - step:g} {y - 5:g}L{to:g} {y:g}L{to - step:g} {y + 5:g}", "soft", wide=1.5),
    ]
