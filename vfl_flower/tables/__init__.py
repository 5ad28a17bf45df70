"""A party's own table: described in a toml file, read from CSV or Parquet, encoded for networks."""

from vfl_flower.data.encoder import Encoder
from vfl_flower.data.target import Target
from vfl_flower.tables.description import Description, read_description
from vfl_flower.tables.predictions import write_predictions
from vfl_flower.tables.reading import OwnTable, read_table, refuse_label
from vfl_flower.tables.show import print_columns

__all__ = [
    "Description",
    "Encoder",
    "OwnTable",
    "Target",
    "print_columns",
    "read_description",
    "read_table",
    "refuse_label",
    "write_predictions",
]
