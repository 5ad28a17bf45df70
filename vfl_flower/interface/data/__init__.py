"""Data of runs from Python: tables, arrays, names of data sets."""
