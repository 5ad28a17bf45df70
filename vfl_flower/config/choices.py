"""Kinds of labels."""

BINARY, MULTI_CLASS, REGRESSION = TASKS = "binary", "multi-class", "regression"
