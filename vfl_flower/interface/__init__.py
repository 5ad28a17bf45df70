"""Python interface: tables, training, predictions and the results of runs.

`vfl_flower` exports its names.
"""
