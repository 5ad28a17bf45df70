"""Main job: train a vertically federated model in this process.

It is ``python -m vfl_flower train`` in a file. Without arguments: EASTER on scikit-learn's digits,
one active and three passive parties. See ``--help`` for every option, and docs/first-run.md for the
meaning of the output.
"""

from vfl_flower.__main__ import main

if __name__ == "__main__":
    main("train")
