"""Train a vertically federated model with all parties in this process: the main job.

Without arguments: EASTER on scikit-learn's digits, one active and three passive parties. See
``--help`` for every knob, and README.md for what the output means.
"""

import sys

from vfl_flower.cli import run

if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
