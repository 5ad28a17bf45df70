"""A party's own table: described in a toml file, read from CSV or Parquet, encoded for networks."""

from vfl_flower.tables.description import Description, read_description
from vfl_flower.tables.predictions import check_path, write_columns, write_predictions
from vfl_flower.tables.reading import OwnTable, read_table, refuse_label
from vfl_flower.tables.show import lines_of, print_columns

__all__ = [
    "Description",
    "OwnTable",
    "check_path",
    "lines_of",
    "print_columns",
    "read_description",
    "read_table",
    "refuse_label",
    "write_columns",
    "write_predictions",
]
