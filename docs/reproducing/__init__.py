"""Pages and figures of the papers' tables, made from results.

python -m docs.numbers
"""
