"""Run a contender: ``python -m benchmarks.peers.inside MODULE FOLDER WAY``."""

import os
import sys
from importlib import import_module
from pathlib import Path

from benchmarks.peers.inside.work import FOLDER

if __name__ == "__main__":
    module, folder, way = sys.argv[1:4]
    os.environ[FOLDER] = folder
    import_module(f"{__package__}.{module}").main(Path(folder), way)
