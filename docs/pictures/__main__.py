"""Write all pictures."""

from pathlib import Path

from docs.pictures import all_pictures
from vfl_flower.common.files import write_atomically

if __name__ == "__main__":
    for name, picture in all_pictures.drawn().items():
        write_atomically(Path(__file__).with_name(name), picture.encode())
