"""Optimizers and learning-rate schedules by name, with their arguments.

Known without importing torch: help, completion and the check of a configuration read them.
"""
