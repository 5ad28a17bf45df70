"""VIM's runs with 100 clients."""

from benchmarks.papers.vim.settings import BY_ADMM, LESS, METHODS, TEN
from benchmarks.reproducing.cells import uncounted
from benchmarks.reproducing.paper import Cell, Table

CLAIMS = {"vafl": 95.38, "splitnn": 95.45, "vimadmm": 95.77, "fdml": 95.85, "vimadmm_j": 95.96}
TUNED = [method for method in CLAIMS if method != "vafl"]


BY_HAND = "settings chosen by hand reach it: see the last rows"
"""Why those of 14 clients miss; tests hold it against results."""


def _row(method: str, told: str = "", end: str = "", why: str = "") -> Cell:
    run = f"mnist {method} 100 clients{end}"
    return Cell(f"{METHODS[method]}{told}", "MNIST", run, claim=CLAIMS[method], why=why)


TABLE_11 = Table(
    name="table11",
    title="100 clients",
    place="Table XI",
    alike=False,
    cells=(
        _row("vafl"),
        *(_row(method, why=BY_HAND) for method in TUNED),
        *uncounted(_row(method, TEN, TEN) for method in BY_ADMM),
        *uncounted(_row(method, ", chosen by hand", LESS) for method in TUNED),
    ),
    note="100 evenly spaced windows of 14 pixels; which pixels, and with which settings, the "
    "paper does not say. The first rows have the settings of 14 clients, of ADMM methods with "
    "three epochs, or ten. Rows chosen by hand have a tenth of the weight decay. ADMM methods "
    "have besides five local steps, pixels that are scaled as those of whole images, 20 epochs, "
    "and an end at a drop of ten points, and heads of VIMADMM a rate of 0.02, as each sums up the "
    "steps of 100 clients. This was chosen on validation rows, where it is better; what else was "
    "tried is not on record. VIMADMM-J's run of ten epochs ends after seven, with the weights of "
    "the third: its accuracy falls from the sixth on. So not all methods were given the same "
    "care: of differences in this table nothing follows.",
)
