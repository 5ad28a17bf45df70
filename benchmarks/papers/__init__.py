"""Papers' tables and figures as data.

Each module has a `Paper` called ``PAPER``.
"""
