"""Write all pictures."""

import sys
from pathlib import Path

from docs.pictures import all_pictures, example_run
from vfl_flower.common.files import write_atomically

if __name__ == "__main__":
    if "--train" in sys.argv:
        example_run.train()
    for name, picture in all_pictures.drawn().items():
        write_atomically(Path(__file__).with_name(name), picture.encode())
