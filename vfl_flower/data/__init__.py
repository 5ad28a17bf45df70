"""Data sets, tables, preprocessing and vertical partitions."""
